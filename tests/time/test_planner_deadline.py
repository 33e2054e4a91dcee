"""A planner that fails for now is out of time when no further attempt fits into the gathering."""

from __future__ import annotations

import pytest

from activities.contracts import PlanInput, RunOutcome, TurnMode
from activities.planners.port import PlannerError, Turn
from boundary.contracts import ToolBoundaryResult
from boundary.report import Standing
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeTool
from tests.time.test_deadlines import unavailable

SEEN = claim("q was seen", cite("first", pointer="/echo"))


def stuck_until_told(plan: PlanInput, results: list[list[ToolBoundaryResult]]) -> Turn:
    """Ask for a tool that does not answer; then report on the first call."""
    return calls(call(f"turn-{plan.number}", "stuck")) if plan.mode is TurnMode.PLAN else report(SEEN)


def busy_until_told(plan: PlanInput, results: list[list[ToolBoundaryResult]]) -> Turn:
    """Fail for now as long as there are tools; then report on the first call."""
    if plan.mode is TurnMode.PLAN:
        raise PlannerError("the provider is busy", retryable=True)
    return report(SEEN)


@pytest.mark.proves("INV-CONCLUDES")
async def test_a_planner_out_of_time_to_try_again_is_asked_for_the_report(virtual_runs: Harness) -> None:
    """Its next attempt would come after the gathering: that is the deadline, not its failure; half the time is left."""
    script = [
        calls(call("first")),
        stuck_until_told,
        stuck_until_told,
        busy_until_told,
        busy_until_told,
    ]
    stuck = FakeTool("stuck", work=unavailable, max_attempts=1000)
    done = await virtual_runs.run(script, [FakeTool(), stuck], deadline_s=60)
    assert done.result.outcome is RunOutcome.DEADLINE_EXCEEDED
    assert [checked.standing for checked in done.result.claims] == [Standing.PROVEN]
    assert done.result.ended_at_ms - done.result.started_at_ms < 60_000
