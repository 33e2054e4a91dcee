"""Real probes of the embedded servers, and what their logs say when they do not come up.

A probe answers once; waiting, with a bound, is the caller's.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

PROBE_TIMEOUT_S = 2.0
TAIL_BYTES = 4096
TAIL_LINES = 6

UI_PORT = 8233
"""Temporal's customary port of the UI; links to runs stay good from one start to the next."""

PORT_TAKEN = "address already in use"
"""What a server's log says, in lower case, when another process took its port first."""


def free_port(preferred: int = 0) -> int:
    """Find a free TCP port of the loopback interface, the preferred one if it is free."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return probe.getsockname()[1]
    raise OSError("no free TCP port on 127.0.0.1")


async def store_answers(redis_url: str) -> bool:
    """Tell whether the server of the URL answers PING after authentication, on the wire."""
    url = urlsplit(redis_url)
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            try:
                writer.write(f"AUTH {unquote(url.password or '')}\r\nPING\r\n".encode())
                return await reader.readline() == b"+OK\r\n" and await reader.readline() == b"+PONG\r\n"
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


async def temporal_answers(address: str) -> bool:
    """Tell whether the server knows its namespace and our search attributes, so that a run can start."""
    if not await _accepts(address):
        return False
    from casebound import search_attributes
    from casebound.temporal import RPCError, TemporalUnavailable, connect_local

    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            client = await connect_local(address)
            return set(await search_attributes.known(client)) == set(search_attributes.ALL)
    except (TemporalUnavailable, RPCError, TimeoutError):
        return False


async def _accepts(address: str) -> bool:
    """Tell whether something listens, before the SDK's half second of import is spent on it."""
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host, int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


def log_tail(log: Path, since: int = 0) -> str:
    """Read the last lines a server wrote after its log had `since` bytes."""
    try:
        with log.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(since, end - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(line[:300] for line in text.splitlines()[-TAIL_LINES:])


def log_size(log: Path) -> int:
    """Bytes of a log; 0 if there is none."""
    try:
        return log.stat().st_size
    except OSError:
        return 0


def temporal_announced(log: Path, since: int) -> bool:
    """Tell whether the Temporal server said in its log, after `since` bytes, that it has its ports."""
    try:
        with log.open("rb") as file:
            file.seek(since)
            return b"Temporal Server:" in file.read(64 * 1024)
    except OSError:
        return False


def port_taken(log: Path, since: int) -> bool:
    """Tell whether a log says, after `since` bytes, that its server's port was taken; a long trace may follow."""
    try:
        with log.open("rb") as file:
            file.seek(since)
            return PORT_TAKEN.encode() in file.read().lower()
    except OSError:
        return False
