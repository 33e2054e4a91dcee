"""A TCP proxy that a test cuts for a while, as a network does. Knows no protocol; see `redis_proxy` for Redis."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncGenerator
from enum import Enum, auto


class Cut(Enum):
    """How the other side cannot be reached."""

    REFUSED = auto()
    """Connections are reset, new ones too, as where a load balancer lost what is behind it."""
    SILENT = auto()
    """Nothing passes and nothing is told, as where packets are dropped; what was sent arrives in the end."""


class TcpProxy:
    """Stands between clients and a server. Get one from `tcp_proxy`.

    Attributes:
        address: where it listens, `host:port`.
    """

    def __init__(self, upstream: str) -> None:
        host, _, port = upstream.rpartition(":")
        self._upstream = host, int(port)
        self.address = ""
        self._refusing = False
        self._passing = asyncio.Event()
        self._passing.set()
        self._links: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}

    def cut(self, how: Cut) -> None:
        """Let nothing pass from now on."""
        self._passing.clear()
        if how is Cut.REFUSED:
            self._refusing = True
            for writers in self._links.values():
                for writer in writers:
                    _reset(writer)

    def restore(self) -> None:
        """Let all pass again."""
        self._refusing = False
        self._passing.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one client's connection until either side ends it."""
        task = asyncio.current_task()
        assert task is not None
        writers = self._links[task] = [writer]
        try:
            if not self._refusing:
                await self._passing.wait()
                from_server, to_server = await asyncio.open_connection(*self._upstream)
                writers.append(to_server)
                await self._carry((reader, to_server), (from_server, writer))
        except (OSError, asyncio.CancelledError):
            pass  # the server is gone, or the proxy closes: so is the connection
        finally:
            for each in writers:
                _reset(each)
            del self._links[task]

    async def close(self) -> None:
        """End all connections."""
        tasks = list(self._links)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry(self, *ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        pumps = [asyncio.create_task(self._pump(*way)) for way in ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._passing.wait()
            writer.write(data)
            await writer.drain()


@contextlib.asynccontextmanager
async def tcp_proxy(upstream: str) -> AsyncGenerator[TcpProxy]:
    """Listen before the server at `host:port` for as long as the context lasts."""
    proxy = TcpProxy(upstream)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    proxy.address = f"{host}:{port}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST, not FIN, as a lost connection does."""
    held: socket.socket | None = writer.get_extra_info("socket")
    if held is not None and held.fileno() >= 0:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
