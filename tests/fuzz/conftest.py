"""The stage: one worker for all examples of a test, over the store the test asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from boundary.memory_backend import MemoryBackend
from boundary.redis_backend import RedisBackend, connect
from casebound.settings import Settings, WorkerSettings
from casebound.worker import open_worker, store_over
from tests.fuzz.stage import ScriptsPlanner, Stage
from tests.fuzz.tools import hostile_tools
from tests.support.redis_servers import RedisServers


@pytest_asyncio.fixture(params=["memory", "valkey"])
async def stage(
    request: pytest.FixtureRequest,
    redis_server_pool: RedisServers,
    temporal_client: Client,
    key_prefix: str,
    task_queue: str,
) -> AsyncIterator[Stage]:
    """A stage over the in-memory store and Valkey in turn."""
    redis = connect(redis_server_pool.url("valkey")) if request.param == "valkey" else None
    store = await store_over(MemoryBackend() if redis is None else RedisBackend(redis), key_prefix)
    planner, settings = ScriptsPlanner(), Settings(worker=WorkerSettings(graceful_shutdown_s=0))
    async with open_worker(
        settings, temporal_client, store, task_queue=task_queue, tools=hostile_tools(), planners={"scripts": planner}
    ):
        yield Stage(temporal_client, store, key_prefix, task_queue, planner)
    if redis is not None:
        await redis.aclose()
