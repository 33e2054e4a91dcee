"""A harness for runs whose history is looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.worker import store_over
from tests.support.runs import Harness


@pytest_asyncio.fixture
async def runs(valkey_url: str, key_prefix: str, temporal_client: Client, task_queue: str) -> AsyncIterator[Harness]:
    """Runs over Valkey; a history knows nothing of the kind of store."""
    client = connect(valkey_url)
    yield Harness(temporal_client, await store_over(RedisBackend(client), key_prefix), task_queue)
    await client.aclose()
