"""Stages: on the session's Valkey, or on one of the test's own that it may break."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client

from tests.crash.private_valkey import PrivateValkey
from tests.crash.stage import Stage, open_stage


@pytest_asyncio.fixture
async def stage(
    temporal_client: Client, valkey_url: str, key_prefix: str, task_queue: str, tmp_path: Path
) -> AsyncIterator[Stage]:
    """A stage on the session's servers."""
    async with open_stage(temporal_client, valkey_url, key_prefix, task_queue, tmp_path) as stage:
        yield stage


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[PrivateValkey]:
    """A store to break; ask for `breakable` to play on it."""
    server = PrivateValkey(tmp_path)
    server.start()
    yield server
    server.close()


@pytest_asyncio.fixture
async def breakable(
    temporal_client: Client, valkey: PrivateValkey, key_prefix: str, task_queue: str, tmp_path: Path
) -> AsyncIterator[Stage]:
    """A stage on the store to break."""
    async with open_stage(temporal_client, valkey.url, key_prefix, task_queue, tmp_path) as stage:
        yield stage
