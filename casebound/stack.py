"""The embedded stack: a Temporal server with its UI and an evidence store, for one machine.

Above: the command line, in every command that is not told of other servers. Below: the
`embedded_*` modules. One command at a time owns the stack of a state directory and runs its
servers; commands beside it join them; the owner waits for those before it stops the servers.

Not here: the worker, which serves runs on any stack.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from boundary.errors import CaseboundError
from casebound import embedded_probe as probe
from casebound.embedded_children import Keeper, ServerSpec
from casebound.embedded_lock import FileLock, StackFile, read_stack_file, write_private, write_stack_file
from casebound.embedded_servers import store_command, store_config, temporal_command
from casebound.paths import StatePaths, state_paths

START_TIMEOUT_S = 30.0
"""A warm start takes under 2 s; a large database on a slow disk may take this long."""

JOIN_TIMEOUT_S = 40.0
"""Another command may be starting the stack, or ending it, for this long."""

UNANNOUNCED_S = 3.0
"""A server that answers and has not ended by then is ours, even if it words its start differently."""

POLL_S = 0.03
PORT_ATTEMPTS = 3
LOG_KEEP_BYTES = 4 * 1024 * 1024

TEMPORAL = "the Temporal server"
STORE = "the evidence store"

HINTS = (
    ("no space left", "free space on that disk"),
    ("not a database", "the file is damaged: move temporal.db away to start with empty histories"),
    ("schema version", "temporal.db is of another version: use that version, or move the file away"),
    ("bad file format", "the append-only file is damaged: move the store folder away to start empty"),
    ("permission denied", "make the state directory writable, or set CASEBOUND_STATE_DIR to another"),
)
"""What to do about what a server's log says, in lower case."""

Say = Callable[[str], None]
"""Tells a person what is going on, in one line."""


class StackFailed(CaseboundError):
    """The embedded stack could not be started or joined, or was lost."""


class PortTaken(StackFailed):
    """Another process took a port between its choice and its use."""


@dataclass(frozen=True)
class Stack:
    """A running embedded stack."""

    temporal_address: str
    ui_url: str
    redis_url: str
    lost: Callable[[], asyncio.Future[str]]
    """Starts a wait that ends, with the reason, when the stack is gone."""
    joined: bool = False
    """Another command owns the servers."""


@asynccontextmanager
async def open_stack(
    paths: StatePaths | None = None, *, say: Say = lambda _: None, announce: bool = False
) -> AsyncGenerator[Stack]:
    """Start the stack of the state directory, or join the one that another command runs; `announce` says which.

    Raises:
        StackFailed: with the reason, the tail of the server's log and what to do.
    """
    paths = paths or state_paths()
    try:
        paths.create()
        owner, users = FileLock(paths.owner_lock), FileLock(paths.users_lock)
    except OSError as error:
        raise StackFailed(
            f"the state directory {paths.root} cannot be used: {error.strerror}; "
            "make it writable, or set CASEBOUND_STATE_DIR to another"
        ) from error
    try:
        file = await _join_or_become_owner(paths, owner, users)
        if announce:
            say("starting ..." if file is None else "joining the running stack ...")
        if file is not None:
            yield _joined(file)
            return
        async with _owned(paths, owner, users, say) as stack:
            yield stack
    finally:
        users.release()
        owner.release()


async def _join_or_become_owner(paths: StatePaths, owner: FileLock, users: FileLock) -> StackFile | None:
    """Wait for a stack to join, or for the right to run one: then None."""
    try:
        async with asyncio.timeout(JOIN_TIMEOUT_S):
            while True:
                if users.try_shared():
                    if owner.try_exclusive():
                        return None
                    file = read_stack_file(paths)
                    if file is not None and await _answers(file.temporal_address, file.redis_url):
                        return file
                await asyncio.sleep(POLL_S)
    except TimeoutError as error:
        file = read_stack_file(paths)
        who = f"process {file.pid}" if file else "another process"
        raise StackFailed(
            f"{who} holds the stack of {paths.root}, but its servers do not answer; end it, "
            "or set CASEBOUND_STATE_DIR to another directory"
        ) from error


def _joined(file: StackFile) -> Stack:
    return Stack(
        temporal_address=file.temporal_address,
        ui_url=file.ui_url,
        redis_url=file.redis_url,
        lost=lambda: asyncio.ensure_future(_owner_gone(file.pid)),
        joined=True,
    )


async def _owner_gone(pid: int) -> str:
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return f"the command that owned the stack (process {pid}) is gone"
        await asyncio.sleep(1)


