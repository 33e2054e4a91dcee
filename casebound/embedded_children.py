"""The command's side of the keeper: starts it, hears of the servers, closes it.

Above: `casebound.stack`. Below: `casebound.embedded_keeper`, a process that owns the servers and
ends them as soon as this side of its stdin is closed, which the death of this process does too.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from casebound import embedded_keeper

CLOSE_TIMEOUT_S = embedded_keeper.GRACE_S + 3.0
"""The keeper itself kills servers that do not go; past this the keeper hangs."""


@dataclass(frozen=True)
class ServerSpec:
    """One server for the keeper to start."""

    name: str
    argv: list[str]
    log: str
    cwd: str


class Keeper:
    """A running keeper and what it said of its servers.

    Attributes:
        pids: the servers' own process ids, by name.
        ended: why a server is not running (any more), by name.
    """

    def __init__(self, process: Process) -> None:
        self.pids: dict[str, int] = {}
        self.ended: dict[str, str] = {}
        self._process = process
        self._changed = asyncio.Event()
        self._closing = False
        self._listener = asyncio.create_task(self._listen())

    @classmethod
    async def launch(cls, servers: list[ServerSpec], *, lock_fd: int, log: Path) -> Keeper:
        """Start a keeper that holds the lock and starts the servers."""
        with log.open("ab") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", embedded_keeper.__file__),
                stdin=PIPE,
                stdout=PIPE,
                stderr=stderr,
                start_new_session=True,
                pass_fds=(lock_fd,),
            )
        assert process.stdin is not None
        process.stdin.write(json.dumps([asdict(server) for server in servers]).encode() + b"\n")
        return cls(process)

    async def first_end(self) -> str:
        """Wait until any server ends and say which and why."""
        while not self.ended:
            self._changed.clear()
            await self._changed.wait()
        name, why = next(iter(self.ended.items()))
        return f"{name} {why}"

    async def close(self) -> None:
        """End the servers and wait until they are gone, by force if the keeper does not manage."""
        assert self._process.stdin is not None
        self._closing = True
        self._process.stdin.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._process.wait()
                await self._listener
        except TimeoutError:
            self._process.kill()
        self._listener.cancel()
        for name in self.pids.keys() - self.ended.keys():
            self._kill(name)

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            event = json.loads(line)
            name = event["name"]
            if event["event"] == "started":
                self.pids[name] = event["pid"]
            elif event["event"] == "failed":
                self.ended[name] = f"could not be started: {event['error']}"
            else:
                self.ended[name] = f"ended with exit code {event['code']}"
            self._changed.set()
        if not self._closing:
            self._keeper_died()

    def _keeper_died(self) -> None:
        """End what a killed keeper left behind."""
        for name in self.pids.keys() - self.ended.keys():
            self._kill(name)
            self.ended[name] = "ended because its keeper was killed"
        self._changed.set()

    def _kill(self, name: str) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pids[name], signal.SIGKILL)
