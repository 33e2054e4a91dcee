"""The deadline moves as far as the evidence outlives it; the evidence's expiry never moves."""

from __future__ import annotations

from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.testing import WorkflowEnvironment

from activities.contracts import RECORD_TTL_MARGIN_S, ExtendInput, NoteInput, PauseInput, ResumeInput, RunOutcome
from boundary.report import Verdict
from tests.steering.doubles import HeldPlanner
from tests.support.runs import Finished, Harness, call, calls, cite, claim, report
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun

SEEN = claim("q was seen", cite("first", pointer="/echo"))
DAY_S = 86_400


async def test_a_planner_that_thinks_over_the_old_deadline_is_asked_on(runs: Harness) -> None:
    """For the same turn, whose number does not count twice; its answer, once it is there, counts."""
    planner = HeldPlanner(2, [calls(call("first")), calls(call("second")), report(SEEN)])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start(deadline_s=4)
        await planner.entered.wait()
        await handle.execute_update(AgentRun.extend, ExtendInput(seconds=600))
        await wait_until(lambda: len(planner.asked) == 3, description="the planner is asked again")
        planner.open.set()
        done = await runs.finished(handle, await handle.result())
    assert [plan.number for plan in planner.asked[:3]] == [1, 2, 2]
    assert done.result.outcome is RunOutcome.REPORTED
    assert done.result.verdict is Verdict.SUPPORTED
    assert [turn.input.number for turn in done.turns] == [1, 2, 3]


async def test_a_run_of_days_is_paused_extended_hinted_and_goes_on(
    time_skipping: WorkflowEnvironment, virtual_runs: Harness
) -> None:
    """Paused on its first day, extended on the second, it goes on on the fourth, past its first deadline."""
    planner = HeldPlanner(1, [calls(call("first")), calls(call("second")), report(SEEN)])
    async with virtual_runs.worker(planner, [FakeTool()]):
        with time_skipping.with_time_skipping_disabled():
            handle = await virtual_runs.start(deadline_s=2 * DAY_S)
            await planner.entered.wait()
            await handle.execute_update(AgentRun.pause, PauseInput())
            planner.open.set()
        await time_skipping.fast_forward(handle, timedelta(days=1))
        with time_skipping.with_time_skipping_disabled():
            await handle.execute_update(AgentRun.extend, ExtendInput(seconds=3 * DAY_S))
        await time_skipping.fast_forward(handle, timedelta(days=2))
        with time_skipping.with_time_skipping_disabled():
            await handle.execute_update(AgentRun.note, NoteInput(text="the release is out"))
            resumed = await handle.execute_update(AgentRun.resume, ResumeInput())
        done = await virtual_runs.finished(handle, await handle.result())
    assert resumed.paused_ms == pytest.approx(3 * DAY_S * 1000, rel=0.01)
    assert done.result.outcome is RunOutcome.REPORTED
    assert [turn.input.notes for turn in done.turns] == [(), ("the release is out",), ()]
    assert done.result.ended_at_ms - done.result.started_at_ms >= 3 * DAY_S * 1000


@pytest.mark.proves("INV-EVIDENCE-OUTLIVES-REPORT", "INV-TTL-NEVER-EXTENDED")
async def test_an_extension_never_moves_the_evidence_and_stops_before_it_expires(runs: Harness) -> None:
    """As much as is left is named by the refusal, and is granted; after that not a second more."""
    planner = HeldPlanner(2, [calls(call("first")), calls(call("second")), report(SEEN)])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start(deadline_s=100, record_ttl_s=100 + 50 + RECORD_TTL_MARGIN_S)
        await planner.entered.wait()
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update(AgentRun.extend, ExtendInput(seconds=51))
        assert "by 50 s at most" in str(refused.value.cause)
        extended = await handle.execute_update(AgentRun.extend, ExtendInput(seconds=50))
        assert extended.deadline_ms == extended.latest_ms
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handle.execute_update(AgentRun.extend, ExtendInput(seconds=1))
        assert "cannot move any more" in str(refused.value.cause)
        planner.open.set()
        done: Finished = await runs.finished(handle, await handle.result())
    assert done.result.verdict is Verdict.SUPPORTED
    # The first record was made before the extension, the second after it.
    expiries = {stored.record.expires_at for stored in done.records.values()}
    assert len(expiries) == 1
    assert extended.latest_ms + RECORD_TTL_MARGIN_S * 1000 == round(expiries.pop().timestamp() * 1000)
