"""Runs on the dev server and Valkey whose sinks are searched."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.worker import store_over
from tests.secrets.sinks import Logs, all_logs
from tests.support.runs import Harness


@pytest.fixture
def logs() -> Iterator[Logs]:
    """All that any logger says during the test."""
    with all_logs() as heard:
        yield heard


@pytest_asyncio.fixture
async def runs(valkey_url: str, key_prefix: str, temporal_client: Client, task_queue: str) -> AsyncIterator[Harness]:
    """Runs over Valkey."""
    client = connect(valkey_url)
    store = await store_over(RedisBackend(client), key_prefix)
    yield Harness(temporal_client, store, task_queue, key_prefix)
    await client.aclose()
