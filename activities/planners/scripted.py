"""A planner that follows a list of turns, for tests. Implements `port.Planner`.

Above: the `casebound.plan` activity. The turn number alone picks the item, so a retried activity, or
another worker, gives the same turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from activities.contracts import PlanInput, TurnMode
from activities.planners.port import PlannerError, RunView, Turn
from activities.stored import RunBrief
from activities.turns import requested_results
from boundary.contracts import ToolBoundaryResult

Scripted = Turn | PlannerError | Callable[[PlanInput, list[list[ToolBoundaryResult]]], Turn]
"""A turn, an error to raise, or a function of the input and the results of each past turn."""


class ScriptedPlanner:
    """Answers turn N of a run with the N-th item, later turns with the last; past it, concluding reports nothing."""

    def __init__(self, turns: Sequence[Scripted]) -> None:
        self._turns = tuple(turns)

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Give the item of the turn's number.

        Raises:
            PlannerError: the item is one.
        """
        item = self._item(plan)
        if isinstance(item, PlannerError):
            raise PlannerError(item.message, retryable=item.retryable)
        return item if isinstance(item, Turn) else item(plan, await _past_results(run))

    def _item(self, plan: PlanInput) -> Scripted:
        left = len(self._turns) >= plan.number
        if not self._turns or (not left and plan.mode is not TurnMode.PLAN):
            return Turn(report={"claims": []})
        return self._turns[max(0, min(plan.number, len(self._turns)) - 1)]


async def _past_results(run: RunView) -> list[list[ToolBoundaryResult]]:
    past = await run.past_turns()
    ids = [call.tool_call_id for turn in past for call in turn.calls if isinstance(call.tool_call_id, str)]
    stored = await run.results(list(dict.fromkeys(ids)))
    return [requested_results(turn, stored) for turn in past]
