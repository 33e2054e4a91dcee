"""What a store says when it cannot serve: within its time-outs, in words of ours, without the password."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from urllib.parse import quote

import pytest

from boundary.errors import StoreUnavailable
from boundary.redis_backend import CONNECT_TIMEOUT_S, REPLY_TIMEOUT_S, RedisBackend
from tests.faults.servers import PASSWORD
from tests.support.calls import HOUR_MS, NOW_MS

KEY = "faults:run-a:call_1"

BOUND_S = 2 * (CONNECT_TIMEOUT_S + REPLY_TIMEOUT_S) + REPLY_TIMEOUT_S
"""Wait for a connection of the pool, then for a new one and its reply, twice: as much as `begin` may."""


async def create(backend: RedisBackend, key: str = KEY, record: bytes = b"record") -> object:
    """Write something, the way records are."""
    return await backend.create(
        key, {"record": record}, identity="record", expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS
    )


async def complaint(operation: Awaitable[object]) -> str:
    """The message of the StoreUnavailable that the operation must raise, in time and without the password."""
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(StoreUnavailable) as caught:
            await operation
    message = caught.value.message
    for part in (PASSWORD, quote(PASSWORD, safe=""), *PASSWORD.replace("@", "/").split("/")):
        assert part not in message
    return message


async def loop_turns() -> None:
    """Let the event loop see what the kernel has already: connections that were reset."""
    for _ in range(3):
        await asyncio.sleep(0)
