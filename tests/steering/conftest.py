"""Harnesses over Valkey: on the ordinary server, on virtual clocks, and where histories soon are long enough."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from boundary.redis_backend import RedisBackend, connect
from casebound.worker import Store, store_over
from tests.support import temporal
from tests.support.runs import Harness


@pytest_asyncio.fixture
async def valkey_store(valkey_url: str, key_prefix: str) -> AsyncIterator[Store]:
    """Valkey, for what the choice of store cannot change."""
    client = connect(valkey_url)
    yield await store_over(RedisBackend(client), key_prefix)
    await client.aclose()


@pytest.fixture
def runs(valkey_store: Store, temporal_client: Client, task_queue: str, key_prefix: str) -> Harness:
    """Runs by real time."""
    return Harness(temporal_client, valkey_store, task_queue, key_prefix)


@pytest.fixture
def virtual_runs(valkey_store: Store, time_skipping: WorkflowEnvironment, task_queue: str) -> Harness:
    """Runs with a virtual clock each."""
    return Harness(time_skipping.client, valkey_store, task_queue)


@pytest_asyncio.fixture
async def short_histories(valkey_store: Store, task_queue: str) -> AsyncIterator[Harness]:
    """Runs with virtual clocks whose server suggests to continue as new after 100 events instead of 4,096."""
    async with await temporal.start_time_skipping(suggest_continue_as_new=100) as env:
        yield Harness(await temporal.connect(env), valkey_store, task_queue)
