"""A store that stays away: a run ends in time all the same, whatever was running."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from activities.contracts import RunOutcome
from boundary.contracts import JsonObject, JsonValue
from boundary.tools import ToolContext
from casebound.worker import Store, store_over
from tests.support.histories import Breakable
from tests.support.runs import Harness, call, calls, report
from tests.support.tools import FakeAsyncTool, FakeTool


@pytest.fixture
async def backend() -> Breakable:
    """A store to break."""
    return Breakable()


@pytest.fixture
async def store(backend: Breakable) -> Store:
    """The store over it."""
    return await store_over(backend, "casebound")


async def test_no_planner_is_asked_after_the_deadline(
    time_skipping: WorkflowEnvironment, task_queue: str, store: Store, backend: Breakable
) -> None:
    """The finalizer waited in vain until the deadline had passed: there is no time for a concluding turn."""
    runs = Harness(time_skipping.client, store, task_queue)

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        backend.down = True
        return {"echo": arguments}

    async with runs.worker([calls(call("one")), report()], [FakeTool(work=work)]):
        handle = await runs.start(deadline_s=2)
        result = await handle.result()
    backend.down = False
    done = await runs.finished(handle, result)
    assert result.outcome in (RunOutcome.DEADLINE_EXCEEDED, RunOutcome.STORE_LOST)
    assert result.unsettled == 1
    assert done.activity_types == ["casebound.open_run", "casebound.plan", "probe", "casebound.settle_calls"]


async def test_a_cancelled_call_does_not_wait_out_its_time_for_a_lost_store(
    time_skipping: WorkflowEnvironment, task_queue: str, store: Store, backend: Breakable
) -> None:
    """One short try to settle, then the call is given up and the run ends Cancelled; `sweep` settles the record."""
    runs = Harness(time_skipping.client, store, task_queue)
    entered = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        entered.set()
        return await asyncio.Event().wait()

    tool = FakeAsyncTool(work_async=work, timeout_ms=8_000)
    async with runs.worker([calls(call("one")), report()], [tool]):
        handle = await runs.start()
        await entered.wait()
        backend.down = True
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
    ended = [event.event_type for event in (await handle.fetch_history()).events]
    assert EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT not in ended
