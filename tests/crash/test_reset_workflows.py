"""A workflow is reset: its new execution replays recorded evidence and stored turns, it never gathers anew."""

from __future__ import annotations

import pytest
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause

from activities.stored import StoredTurn
from boundary.contracts import InvocationStatus
from casebound.client import run_handle
from tests.crash.operations import Operator, task_that_scheduled
from tests.crash.stage import Stage, first_run_id, heard, one_call, proved_once
from tests.crash.watched import Point
from tests.support.runs import Finished, RunHandle, replay

RESET = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW


async def finished_after_reset(stage: Stage, handle: RunHandle) -> Finished:
    """Gather what the run's current execution left; no workflow task failed but the one each reset leaves."""
    current = run_handle(stage.client, handle.id)
    result, history, run_id = await current.result(), await current.fetch_history(), await first_run_id(handle)
    now_ms = await stage.store.backend.now_ms()
    index = await stage.store.runs.read(run_id, now_ms=now_ms)
    turns = [StoredTurn.model_validate_json(value) for value in index.turns.values()] if index else []
    records = await stage.store.invocations.read(run_id, ["one"], now_ms=now_ms, raw=True)
    done = Finished(result, history, records, turns)
    failed = done.events(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)
    assert {event.workflow_task_failed_event_attributes.cause for event in failed} == {RESET}
    await replay(history)
    return done


@pytest.mark.proves("INV-STORED-OUTCOME-WINS", "INV-SETTLED-NEVER-CHANGES")
@pytest.mark.parametrize(
    ("activity_type", "nth"),
    [
        ("casebound.open_run", 0),
        ("casebound.plan", 0),
        ("probe", 0),
        ("casebound.plan", 1),
        ("casebound.check_report", 0),
    ],
    ids=["the very start", "first turn", "the call", "after the call", "the check"],
)
async def test_a_reset_run_reports_the_same_from_the_same_evidence(stage: Stage, activity_type: str, nth: int) -> None:
    """Reset to before any of its steps, a completed run asks no planner and starts no tool again."""
    async with stage.worker(one_call()) as points:
        handle = await stage.start()
        before = await stage.harness.finished(handle, await handle.result())
        asked = [text for text in points.said if text.startswith("asked")]
        operator = Operator(stage.client, handle)
        new_run = await operator.reset_workflow(task_that_scheduled(before.history, activity_type, nth=nth))
        done = await finished_after_reset(stage, handle)
    assert new_run != before.result.run_id == done.result.run_id
    proved_once(done, executions=1)
    assert points.count("executed probe") == 1
    assert [text for text in points.said if text.startswith("asked")] == asked
    assert done.records["one"].encoded == before.records["one"].encoded
    times = {"started_at_ms", "ended_at_ms"}
    assert done.result.model_dump(exclude=times) == before.result.model_dump(exclude=times)
    assert len(done.turns) == 2


@pytest.mark.proves("INV-LAST-BEGIN-WINS", "INV-ONE-RECORD")
@pytest.mark.parametrize("tool", ["probe", "probe_async"])
async def test_a_reset_while_the_tool_runs_takes_the_call_over(stage: Stage, tool: str) -> None:
    """Two executions overlap: the old one's tool is stopped and writes nothing, the new one completes the call."""
    async with stage.worker(one_call(tool), hold_at=Point.IN_TOOL) as points:
        handle = await stage.start()
        await heard(points, Point.IN_TOOL)
        await Operator(stage.client, handle).reset_workflow(task_that_scheduled(await handle.fetch_history(), tool))
        await heard(points, Point.IN_TOOL, times=2)
        await heard(points, f"{tool} cancelled not_found")
        points.release()
        done = await finished_after_reset(stage, handle)
    proved_once(done, executions=2)
    assert points.count("asked for turn 1 plan") == 1


@pytest.mark.proves("INV-LAST-BEGIN-WINS", "INV-SETTLED-NEVER-CHANGES")
async def test_of_two_attempts_that_settle_at_once_the_last_begin_wins(stage: Stage) -> None:
    """Both attempts have their answer when the workflow was reset; only the later begin's settle is taken."""
    async with stage.worker(one_call(), hold_at=Point.BEFORE_SETTLE) as points:
        handle = await stage.start()
        await heard(points, Point.BEFORE_SETTLE)
        history = await handle.fetch_history()
        await Operator(stage.client, handle).reset_workflow(task_that_scheduled(history, "probe"))
        await heard(points, Point.BEFORE_SETTLE, times=2)
        record = await stage.record(handle)
        assert record is not None
        assert (record.status, record.executions) == (InvocationStatus.PROJECTING, 2)
        points.release()
        done = await finished_after_reset(stage, handle)
    proved_once(done, executions=2)
    assert done.records["one"].record.owner == record.owner
    refused = points.count("settle failed: StaleAttempt") + points.count("found it settled by another")
    assert (points.count("settled"), refused) == (1, 1)


async def test_a_reset_run_whose_evidence_is_there_needs_no_tool_any_more(stage: Stage) -> None:
    """Recorded evidence outlives the tool that found it: another worker, without it, replays the report."""
    async with stage.worker(one_call()):
        handle = await stage.start()
        before = await stage.harness.finished(handle, await handle.result())
    async with stage.harness.worker(one_call(), []):
        operator = Operator(stage.client, handle)
        await operator.reset_workflow(task_that_scheduled(before.history, "casebound.open_run"))
        done = await finished_after_reset(stage, handle)
    proved_once(done, executions=1)
