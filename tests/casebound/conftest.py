"""What tests of the command line share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest_asyncio
from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.worker import store_over
from tests.casebound.attached import Place


@pytest_asyncio.fixture
async def place(
    tmp_path: Path, temporal_client: Client, valkey_url: str, key_prefix: str, task_queue: str
) -> AsyncGenerator[Place]:
    """Servers of the session, everything else the test's own."""
    client = connect(valkey_url)
    store = await store_over(RedisBackend(client), key_prefix)
    place = Place(tmp_path, temporal_client, store, valkey_url, key_prefix, task_queue)
    yield place
    for process in place.started:
        process.kill()
        process.communicate()
    await client.aclose()