@asynccontextmanager
async def _owned(paths: StatePaths, owner: FileLock, users: FileLock, say: Say) -> AsyncGenerator[Stack]:
    paths.stack_file.unlink(missing_ok=True)
    keeper, file = await _start(paths, owner)
    try:
        write_stack_file(paths, file)
        stack = Stack(
            temporal_address=file.temporal_address,
            ui_url=file.ui_url,
            redis_url=file.redis_url,
            lost=lambda: asyncio.ensure_future(keeper.first_end()),
        )
        try:
            yield stack
        except Exception:
            await _until_unused(users, keeper, say)
            raise
        await _until_unused(users, keeper, say)
    finally:
        paths.stack_file.unlink(missing_ok=True)
        await keeper.close()


async def _until_unused(users: FileLock, keeper: Keeper, say: Say) -> None:
    """Wait for the commands that joined; none can join from here on. An interrupt (no Exception) skips this."""
    told = False
    while not keeper.ended and not users.try_exclusive():
        if not told:
            say("another casebound command uses this stack; it stops when that one ends (Ctrl-C: stop now)")
            told = True
        await asyncio.sleep(POLL_S)


async def _start(paths: StatePaths, owner: FileLock) -> tuple[Keeper, StackFile]:
    """Start both servers and wait until they answer; with other ports if one was taken meanwhile."""
    for log in (paths.temporal_log, paths.store_log, paths.keeper_log):
        if probe.log_size(log) > LOG_KEEP_BYTES:
            log.replace(log.with_name(log.name + ".1"))
    for attempt in range(1, PORT_ATTEMPTS + 1):
        try:
            return await _start_once(paths, owner, probe.UI_PORT if attempt == 1 else 0)
        except PortTaken:
            if attempt == PORT_ATTEMPTS:
                raise
    raise AssertionError("unreachable")


async def _start_once(paths: StatePaths, owner: FileLock, ui_port: int) -> tuple[Keeper, StackFile]:
    temporal_port, store_port, ui_port = probe.free_port(), probe.free_port(), probe.free_port(ui_port)
    password = secrets.token_hex(16)
    write_private(paths.store_config, store_config(paths, store_port, password))
    file = StackFile(
        temporal_address=f"127.0.0.1:{temporal_port}",
        ui_url=f"http://127.0.0.1:{ui_port}",
        redis_url=f"redis://:{password}@127.0.0.1:{store_port}/0",
        pid=os.getpid(),
    )
    servers = [
        ServerSpec(TEMPORAL, temporal_command(paths, temporal_port, ui_port), str(paths.temporal_log), str(paths.root)),
        ServerSpec(STORE, store_command(paths), str(paths.store_log), str(paths.root)),
    ]
    since = {log: probe.log_size(log) for log in (paths.temporal_log, paths.store_log)}

    def ours() -> bool:
        return probe.temporal_announced(paths.temporal_log, since[paths.temporal_log])

    keeper = await Keeper.launch(servers, lock_fd=owner.fd, log=paths.keeper_log)
    try:
        await _until_ready(keeper, file, ours)
        await _keep_histories(file.temporal_address)
    except BaseException as error:
        await keeper.close()
        if isinstance(error, StackFailed):
            raise _with_log(error, paths, keeper, since) from None
        raise
    return keeper, file


async def _until_ready(keeper: Keeper, file: StackFile, ours: Callable[[], bool]) -> None:
    """Wait until both answer, and it is our Temporal that does: another may have taken the port."""
    answering_since: float | None = None
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while True:
                if keeper.ended:
                    raise StackFailed(await keeper.first_end())
                if await _answers(file.temporal_address, file.redis_url):
                    now = asyncio.get_running_loop().time()
                    answering_since = answering_since or now
                    if ours() or now - answering_since > UNANNOUNCED_S:
                        return
                await asyncio.sleep(POLL_S)
    except TimeoutError as error:
        raise StackFailed(f"the embedded servers do not answer within {START_TIMEOUT_S:.0f} s") from error


async def _keep_histories(address: str) -> None:
    from casebound.embedded_namespace import keep_histories
    from casebound.temporal import RPCError, connect_local

    try:
        await keep_histories(await connect_local(address))
    except RPCError as error:
        raise StackFailed(f"the Temporal server does not take its settings: {error.message}") from error


async def _answers(temporal_address: str, redis_url: str) -> bool:
    both = await asyncio.gather(probe.store_answers(redis_url), probe.temporal_answers(temporal_address))
    return all(both)


def _with_log(error: StackFailed, paths: StatePaths, keeper: Keeper, since: Mapping[Path, int]) -> StackFailed:
    """Say what the log of the server that ended says, and what to do about it."""
    log = paths.store_log if STORE in keeper.ended and TEMPORAL not in error.message else paths.temporal_log
    tail = probe.log_tail(log, since[log])
    kind = PortTaken if probe.port_taken(log, since[log]) else StackFailed
    hint = next((fix for mark, fix in HINTS if mark in tail.lower()), "")
    parts = [f"the embedded stack did not start: {error.message}"]
    parts += [f"  {line}" for line in tail.splitlines()]
    parts += [f"what to do: {hint}"] if hint else []
    return kind("\n".join([*parts, f"log: {log}"]))
