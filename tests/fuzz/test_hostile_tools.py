"""Tools that once cost a run its time, its worker's thread or their own answer. Whole runs, one call each."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType

from boundary.contracts import EvidenceStatus, InvocationStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import Projection, ToolContext, ToolFailure
from tests.fuzz.async_tools import Beyond
from tests.fuzz.tools import Equal
from tests.fuzz.values import Turning, cyclic
from tests.support.runs import Finished, Harness, call, calls, report
from tests.support.tools import FakeAsyncTool, FakeTool


async def _one_call(harness: Harness, tool: FakeTool) -> Finished:
    """Play a run of one call; none of its activities may have to wait for a time-out."""
    done = await harness.run([calls(call("one")), report()], [tool], deadline_s=60)
    assert not done.events(EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
    return done


RAISED = [StopIteration, asyncio.CancelledError, GeneratorExit, Beyond]


@pytest.mark.parametrize("kind", RAISED)
async def test_whatever_a_tool_raises_is_its_error_at_once(runs: Harness, kind: type[BaseException]) -> None:
    """No waiting for a time-out, no second execution: EXECUTION_ERROR that names the exception."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise kind

    tool = FakeTool(work=work)
    done = await _one_call(runs, tool)
    error = done.records["one"].record.error
    assert error is not None
    assert (error.code, len(tool.executed)) == (ErrorCode.EXECUTION_ERROR, 1)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, Beyond])
@pytest.mark.parametrize("where", ["show", "refuse"])
async def test_whatever_projector_or_check_raises_is_a_value(
    runs: Harness, kind: type[BaseException], where: str
) -> None:
    """Neither ends the worker or repeats the tool."""

    def raises(*_: Any) -> Any:
        raise kind

    tool = FakeTool(show=raises) if where == "show" else FakeTool(refuse=raises)
    done = await _one_call(runs, tool)
    error = done.records["one"].record.error
    assert error is not None
    assert error.code is (ErrorCode.PROJECTION_ERROR if where == "show" else ErrorCode.EXECUTION_ERROR)
    assert len(tool.executed) <= 1


async def test_a_projection_with_a_cycle_is_a_projection_error(runs: Harness) -> None:
    """It is refused before anything walks it for ever; the thread is free again."""
    done = await _one_call(runs, FakeTool(show=lambda a, r, b: Projection(cyclic(), EvidenceStatus.EVIDENCE_FOUND)))
    error = done.records["one"].record.error
    assert error is not None
    assert error.code is ErrorCode.PROJECTION_ERROR


ODD = {
    "status": lambda: Projection({"a": 1}, cast(EvidenceStatus, Equal())),
    "truncated": lambda: Projection({"a": 1}, EvidenceStatus.EVIDENCE_FOUND, truncated=cast(bool, "perhaps")),
}


@pytest.mark.parametrize("odd", ODD)
async def test_a_projection_that_says_what_none_can_say_keeps_raw(runs: Harness, odd: str) -> None:
    """PROJECTION_ERROR with the raw response; the call's own activity settles it."""
    done = await _one_call(runs, FakeTool(show=lambda a, r, b: ODD[odd]()))
    record = done.records["one"]
    assert record.record.error is not None
    assert record.record.error.code is ErrorCode.PROJECTION_ERROR
    assert record.raw is not None
    assert done.activity_types.count("casebound.settle_calls") == 0


async def test_a_projection_that_changes_under_the_eyes_is_taken_as_it_was_first(runs: Harness) -> None:
    """Nothing walks what a tool or another thread may still write to: such a walk may never end."""
    show = Projection(Turning(a=1), EvidenceStatus.EVIDENCE_FOUND)
    done = await _one_call(runs, FakeTool(show=lambda a, r, b: show))
    assert done.records["one"].agent_result == b'{"a":1}'


