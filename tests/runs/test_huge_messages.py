"""A planner or tool whose failure says megabytes costs its worker nothing: no attempt is lost over it."""

from __future__ import annotations

import pytest
from temporalio.api.enums.v1 import EventType

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import PlannerError, Turn
from boundary.contracts import JsonObject, JsonValue, ToolBoundaryResult
from boundary.tools import ToolContext, ToolFailure
from tests.support.runs import Finished, Harness, call, calls, report
from tests.support.tools import FakeTool

HUGE = "password= x " * 800_000
"""What takes longest to mask: as a whole, tens of seconds."""


def attempts(finished: Finished) -> set[int]:
    """Numbers of the attempts that the history shows; above 1, a worker was too busy to send its heartbeat."""
    return {
        event.activity_task_started_event_attributes.attempt
        for event in finished.history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    }


@pytest.mark.parametrize("error", [PlannerError(HUGE), ValueError(HUGE)])
async def test_a_planner_that_fails_with_megabytes_fails_its_run_and_no_more(
    runs_on: Harness, error: Exception
) -> None:
    """The same as with a short message."""

    def fails(plan: PlanInput, results: list[list[ToolBoundaryResult]]) -> Turn:
        raise error

    finished = await runs_on.run([fails], [FakeTool()])
    assert finished.result.outcome is RunOutcome.PLANNER_FAILED
    assert attempts(finished) == {1}


@pytest.mark.parametrize("error", [ToolFailure(HUGE), ValueError(HUGE)])
async def test_a_tool_that_fails_with_megabytes_fails_its_call_and_no_more(runs_on: Harness, error: Exception) -> None:
    """The call is settled ERROR in its first execution."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise error

    finished = await runs_on.run([calls(call("first")), report()], [FakeTool(work=work)])
    assert finished.result.outcome is RunOutcome.REPORTED
    assert attempts(finished) == {1}
