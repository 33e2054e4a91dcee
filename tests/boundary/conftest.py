"""Stores for boundary tests: the in-memory one and every Redis-protocol server there is."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from boundary.backend import Backend
from boundary.keys import ToolCallKeyFactory
from boundary.memory_backend import MemoryBackend
from boundary.redis_backend import RedisBackend, connect
from boundary.run_index import RunIndex
from boundary.store import InvocationStore
from tests.support.redis_servers import RedisServers


@pytest_asyncio.fixture(params=["memory", *RedisServers.NAMES])
async def backend(request: pytest.FixtureRequest, redis_server_pool: RedisServers) -> AsyncIterator[Backend]:
    """Each backend in turn: the test runs once per store."""
    if request.param == "memory":
        yield MemoryBackend()
        return
    client = connect(redis_server_pool.url(request.param))
    yield RedisBackend(client)
    await client.aclose()


@pytest.fixture
def keys(key_prefix: str) -> ToolCallKeyFactory:
    """Keys no other test has."""
    return ToolCallKeyFactory(key_prefix)


@pytest.fixture
def store(backend: Backend, keys: ToolCallKeyFactory) -> InvocationStore:
    """A store of records over the backend in turn."""
    return InvocationStore(backend, keys)


@pytest.fixture
def runs(backend: Backend, keys: ToolCallKeyFactory) -> RunIndex:
    """An index of runs over the backend in turn."""
    return RunIndex(backend, keys)
