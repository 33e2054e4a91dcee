"""A tool with a task queue of its own runs on that queue's workers; without one it is unavailable, soon."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from activities.contracts import RunOutcome
from boundary.contracts import JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.memory_backend import MemoryBackend
from boundary.report import Verdict
from boundary.tools import ToolContext, ToolFailure
from casebound.settings import Settings, WorkerSettings
from casebound.settings_errors import SettingsError
from casebound.tool_settings import ToolSettings, configured
from casebound.worker import Store, open_worker, store_over
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool

SEEN = claim("q was seen", cite("first", pointer="/echo"))


@pytest_asyncio.fixture
async def store(key_prefix: str) -> AsyncIterator[Store]:
    """In memory: which store it is cannot matter here, only that both workers have the same."""
    yield await store_over(MemoryBackend(), key_prefix)


def harness(client: Client, store: Store, task_queue: str, **tools: ToolSettings) -> Harness:
    """Runs whose worker knows these settings of its tools."""
    settings = Settings(worker=WorkerSettings(graceful_shutdown_s=0), tools=tools)
    return Harness(client, store, task_queue, settings=settings)


async def test_a_tool_runs_on_the_workers_of_its_own_queue(
    temporal_client: Client, store: Store, task_queue: str
) -> None:
    """Next to its data; the run's own worker never executes it, and the other tool stays where the run is."""
    here, there = FakeTool("far"), FakeTool("far")
    runs = harness(temporal_client, store, task_queue, far=ToolSettings(task_queue=f"{task_queue}-data"))
    near = FakeTool("near")
    script = [calls(call("first", "far"), call("second", "near")), report(SEEN)]
    plain = Settings(worker=WorkerSettings(graceful_shutdown_s=0))
    async with open_worker(plain, temporal_client, store, task_queue=f"{task_queue}-data", tools=[there], planners={}):
        done = await runs.run(script, [here, near])
    assert done.result.verdict is Verdict.SUPPORTED
    assert (len(here.executed), len(there.executed), len(near.executed)) == (0, 1, 1)
    queues = {
        event.activity_task_scheduled_event_attributes.activity_type.name: (
            event.activity_task_scheduled_event_attributes.task_queue.name
        )
        for event in done.events(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    }
    assert (queues["far"], queues["near"]) == (f"{task_queue}-data", task_queue)


async def test_a_queue_without_workers_makes_its_tool_unavailable(
    time_skipping: WorkflowEnvironment, store: Store, task_queue: str
) -> None:
    """After 30 s, not at the end of the call's time; the record says so, and the run goes on."""
    runs = harness(time_skipping.client, store, task_queue, far=ToolSettings(task_queue=f"{task_queue}-nobody"))
    script = [calls(call("away", "far"), call("first")), report(SEEN)]
    done = await runs.run(script, [FakeTool("far"), FakeTool()], deadline_s=3600)
    assert done.result.outcome is RunOutcome.REPORTED
    error = done.records["away"].record.error
    assert error is not None
    assert error.code is ErrorCode.TOOL_UNAVAILABLE
    assert done.records["first"].record.error is None
    lasted_s = (done.result.ended_at_ms - done.result.started_at_ms) / 1000
    assert 30 <= lasted_s < 60


async def test_what_the_settings_say_of_a_tool_holds(temporal_client: Client, store: Store, task_queue: str) -> None:
    """Calls of one run, attempts of one call."""

    def fail(*_: object) -> None:
        raise ToolFailure("not yet", retryable=True)

    runs = harness(
        temporal_client, store, task_queue, few=ToolSettings(max_calls=1), fails=ToolSettings(max_attempts=1)
    )
    few, fails = FakeTool("few"), FakeTool("fails", work=fail)
    script = [calls(call("first", "few"), call("second", "few"), call("third", "fails")), report(SEEN)]
    done = await runs.run(script, [few, fails])
    errors = {failed.tool_call_id: failed.error.code for failed in done.result.could_not_check}
    assert errors == {"second": ErrorCode.BUDGET_EXCEEDED, "third": ErrorCode.EXECUTION_ERROR}
    assert len(fails.executed) == 1


@pytest.mark.parametrize("tool", [FakeTool(), FakeAsyncTool()], ids=["thread", "async"])
async def test_a_configured_tool_runs_where_it_ran_before(
    temporal_client: Client, store: Store, task_queue: str, tool: FakeTool
) -> None:
    """A coroutine on the event loop, anything else in a thread."""
    runs = harness(temporal_client, store, task_queue, probe=ToolSettings(timeout_s=5))
    done = await runs.run([calls(call("first")), report(SEEN)], [replace(tool, executed=[])])
    assert done.result.verdict is Verdict.SUPPORTED


async def test_a_configured_time_out_ends_the_tool(temporal_client: Client, store: Store, task_queue: str) -> None:
    """The tool waits until it is told to stop; its own definition allows it a minute."""
    told = threading.Event()

    def wait(arguments: JsonObject, context: ToolContext) -> JsonValue:
        while not context.stop.is_set():
            time.sleep(0.01)
        told.set()
        raise ToolFailure("stopped")

    runs = harness(temporal_client, store, task_queue, probe=ToolSettings(timeout_s=0.2, max_attempts=1))
    done = await runs.run([calls(call("first")), report(SEEN)], [FakeTool(work=wait)])
    [failed] = done.result.could_not_check
    assert failed.error.code is ErrorCode.EXECUTION_TIMEOUT
    assert told.wait(30)


def test_settings_of_a_tool_that_there_is_not_are_told() -> None:
    """With the tools that there are."""
    with pytest.raises(SettingsError, match=r"\[tools.serch_logs\].*no tool 'serch_logs'\n.*probe") as told:
        configured([FakeTool()], {"serch_logs": ToolSettings()})
    assert "fix: name one of: probe" in told.value.message
