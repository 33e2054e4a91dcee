"""Every scenario whose history is recorded: what it plays, and how its run ends.

Above: `tests.support.histories` records them, `tests/replay` replays them. Below: the scenarios themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from activities.contracts import RunOutcome
from tests.support import scenarios_steered as steered
from tests.support import scenarios_unsteered as unsteered
from tests.support.runs import Finished, Harness


@dataclass(frozen=True)
class Scenario:
    """One run to record."""

    play: Callable[[Harness], Awaitable[Finished]]
    outcome: RunOutcome
    """Of the run."""
    suggest_continue_as_new: int | None = None
    """After so many events the server suggests it; None: after its usual 4,096."""
    continues: bool = False
    """The recorded execution has no outcome: the run goes on in another."""

    @property
    def name(self) -> str:
        """Of its history's file."""
        return self.play.__name__


_SCENARIOS = (
    Scenario(unsteered.reported, RunOutcome.REPORTED),
    Scenario(unsteered.parallel_calls, RunOutcome.REPORTED),
    Scenario(unsteered.refused_calls, RunOutcome.REPORTED),
    Scenario(unsteered.repeated_calls, RunOutcome.REPORTED),
    Scenario(unsteered.own_queue, RunOutcome.REPORTED),
    Scenario(unsteered.repaired, RunOutcome.REPORTED),
    Scenario(unsteered.retried, RunOutcome.REPORTED),
    Scenario(unsteered.settled_by_the_finalizer, RunOutcome.REPORTED),
    Scenario(unsteered.unsettled, RunOutcome.STOPPED),
    Scenario(unsteered.budget_exhausted, RunOutcome.BUDGET_EXHAUSTED),
    Scenario(unsteered.turns_exhausted, RunOutcome.BUDGET_EXHAUSTED),
    Scenario(unsteered.deadline_exceeded, RunOutcome.DEADLINE_EXCEEDED),
    Scenario(unsteered.planner_hung, RunOutcome.DEADLINE_EXCEEDED),
    Scenario(unsteered.planner_failed, RunOutcome.PLANNER_FAILED),
    Scenario(unsteered.never_usable, RunOutcome.PLANNER_FAILED),
    Scenario(unsteered.store_lost, RunOutcome.STORE_LOST),
    Scenario(steered.stopped, RunOutcome.STOPPED),
    Scenario(steered.cancelled, RunOutcome.CANCELLED),
    Scenario(steered.paused, RunOutcome.REPORTED),
    Scenario(steered.paused_to_the_end, RunOutcome.DEADLINE_EXCEEDED),
    Scenario(steered.extended, RunOutcome.REPORTED),
    Scenario(steered.noted, RunOutcome.REPORTED),
    Scenario(steered.report_answered, RunOutcome.REPORTED),
    Scenario(steered.continued_first, RunOutcome.REPORTED, suggest_continue_as_new=20, continues=True),
    Scenario(steered.continued_last, RunOutcome.REPORTED, suggest_continue_as_new=20),
)

SCENARIOS = {scenario.name: scenario for scenario in _SCENARIOS}
"""By name."""
