"""Harnesses: whole runs on the dev server, over each kind of store."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from boundary.memory_backend import MemoryBackend
from boundary.redis_backend import RedisBackend, connect
from casebound.worker import Store, store_over
from tests.support.redis_servers import RedisServers
from tests.support.runs import Harness


@pytest_asyncio.fixture(params=["memory", "valkey"])
async def any_store(
    request: pytest.FixtureRequest, redis_server_pool: RedisServers, key_prefix: str
) -> AsyncIterator[Store]:
    """The in-memory store and Valkey in turn."""
    if request.param == "memory":
        yield await store_over(MemoryBackend(), key_prefix)
        return
    client = connect(redis_server_pool.url(request.param))
    yield await store_over(RedisBackend(client), key_prefix)
    await client.aclose()


@pytest.fixture
def runs_on(any_store: Store, temporal_client: Client, task_queue: str, key_prefix: str) -> Harness:
    """Runs over each store in turn."""
    return Harness(temporal_client, any_store, task_queue, key_prefix)
