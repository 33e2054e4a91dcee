"""A TCP proxy before a Redis server that breaks connections where a test says, command by command.

It reads requests only, to know where one ends; replies pass as bytes. Not a server: what a command
does is decided behind it, so what a lost reply leaves there is real.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import deque
from collections.abc import AsyncGenerator
from enum import Enum, auto
from urllib.parse import urlsplit


class Fault(Enum):
    """What happens to one command."""

    NONE = auto()
    """It passes."""
    LOSE_REPLY = auto()
    """The server carries it out, then the client's connection is reset instead of the reply."""
    CUT_REQUEST = auto()
    """Half of it reaches the server, then both connections are reset: it is never carried out."""
    HOLD_REPLY = auto()
    """The server carries it out; its reply waits for `release`."""


SCRIPTS = frozenset({b"EVALSHA", b"EVAL"})


class RedisProxy:
    """Stands between a client and a server. Get one from `redis_proxy`.

    Attributes:
        url: where it listens.
        commands: names of the commands that came, handshakes left out.
        refusing: reset each new connection at once.
    """

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 6379
        self.url = ""
        self.commands: list[str] = []
        self.refusing = False
        self.held = asyncio.Event()
        self._released = asyncio.Event()
        self._plan: deque[Fault] = deque()
        self._planned: frozenset[bytes] = SCRIPTS
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[_Link] = set()

    def plan(self, *faults: Fault, commands: frozenset[bytes] = SCRIPTS) -> None:
        """Say what happens to the next `commands`, one fault each in their order; later ones pass."""
        self._plan, self._planned = deque(faults), commands

    def reset_all(self) -> None:
        """Reset every connection there is now, as a middlebox does with idle ones."""
        for link in self._links:
            link.reset()

    def release(self) -> None:
        """Let the held replies go on."""
        self._released.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one client's connection until either side ends it."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self.refusing:
            _reset(writer)
            return
        link = _Link(reader, writer, *await asyncio.open_connection(self._host, self._port))
        self._links.add(link)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._carry(link)
        finally:
            self._links.discard(link)
            link.reset()

    async def _carry(self, link: _Link) -> None:
        pumps = [asyncio.create_task(self._requests(link)), asyncio.create_task(self._replies(link))]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in done:
                pump.result()
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _requests(self, link: _Link) -> None:
        while True:
            name, request = await _read_command(link.client)
            if name not in (b"HELLO", b"CLIENT"):
                self.commands.append(name.decode())
            fault = self._plan.popleft() if self._plan and name in self._planned else Fault.NONE
            if fault is Fault.CUT_REQUEST:
                link.to_server.write(request[: len(request) // 2])
                await link.to_server.drain()
                return
            link.fault = fault
            link.to_server.write(request)
            await link.to_server.drain()

    async def _replies(self, link: _Link) -> None:
        while data := await link.server.read(65536):
            if link.fault is Fault.LOSE_REPLY:
                return
            if link.fault is Fault.HOLD_REPLY:
                self.held.set()
                await self._released.wait()
                link.fault = Fault.NONE
            link.to_client.write(data)
            await link.to_client.drain()

    async def close(self) -> None:
        """End all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Link:
    """The two connections of one client, and what happens to its command on the way."""

    def __init__(
        self,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self.client, self.to_client = client, to_client
        self.server, self.to_server = server, to_server
        self.fault = Fault.NONE

    def reset(self) -> None:
        _reset(self.to_client)
        _reset(self.to_server)


@contextlib.asynccontextmanager
async def redis_proxy(upstream: str) -> AsyncGenerator[RedisProxy]:
    """Listen before the server at the URL for as long as the context lasts."""
    proxy = RedisProxy(upstream)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()


async def _read_command(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read one command, an array of bulk strings; returns its name and all its bytes."""
    head = await reader.readuntil(b"\n")
    parts = [head]
    name = b""
    for number in range(int(head[1:])):
        size = await reader.readuntil(b"\n")
        word = await reader.readexactly(int(size[1:]) + 2)
        parts += [size, word]
        if number == 0:
            name = word[:-2].upper()
    return name, b"".join(parts)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, not FIN, as a lost connection does."""
    held: socket.socket | None = writer.get_extra_info("socket")
    if held is not None and held.fileno() >= 0:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
