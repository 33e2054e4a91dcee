"""Replay notices every step that moved: the recorded histories fail with a workflow whose steps a test swaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from activities.contracts import CheckedReport, PlannedTurn, RunResult, TurnMode
from casebound.replay_verdict import FaultKind
from tests.replay.replaying import replay_here
from tests.support.histories import load, names
from tests.support.scenarios import SCENARIOS
from workflows.agent_run import AgentRun
from workflows.conclusion import Conclusion
from workflows.run_state import RunState
from workflows.tool_calls import TurnCalls

# pyright: reportPrivateUsage=false
# A mutation is of the workflow's own steps.

OPEN, CONCLUDE, CHECK, CONDUCT = AgentRun._open, AgentRun._conclude, AgentRun._check, AgentRun._conduct


async def plan_before_opening(run: AgentRun) -> Conclusion | None:
    """Ask the planner before the brief is stored."""
    await run._plan(TurnMode.PLAN)
    return await OPEN(run)


async def check_before_concluding(run: AgentRun, end: Conclusion) -> tuple[Conclusion, PlannedTurn | None]:
    """Check the last turn before the concluding one is asked for."""
    await run._check_once(PlannedTurn(turn_key=run._state.parent or "", reported=True))
    return await CONCLUDE(run, end)


async def repair_before_checking(run: AgentRun, end: Conclusion, turn: PlannedTurn) -> tuple[Conclusion, CheckedReport]:
    """Ask for the repair before the report was checked."""
    await run._plan(TurnMode.REPAIR, ("any fault",))
    return await CHECK(run, end, turn)


async def close_every_run(run: AgentRun) -> RunResult | None:
    """Write a summary at the end of every run, a cancelled one's twice."""
    result = await CONDUCT(run)
    if result is not None:
        await run._leave_summary(result)
    return result


async def close_no_run(run: AgentRun, result: RunResult) -> None:
    """Leave a cancelled run's summary unwritten."""


BUDGET = {"budget_exhausted", "turns_exhausted"}
CONCLUDED = BUDGET | {"stopped", "unsettled", "deadline_exceeded", "planner_hung", "paused_to_the_end"}
CONTINUED = {name for name, scenario in SCENARIOS.items() if scenario.continues}
CHECKED = set(names()) - CONTINUED - {"planner_failed", "planner_hung", "store_lost", "cancelled"}

MUTATIONS: list[tuple[str, Callable[..., object], set[str]]] = [
    ("_open", plan_before_opening, set(names())),
    ("_conclude", check_before_concluding, CONCLUDED),
    ("_check", repair_before_checking, CHECKED),
    ("_conduct", close_every_run, set(names()) - CONTINUED),
    ("_leave_summary", close_no_run, {"cancelled"}),
]
CASES = [
    pytest.param(step, mutation, name, name in caught, id=f"{mutation.__name__}-{name}")
    for step, mutation, caught in MUTATIONS
    for name in names()
]


@pytest.mark.parametrize(("step", "mutation", "name", "caught"), CASES)
async def test_a_step_that_moved_is_noticed_by_every_history_that_has_it(
    monkeypatch: pytest.MonkeyPatch, step: str, mutation: Callable[..., object], name: str, caught: bool
) -> None:
    """And told, with the event and what is asked for instead; a history without the step replays as before."""
    monkeypatch.setattr(AgentRun, step, mutation)
    fault = (await replay_here(load(name))).fault
    if not caught:
        assert fault is None
        return
    assert fault is not None
    assert fault.kind is FaultKind.NONDETERMINISM
    assert fault.event_id is not None
    assert fault.asked


@pytest.mark.parametrize("name", ["reported", "parallel_calls", "settled_by_the_finalizer"])
async def test_calls_started_in_another_order_are_noticed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The calls of a turn are started in request order; the last one first is another run."""
    init = TurnCalls.__init__

    def reversed_calls(self: TurnCalls, state: RunState, turn: PlannedTurn) -> None:
        init(self, state, turn.model_copy(update={"calls": turn.calls[::-1]}))

    monkeypatch.setattr(TurnCalls, "__init__", reversed_calls)
    fault = (await replay_here(load(name))).fault
    assert fault is not None
    assert fault.kind is FaultKind.NONDETERMINISM
