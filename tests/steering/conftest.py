"""Harnesses over Valkey: on the ordinary server, on virtual clocks, and where histories soon are long enough."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from casebound.worker import Store
from tests.support import temporal
from tests.support.runs import Harness


@pytest_asyncio.fixture
async def short_histories(valkey_store: Store, task_queue: str) -> AsyncIterator[Harness]:
    """Runs with virtual clocks whose server suggests to continue as new after 100 events instead of 4,096."""
    async with await temporal.start_time_skipping(suggest_continue_as_new=100) as env:
        yield Harness(await temporal.connect(env), valkey_store, task_queue)


@pytest_asyncio.fixture
async def soon_long(valkey_store: Store, task_queue: str) -> AsyncIterator[Harness]:
    """The same on a clock that goes on while no worker is there."""
    async with await temporal.start_dev_server(suggest_continue_as_new=100) as env:
        yield Harness(await temporal.connect(env), valkey_store, task_queue)