async def test_what_is_shown_stands_in_what_is_recorded(runs: Harness) -> None:
    """A tool that writes to its answer once it gave it changes neither what was recorded nor what is projected."""
    answer: JsonObject = {"found": "one thing"}

    def show(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        answer["found"] = "of another call"  # as a thread of the tool's would, at any moment
        return Projection(raw, EvidenceStatus.EVIDENCE_FOUND)

    done = await _one_call(runs, FakeTool(work=lambda arguments, context: answer, show=show))
    record = done.records["one"]
    assert record.raw == record.agent_result == b'{"found":"one thing"}'


async def test_a_tool_that_takes_no_stop_for_an_answer_runs_once(runs: Harness) -> None:
    """It is left after a moment: the call is settled before Temporal would run it again."""

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(4)
        return "late"

    tool = FakeAsyncTool(work_async=work, timeout_ms=1_500)
    done = await _one_call(runs, tool)
    record = done.records["one"].record
    assert record.error is not None
    assert (record.error.code, record.executions) == (ErrorCode.EXECUTION_TIMEOUT, 1)
    assert len(tool.executed) == 1


async def test_a_text_of_a_broken_file_name_is_shown_with_replacements(runs: Harness) -> None:
    """A file name that is no UTF-8 stands in an exception's text as lone surrogates: the rest is still told."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        name = b"/var/log/\xff.log".decode("utf-8", "surrogateescape")
        raise ValueError(f"no such file: {name}")

    done = await _one_call(runs, FakeTool(work=work))
    error = done.records["one"].record.error
    assert error is not None
    assert "no such file" in error.message
    assert done.activity_types.count("casebound.settle_calls") == 0


async def test_a_projector_that_fails_with_a_broken_text_keeps_raw(runs: Harness) -> None:
    """PROJECTION_ERROR with the raw response, as for any other exception of a projector."""

    def show(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        raise ValueError("\ud800")

    done = await _one_call(runs, FakeTool(show=show))
    record = done.records["one"]
    assert record.record.error is not None
    assert record.record.error.code is ErrorCode.PROJECTION_ERROR
    assert record.raw is not None


async def test_progress_with_a_broken_text_costs_the_call_nothing(runs: Harness) -> None:
    """A heartbeat's detail is for people; it never decides about the answer."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        context.progress("reading /var/log/\udcff.log")
        time.sleep(0.6)
        return {"echo": arguments}

    done = await _one_call(runs, FakeTool(work=work))
    record = done.records["one"].record
    assert (record.status, record.executions) == (InvocationStatus.READY, 1)


async def test_an_exception_that_cannot_be_shown_is_named(runs: Harness) -> None:
    """Its type is told, its text cannot be."""

    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not to be shown")

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise Silent

    done = await _one_call(runs, FakeTool(work=work))
    error = done.records["one"].record.error
    assert error is not None
    assert "Silent" in error.message


@pytest.mark.parametrize("failure", [False, True])
async def test_what_a_tool_says_of_its_failure_is_read_in_a_thread(runs: Harness, failure: bool) -> None:
    """Its text may take its time, or be of megabytes that take seconds to mask: no other call's heartbeat waits."""
    readers: set[str] = set()

    class Watched(str):
        __slots__ = ()

        def __getitem__(self, key: Any) -> str:
            readers.add(threading.current_thread().name)
            return super().__getitem__(key)

    class Told(Exception):
        def __str__(self) -> str:
            readers.add(threading.current_thread().name)
            return "told"

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise ToolFailure(Watched("told password=hunter2hunter2")) if failure else Told

    done = await _one_call(runs, FakeTool(work=work))
    error = done.records["one"].record.error
    assert error is not None
    assert "told" in error.message
    assert readers
    assert all(name.startswith("tool") for name in readers), readers


@pytest.mark.parametrize("deadline_s", [1e14, 1e18, 1e300])
async def test_a_deadline_no_clock_can_hold_is_refused_or_runs(runs: Harness, deadline_s: float) -> None:
    """It never makes a run whose every workflow task fails."""
    async with runs.worker([report()], [FakeTool()]):
        try:
            handle = await runs.start(deadline_s=deadline_s)
        except ValueError:
            return
        try:
            await asyncio.wait_for(handle.result(), 5)
        finally:
            if (await handle.describe()).close_time is None:
                await handle.terminate()
