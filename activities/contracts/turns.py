"""A turn: what the planner is asked, what it answered, how its report was checked."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field

from activities.contracts.runs import OfRun, ToolLimits
from boundary.contracts import CallError, EvidenceStatus, Frozen, InvocationStatus, JsonObject, ToolCall
from boundary.report import CheckedClaim, Verdict


class TurnMode(StrEnum):
    """What the planner is asked for."""

    PLAN = "plan"
    """Tool calls, or the report."""
    CONCLUDE = "conclude"
    """The report; no tools are left."""
    REPAIR = "repair"
    """The report again, its faults mended; no tools are left."""


class CallResult(Frozen):
    """What became of one requested call of the last turn."""

    tool_call_id: str | None = None
    """Not sent: its place tells which call it is of. A planner's view fills it in where the id is legal."""
    status: InvocationStatus = InvocationStatus.READY
    evidence_status: EvidenceStatus = EvidenceStatus.EVIDENCE_FOUND
    error: CallError | None = None
    stored: bool = True
    """False: there is no record of the call; `error` or `repeats` is all there is."""
    repeats: str | None = None
    """Id of the earlier call that asked the same: its result is the answer, and it is what may be cited."""

    @classmethod
    def refused(cls, error: CallError) -> Self:
        """Make the result of a call that was refused at admission."""
        return cls(
            status=InvocationStatus.ERROR,
            evidence_status=EvidenceStatus.ERROR,
            error=error,
            stored=False,
        )


class BudgetLeft(Frozen):
    """What a planner may still use."""

    tool_calls: int
    turns: int
    run_bytes: int
    tokens: int | None = None


class PlanInput(OfRun):
    """Asks for one turn. Its digest without `deadline_ms` keys the stored turn."""

    number: int
    """Turn number, from 1; repair and conclude count on."""
    mode: TurnMode = TurnMode.PLAN
    parent: str | None = None
    """Key of the turn before, `PlannedTurn.turn_key`."""
    results: tuple[CallResult, ...] = ()
    """Of the parent's calls, in request order, without its excess."""
    notes: tuple[str, ...] = ()
    """Hints people gave since the last turn."""
    faults: tuple[str, ...] = ()
    """In mode repair: what was wrong with the report."""
    budget: BudgetLeft
    deadline_ms: int
    """By when the turn must be there; a clock value, not part of the turn's identity."""


class PlannedTurn(Frozen):
    """One turn, bounded and sanitised; stored before it was returned."""

    turn_key: str
    """`number:mode:digest`, the turn's field in the run's index; 64 bits tell the inputs of one turn apart."""
    calls: tuple[ToolCall, ...] = ()
    excess: int = 0
    """Calls beyond the limits of a turn, all refused with BUDGET_EXCEEDED."""
    reported: bool = False
    """The turn is the report; it is read from the stored turn."""
    cites: tuple[str, ...] = ()
    """Ids the report cites, each once, so that the check gets their digests from history."""
    faults: tuple[str, ...] = ()
    """What is wrong with a report that could not be taken as it was."""
    failure: CallError | None = None
    """The planner failed for good; there are no calls and no report."""
    tokens: int = 0


class CheckReportInput(OfRun):
    """Asks EvidenceGuard to check the report of a stored turn."""

    turn_key: str
    seen: dict[str, str | None] = Field(default_factory=dict)
    """Cited ids that the run admitted, with the record digest the history saw (None: unsettled)."""


class CheckedReport(Frozen):
    """The checked claims, and what a repair turn should mend."""

    claims: tuple[CheckedClaim, ...] = ()
    verdict: Verdict = Verdict.INCONCLUSIVE
    faults: tuple[str, ...] = ()
    usable: bool = True
    """False: there was no report that could be checked."""


class CatalogEntry(Frozen):
    """A tool as a planner sees it; stored in the run's brief, not in the history."""

    name: str
    description: str
    arguments_schema: JsonObject
    result_schema: JsonObject
    limits: ToolLimits = ToolLimits()
