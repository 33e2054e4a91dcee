"""The port every planner implements.

Above: the `casebound.plan` activity calls it, bounds what it returns and stores it. Below:
`runbook`, `scripted`, later a model. A planner sees agent results only, never raw responses,
and what it returns is untrusted: any text, any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from activities.contracts import CallResult, PlanInput, TurnMode
from activities.stored import RunBrief
from boundary.contracts import JsonValue, ToolBoundaryResult, ToolCall
from boundary.errors import CaseboundError


@dataclass(frozen=True)
class RequestedCall:
    """A tool call as a planner produced it. Untrusted: the types are what it should be."""

    tool_call_id: str | None
    tool_name: str
    arguments: str
    """JSON text of one object."""


@dataclass(frozen=True)
class Turn:
    """One planner step: some calls, or the report (calls beside a report are refused)."""

    calls: Sequence[RequestedCall] = ()
    report: JsonValue = None
    """A `boundary.report.Report` as JSON value, or None for no report."""
    tokens: int = 0
    """Tokens the provider charged for this turn."""
    remarks: Sequence[str] = ()
    """What people should know of how the turn came about: steps skipped, claims left out, each with the reason."""


@dataclass(frozen=True)
class PastTurn:
    """An earlier turn of this run with what became of its calls."""

    number: int
    mode: TurnMode
    calls: tuple[ToolCall, ...]
    results: tuple[CallResult, ...]
    """One for each of `calls`, in order."""
    excess_ids: tuple[str | None, ...] = ()
    """Calls beyond the limits of a turn, all refused with BUDGET_EXCEEDED."""
    notes: tuple[str, ...] = ()
    """Hints people gave before this turn."""
    faults: tuple[str, ...] = field(default=())
    """Faults of a report that this turn was asked to mend."""


class RunView(Protocol):
    """What a planner may see of its run."""

    @property
    def brief(self) -> RunBrief:
        """Question, runbook text and tool catalog."""
        ...

    async def past_turns(self) -> Sequence[PastTurn]:
        """Read the chain of turns before this one, oldest first, in one round trip."""
        ...

    async def results(self, tool_call_ids: Sequence[str]) -> dict[str, ToolBoundaryResult]:
        """Read what the agent may see of settled calls; ids without a settled record are left out."""
        ...


class PlannerError(CaseboundError):
    """The planner cannot produce a turn.

    Attributes:
        retryable: asking again may help (the provider was unreachable).
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class Planner(Protocol):
    """Decides the next step of a run."""

    def check(self, brief: RunBrief) -> str | None:
        """Say what makes the brief unusable (a bad runbook), or None; called once by `open_run`."""
        ...

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Produce the next turn.

        Raises:
            PlannerError: no turn can be produced.
        """
        ...
