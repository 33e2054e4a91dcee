"""The scripted planner gives the same turn for the same number, on any worker."""

from __future__ import annotations

import pytest

from activities.contracts import PlanInput, TurnMode
from activities.planners.port import PlannerError, RequestedCall, Turn
from activities.planners.scripted import ScriptedPlanner
from activities.turns import bound_turn, turn_key
from boundary.contracts import ToolBoundaryResult
from tests.planners.support import FakeRun, plan_input

FIRST = Turn(calls=[RequestedCall("a", "search_logs", "{}")])
SECOND = Turn(report={"claims": []}, tokens=3)


async def test_turn_n_is_the_nth_item_and_the_last_one_repeats() -> None:
    """Asked twice for one turn it answers the same."""
    planner = ScriptedPlanner([FIRST, SECOND])
    numbers = (1, 1, 2, 7)
    assert [await planner.next_turn(plan_input(number), FakeRun()) for number in numbers] == [
        FIRST,
        FIRST,
        SECOND,
        SECOND,
    ]


@pytest.mark.parametrize("mode", [TurnMode.CONCLUDE, TurnMode.REPAIR])
async def test_past_its_items_it_concludes_with_an_empty_report(mode: TurnMode) -> None:
    """A script need not foresee how a run is made to conclude."""
    planner = ScriptedPlanner([FIRST])
    assert (await planner.next_turn(plan_input(1, mode), FakeRun())) == FIRST
    assert (await planner.next_turn(plan_input(2, mode), FakeRun())).report == {"claims": []}
    assert (await ScriptedPlanner([]).next_turn(plan_input(), FakeRun())).report == {"claims": []}


async def test_an_error_in_the_script_is_raised() -> None:
    """Retryable or not as written."""
    planner = ScriptedPlanner([PlannerError("provider down", retryable=True)])
    with pytest.raises(PlannerError) as raised:
        await planner.next_turn(plan_input(), FakeRun())
    assert raised.value.retryable


async def test_a_function_sees_the_results_of_every_past_turn() -> None:
    """Refused and failed ones included, as any planner would."""
    seen: list[list[list[ToolBoundaryResult]]] = []

    def look(plan: PlanInput, results: list[list[ToolBoundaryResult]]) -> Turn:
        seen.append(results)
        return SECOND

    run = FakeRun()
    plan = plan_input()
    run.settle(bound_turn(FIRST, turn_key=turn_key(plan), plan=plan), lambda tool, arguments: {"tool": tool})
    planner = ScriptedPlanner([FIRST, look])
    assert await planner.next_turn(plan_input(2), run) == SECOND
    assert [[result.agent_result for result in turn] for turn in seen[0]] == [[{"tool": "search_logs"}]]
    assert planner.check(run.brief) is None
