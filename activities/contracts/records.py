"""A run's records: opened, gathered, settled where an activity died, closed."""

from __future__ import annotations

from pydantic import Field

from activities.contracts.runs import OfRun, PlannerRef, RunResult, ToolLimits
from boundary.contracts import CallError, Frozen, Grant, ReplacedText, ToolCallOutcome

OPEN_RUN = "casebound.open_run"
PLAN = "casebound.plan"
CHECK_REPORT = "casebound.check_report"
SETTLE_CALLS = "casebound.settle_calls"
CLOSE_RUN = "casebound.close_run"
"""Names of the internal activities; the dot keeps them outside the tool-name pattern."""


class OpenRunInput(OfRun):
    """Asks to store the run's brief."""

    question: str
    planner: PlannerRef = PlannerRef()
    runbook: str | None = None
    deadline_ms: int
    expires_at_ms: int


class OpenedRun(Frozen):
    """The catalog's names with their limits, and which store holds the evidence."""

    tools: dict[str, ToolLimits] = Field(default_factory=dict)
    store_id: str = ""
    """Made when the store was first used: a worker with another store must not serve this run."""
    expires_at_ms: int | None = None
    """Only where the run's index was there already and expires earlier: after a reset to before the brief."""
    fault: CallError | None = None
    """The run cannot go on: no such planner, a bad runbook, a brief of another run under its key."""


class ToolCallInput(OfRun):
    """The one argument of a tool's activity; the tool's name is the activity's type."""

    store_id: str
    tool_call_id: str
    arguments: str | ReplacedText = ""
    turn: int
    position: int = 0
    call_index: int
    grant: Grant
    preview_chars: int = 300


class LostCall(Frozen):
    """An admitted call whose activity died for good."""

    tool_call_id: str
    tool_name: str
    arguments: str | ReplacedText
    turn: int
    position: int
    call_index: int
    bytes: int = Grant.model_fields["bytes"].default
    """Its byte grant, which a tombstone keeps to as well."""
    error: CallError
    """What to settle it with if it is not settled already."""


class SettleCallsInput(OfRun):
    """Asks the finalizer to settle calls, creating tombstones where there is no record."""

    expires_at_ms: int
    calls: tuple[LostCall, ...]


class SettledCalls(Frozen):
    """What the calls' records say now, in the order asked for."""

    outcomes: tuple[ToolCallOutcome, ...]


class CloseRunInput(Frozen):
    """Asks to write the run's summary to the store, so that `show` needs no worker."""

    result: RunResult
