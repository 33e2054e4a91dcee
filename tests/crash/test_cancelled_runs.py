"""A run is cancelled or stopped while something runs: what runs is told, what was begun is settled.

What runs here never ends by itself, so only the cancellation can have ended it.
"""

from __future__ import annotations

import signal

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import CancelledError

from activities.contracts import RunOutcome, StopInput
from activities.planners.port import Turn
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from boundary.report import Standing
from tests.crash.operations import Operator
from tests.crash.private_valkey import PrivateValkey
from tests.crash.stage import Stage, heard, one_call
from tests.crash.watched import Point
from tests.support.runs import Finished, RunHandle, call, calls, cite, claim, report
from workflows.agent_run import AgentRun


async def ends_cancelled(stage: Stage, handle: RunHandle) -> Finished:
    """Wait for the end; what the run left must be in the store, since nothing else tells it."""
    with pytest.raises(WorkflowFailureError) as ended:
        await handle.result()
    assert isinstance(ended.value.cause, CancelledError)
    assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    done = await stage.harness.finished(handle)
    assert (done.result.outcome, done.result.unsettled) == (RunOutcome.CANCELLED, 0)
    return done


def settled_cancelled(done: Finished, call_id: str = "one") -> None:
    record = done.records[call_id].record
    assert record.error is not None
    assert (record.status, record.error.code) == (InvocationStatus.ERROR, ErrorCode.CANCELLED)


def earlier_and_running() -> list[Turn]:
    """A script that has evidence in `zero` when `one` runs; its report cites the evidence."""
    cited = report(claim("q was zero", cite("zero", pointer="/echo/q", quote="0")))
    return [calls(call("zero", "probe", {"q": 0})), calls(call("one", "probe_async", {"q": 1})), cited, cited]


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST", "INV-NONE-PROJECTING")
@pytest.mark.parametrize("tool", ["probe", "probe_async"])
async def test_a_cancelled_run_settles_the_call_that_runs(stage: Stage, tool: str) -> None:
    """cancel_requested: the tool, in a thread or on the loop, is stopped and its record settled CANCELLED."""
    async with stage.worker(one_call(tool), hold_at=Point.IN_TOOL) as points:
        handle = await stage.start()
        await heard(points, Point.IN_TOOL)
        await handle.cancel()
        done = await ends_cancelled(stage, handle)
        await heard(points, f"stopped {tool}")
    settled_cancelled(done)
    assert done.records["one"].record.executions == 1
    assert points.count(f"{tool} returned cancel_requested") == 1
    assert [turn.input.number for turn in done.turns] == [1]
    assert [failed.error.code for failed in done.result.could_not_check] == [ErrorCode.CANCELLED]


@pytest.mark.proves("INV-NONE-PROJECTING")
async def test_a_cancelled_run_keeps_what_was_settled_before(stage: Stage) -> None:
    """Evidence gathered before the cancellation stays READY; only the running call is CANCELLED."""
    async with stage.worker(earlier_and_running(), hold_at=Point.IN_TOOL, only="probe_async") as points:
        handle = await stage.start()
        await heard(points, Point.IN_TOOL)
        await handle.cancel()
        done = await ends_cancelled(stage, handle)
    assert done.records["zero"].record.status is InvocationStatus.READY
    settled_cancelled(done)


@pytest.mark.proves("INV-NONE-PROJECTING")
async def test_calls_side_by_side_are_all_settled_cancelled(stage: Stage) -> None:
    """Three calls run at once, a fourth waits for room: the three are settled, the fourth is refused."""
    turn = calls(*[call(f"c{n}", tool) for n, tool in enumerate(["probe", "probe_async", "probe", "probe"])])
    async with stage.worker([turn], hold_at=Point.IN_TOOL) as points:
        handle = await stage.start(max_parallel_calls=3)
        await heard(points, Point.IN_TOOL, times=3)
        await handle.cancel()
        done = await ends_cancelled(stage, handle)
    assert sorted(done.records) == ["c0", "c1", "c2"]
    for call_id in done.records:
        settled_cancelled(done, call_id)
    codes = [failed.error.code for failed in done.result.could_not_check]
    assert sorted(codes) == [ErrorCode.CANCELLED] * 3 + [ErrorCode.RUN_CANCELLED]


async def test_a_cancellation_leaves_a_planner_that_thinks(stage: Stage) -> None:
    """The planner is left at once: no turn is stored, no call was begun, and the summary is there."""
    async with stage.worker(one_call(), hold_at=Point.IN_PLANNER) as points:
        handle = await stage.start()
        await heard(points, Point.IN_PLANNER)
        await handle.cancel()
        done = await ends_cancelled(stage, handle)
        await heard(points, "stopped the planner")
    assert (done.turns, done.records) == ([], {})


async def test_a_cancellation_leaves_a_report_that_is_checked(stage: Stage) -> None:
    """The check is left; no unchecked claim is published, the evidence stays READY."""
    async with stage.worker(one_call(), hold_at=Point.IN_CHECK) as points:
        handle = await stage.start()
        await heard(points, Point.IN_CHECK)
        await handle.cancel()
        done = await ends_cancelled(stage, handle)
    assert done.result.claims == ()
    assert done.records["one"].record.status is InvocationStatus.READY


