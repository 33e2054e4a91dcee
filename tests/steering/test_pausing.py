"""A paused run lets running calls end and starts no new one; the deadline runs on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.testing import WorkflowEnvironment

from activities.contracts import (
    NoteInput,
    PauseInput,
    ResumeInput,
    RunOutcome,
    StopInput,
)
from boundary.report import Verdict
from tests.steering.doubles import Gate, HeldPlanner
from tests.support.runs import Finished, Harness, RunHandle, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun

SEEN = claim("q was seen", cite("first", pointer="/echo"))
DAY_S = 86_400


async def pause(handle: RunHandle, reason: str = "wait for the release") -> None:
    """Pause the run."""
    await handle.execute_update(AgentRun.pause, PauseInput(by="ada", reason=reason))


async def resume(handle: RunHandle) -> None:
    """Let the run go on."""
    await handle.execute_update(AgentRun.resume, ResumeInput(by="ada"))


async def settled(handle: RunHandle, count: int) -> None:
    """Wait until so many calls have ended and none runs."""

    async def there() -> bool:
        progress = await handle.query(AgentRun.progress)
        ended = [line for line in progress.calls if line.state in ("READY", "ERROR")]
        return len(ended) == count and progress.calls_running == 0

    await wait_until(there, description=f"{count} calls have ended")


@pytest.mark.proves("INV-PAUSE")
async def test_a_paused_run_lets_the_running_call_end_and_starts_no_other(runs: Harness) -> None:
    """The call's result is kept; the turn's other calls wait; after `resume` each has its result, in order."""
    gate = Gate()
    held, quick = FakeAsyncTool("held", work_async=gate), FakeTool()
    script = [calls(call("first", "held"), call("second"), call("third")), report(SEEN)]
    async with runs.worker(script, [held, quick]):
        handle = await runs.start(max_parallel_calls=1)
        await gate.entered.wait()
        await pause(handle)
        gate.open.set()
        await settled(handle, 1)
        progress = await handle.query(AgentRun.progress)
        assert progress.paused is not None
        assert (progress.paused.by, progress.paused.reason) == ("ada", "wait for the release")
        assert progress.calls_total == 1
        assert quick.executed == []
        await resume(handle)
        done = await runs.finished(handle, await handle.result())
    assert done.result.verdict is Verdict.SUPPORTED
    assert len(quick.executed) == 2
    assert [result.status.value for result in done.turns[1].input.results] == ["READY"] * 3


async def test_a_run_paused_while_its_planner_thinks_holds_the_turn(runs: Harness) -> None:
    """The planner's turn is kept; its calls are made once the run goes on, and the planner is not asked again."""
    planner, tool = HeldPlanner(1, [calls(call("first")), report(SEEN)]), FakeTool()
    async with runs.worker(planner, [tool]):
        handle = await runs.start()
        await planner.entered.wait()
        await pause(handle)
        planner.open.set()

        async def calling() -> bool:
            return (await handle.query(AgentRun.progress)).state == "calling"

        await wait_until(calling, description="the planner's turn is there")
        assert tool.executed == []
        await resume(handle)
        done = await runs.finished(handle, await handle.result())
    assert done.result.outcome is RunOutcome.REPORTED
    assert [plan.number for plan in planner.asked] == [1, 2]


async def test_a_report_handed_in_while_paused_waits_and_can_be_answered_by_a_note(runs: Harness) -> None:
    """The run does not end behind the back of who paused it; a note given meanwhile makes the planner report anew."""
    planner = HeldPlanner(2, [calls(call("first")), report(), report(SEEN)])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start()
        await planner.entered.wait()
        await pause(handle)
        planner.open.set()
        await handle.execute_update(AgentRun.note, NoteInput(by="ada", text="look at the first call"))
        await resume(handle)
        done = await runs.finished(handle, await handle.result())
    assert [plan.notes for plan in planner.asked] == [(), (), ("look at the first call",)]
    assert done.result.verdict is Verdict.SUPPORTED


async def paused_in_the_first_turn(env: WorkflowEnvironment, runs: Harness, planner: HeldPlanner) -> RunHandle:
    """Start a run with a deadline of two days whose clock stands still, and pause it while its planner thinks."""
    with env.with_time_skipping_disabled():
        handle = await runs.start(deadline_s=2 * DAY_S)
        await planner.entered.wait()
        await pause(handle)
        planner.open.set()
    return handle


@pytest.mark.proves("INV-PAUSE")
async def test_a_run_paused_over_its_deadline_concludes(
    time_skipping: WorkflowEnvironment, virtual_runs: Harness
) -> None:
    """The deadline runs while it is paused: the calls that waited are refused, and the report says why it ended."""
    planner, tool = HeldPlanner(1, [calls(call("first")), report()]), FakeTool()
    async with virtual_runs.worker(planner, [tool]):
        handle = await paused_in_the_first_turn(time_skipping, virtual_runs, planner)
        await time_skipping.fast_forward(handle, timedelta(days=2))
        done = await virtual_runs.finished(handle, await handle.result())
    assert done.result.outcome is RunOutcome.DEADLINE_EXCEEDED
    assert tool.executed == []
    lasted = (done.result.ended_at_ms - done.result.started_at_ms) / 1000
    # The gathering ends a tenth of the time before the deadline: design, section 5.
    assert 1.8 * DAY_S <= lasted <= 2 * DAY_S


async def test_a_paused_run_can_be_stopped(runs: Harness) -> None:
    """A stop concludes it at once, with the evidence at hand."""
    gate = Gate()
    async with runs.worker(
        [calls(call("first", "held"), call("second")), report()], [FakeAsyncTool("held", work_async=gate), FakeTool()]
    ):
        handle = await runs.start(max_parallel_calls=1)
        await gate.entered.wait()
        await pause(handle)
        gate.open.set()
        await settled(handle, 1)
        await handle.execute_update(AgentRun.stop, StopInput(by="ada", reason="enough"))
        done = await runs.finished(handle, await handle.result())
    assert done.result.outcome is RunOutcome.STOPPED
    assert set(done.records) == {"first"}


async def test_a_paused_run_can_be_cancelled(runs: Harness) -> None:
    """Its summary is in the store, and nothing was started."""
    planner, tool = HeldPlanner(1, [calls(call("first")), report()]), FakeTool()
    async with runs.worker(planner, [tool]):
        handle = await runs.start()
        await planner.entered.wait()
        await pause(handle)
        planner.open.set()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        done: Finished = await runs.finished(handle)
    assert done.result.outcome is RunOutcome.CANCELLED
    assert tool.executed == []
