"""Harnesses on servers whose workflows have virtual clocks, and on the ordinary one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from boundary.memory_backend import MemoryBackend
from boundary.redis_backend import RedisBackend, connect
from casebound.worker import Store, store_over
from tests.support.redis_servers import RedisServers


@pytest_asyncio.fixture(params=["memory", *RedisServers.NAMES])
async def any_store(
    request: pytest.FixtureRequest, redis_server_pool: RedisServers, key_prefix: str
) -> AsyncIterator[Store]:
    """The in-memory store and each server of the Redis protocol in turn."""
    if request.param == "memory":
        yield await store_over(MemoryBackend(), key_prefix)
        return
    client = connect(redis_server_pool.url(request.param))
    yield await store_over(RedisBackend(client), key_prefix)
    await client.aclose()