@pytest.mark.proves("INV-FINALIZER-SETTLES", "INV-NONE-PROJECTING")
async def test_a_call_that_waits_for_its_next_attempt_is_settled_by_the_finalizer(stage: Stage) -> None:
    """Its worker was killed and an operator paused it: the cancelled run itself settles the record CANCELLED."""
    killed = stage.process(one_call(), die_at=Point.IN_TOOL)
    await killed.serves()
    handle = await stage.start()
    assert await killed.ends() == -signal.SIGKILL
    operator = Operator(stage.client, handle)
    await operator.between_attempts("probe")
    await operator.pause("probe")
    await handle.cancel()
    async with stage.worker(one_call()) as points:
        done = await ends_cancelled(stage, handle)
    settled_cancelled(done)
    assert done.records["one"].record.executions == 1
    assert points.count("executed probe") == 0
    assert done.activity_types[-3:] == ["probe", "casebound.settle_calls", "casebound.close_run"]


@pytest.mark.proves("INV-NONE-PROJECTING")
async def test_an_answer_that_is_being_stored_outruns_the_cancellation(stage: Stage) -> None:
    """A cancellation that meets the settle itself lets it arrive once more: the run ends Cancelled, the call READY."""
    async with stage.worker(one_call(), hold_at=Point.BEFORE_SETTLE) as points:
        handle = await stage.start()
        await heard(points, Point.BEFORE_SETTLE)
        await handle.cancel()
        await heard(points, Point.BEFORE_SETTLE, times=2)
        points.release()
        done = await ends_cancelled(stage, handle)
    assert done.records["one"].record.status is InvocationStatus.READY
    assert "casebound.settle_calls" not in done.activity_types


@pytest.mark.proves("INV-FINALIZER-SETTLES", "INV-SETTLED-NEVER-CHANGES")
async def test_the_finalizer_takes_what_it_finds_ready(breakable: Stage, valkey: PrivateValkey) -> None:
    """The store hangs while a cancelled call settles; the settle arrives late, and is the call's outcome."""
    async with breakable.worker(one_call(), hold_at=Point.BEFORE_SETTLE) as points:
        handle = await breakable.start()
        await heard(points, Point.BEFORE_SETTLE)
        valkey.freeze()
        points.release()
        await handle.cancel()
        await heard(points, "probe failed STORE_UNAVAILABLE cancel_requested")
        valkey.thaw()
        done = await ends_cancelled(breakable, handle)
    assert done.records["one"].record.status is InvocationStatus.READY
    assert done.activity_types[-3:] == ["probe", "casebound.settle_calls", "casebound.close_run"]
    assert done.result.could_not_check == ()
    assert done.result.budget.run_bytes.used == done.records["one"].bytes


async def test_a_summary_outlives_the_worker_killed_while_it_stored_it(stage: Stage) -> None:
    """Stored once: the worker that takes over finds the summary and ends the run Cancelled."""
    killed = stage.process(one_call(), hold_at=Point.IN_TOOL, die_at=Point.AFTER_SUMMARY)
    await killed.serves()
    handle = await stage.start()
    await killed.says(Point.IN_TOOL)
    await handle.cancel()
    assert await killed.ends() == -signal.SIGKILL
    await Operator(stage.client, handle).shorten_heartbeats("casebound.close_run")
    async with stage.worker(one_call()):
        done = await ends_cancelled(stage, handle)
    settled_cancelled(done)


@pytest.mark.proves("INV-CONCLUDES", "INV-NONE-PROJECTING")
async def test_a_stop_settles_the_running_call_and_reports_with_what_there_is(stage: Stage) -> None:
    """Stop while a tool runs: the call is CANCELLED, one concluding turn reports; the run ends Completed, STOPPED."""
    async with stage.worker(earlier_and_running(), hold_at=Point.IN_TOOL, only="probe_async") as points:
        handle = await stage.start()
        await heard(points, Point.IN_TOOL)
        told = await handle.execute_update(AgentRun.stop, StopInput(reason="we know enough"))
        done = await stage.harness.finished(handle, await handle.result())
        await heard(points, "stopped probe_async")
    assert told.state == "calling"
    assert (done.result.outcome, done.result.detail) == (RunOutcome.STOPPED, "we know enough")
    assert [turn.input.mode for turn in done.turns] == ["plan", "plan", "conclude"]
    assert [claim.standing for claim in done.result.claims] == [Standing.PROVEN]
    settled_cancelled(done)


@pytest.mark.proves("INV-CONCLUDES")
async def test_a_stop_leaves_a_planner_that_thinks_and_asks_it_to_conclude(stage: Stage) -> None:
    """Stop while the planner runs: it is left and asked once more, for the report only."""
    async with stage.worker([report(), report()], hold_at=Point.IN_PLANNER) as points:
        handle = await stage.start()
        await heard(points, "asked for turn 1 plan")
        told = await handle.execute_update(AgentRun.stop, StopInput())
        await heard(points, "asked for turn 2 conclude")
        await heard(points, "stopped the planner")
        points.release()
        done = await stage.harness.finished(handle, await handle.result())
    assert told.state == "planning"
    assert done.result.outcome is RunOutcome.STOPPED
    assert [(turn.input.number, turn.input.mode) for turn in done.turns] == [(2, "conclude")]


async def test_a_cancellation_after_a_stop_wins(stage: Stage) -> None:
    """A stopped run that concludes can still be cancelled; it ends Cancelled, with its summary."""
    async with stage.worker([report(), report()], hold_at=Point.IN_PLANNER) as points:
        handle = await stage.start()
        await heard(points, "asked for turn 1 plan")
        await handle.execute_update(AgentRun.stop, StopInput())
        await heard(points, "asked for turn 2 conclude")
        await handle.cancel()
        done = await ends_cancelled(stage, handle)
    assert done.turns == []
