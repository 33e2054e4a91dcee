"""Every model that crosses the Temporal line between workflow, activities and clients.

One input and one output model per activity. All frozen, JSON, light: pydantic and `boundary`'s
light modules only. Extend by optional fields with defaults, so that old histories still replay.
Field names are spelled out; values equal to their default are not written (`casebound.converter`).
Times are Unix milliseconds by server time unless a name says seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from boundary.contracts import (
    CallError,
    EvidenceStatus,
    Frozen,
    Grant,
    InvocationStatus,
    JsonObject,
    ReplacedText,
    ToolCall,
    ToolCallOutcome,
)
from boundary.limits import MIB, MIN_RECORD_BYTES
from boundary.report import CheckedClaim, Verdict

OPEN_RUN = "casebound.open_run"
PLAN = "casebound.plan"
CHECK_REPORT = "casebound.check_report"
SETTLE_CALLS = "casebound.settle_calls"
CLOSE_RUN = "casebound.close_run"
"""Names of the internal activities; the dot keeps them outside the tool-name pattern."""

RUNBOOK_MAX_BYTES = 128 * 1024
"""Runbook text in the run's input; it stands in the history once."""

RECORD_TTL_MARGIN_S = 60
"""Evidence outlives the report: the check and the repair may run past the deadline by less than this."""

RECORD_TTL_DEFAULT_S = 7 * 24 * 3600
"""Past the deadline, where the caller names no record_ttl."""

LONGEST_S = 10 * 365 * 24 * 3600
"""Ten years: longer than any server keeps a run, and far from where times overflow."""

QUESTION_MAX = 4000
"""Characters of a question."""


class RunOutcome(StrEnum):
    """Why a run ended."""

    REPORTED = "REPORTED"
    """The planner handed in its report."""
    STOPPED = "STOPPED"
    """Someone asked to conclude with the evidence at hand."""
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    """A limit of calls, turns, bytes or tokens was reached."""
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    """The deadline, less the reserve for concluding, was reached."""
    PLANNER_FAILED = "PLANNER_FAILED"
    """The planner could not be run, or never produced a usable turn."""
    STORE_LOST = "STORE_LOST"
    """The evidence store did not answer until the deadline, or lost the run's data."""
    CANCELLED = "CANCELLED"
    """The run was cancelled."""


class TurnMode(StrEnum):
    """What the planner is asked for."""

    PLAN = "plan"
    """Tool calls, or the report."""
    CONCLUDE = "conclude"
    """The report; no tools are left."""
    REPAIR = "repair"
    """The report again, its faults mended; no tools are left."""


class RunLimits(Frozen):
    """The budget of a run. Nothing but the workflow's state decides it."""

    max_tool_calls: int = Field(default=50, ge=0, le=5000)
    max_turns: int = Field(default=40, ge=1, le=2000)
    """Turns in mode `plan`; concluding and repair come on top."""
    max_run_bytes: int = Field(default=64 * MIB, gt=0)
    """Sum of the run's record bytes."""
    max_record_bytes: int = Field(default=9 * MIB, ge=MIN_RECORD_BYTES)
    """Largest single record, whatever is left of the run's bytes."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Tokens the planner may use; None: no limit."""
    max_parallel_calls: int = Field(default=4, ge=1, le=64)
    preview_chars: int = Field(default=300, ge=0, le=500)


class PlannerRef(Frozen):
    """Which planner decides; its credentials are the worker's environment."""

    kind: str = "runbook"
    """A planner the worker has: `runbook`, or a name given to it in tests."""
    name: str = ""
    """Of the runbook or model; for people."""


class RunInput(Frozen):
    """The workflow's one argument."""

    question: str = Field(min_length=1, max_length=QUESTION_MAX)
    planner: PlannerRef = PlannerRef()
    runbook: str | None = None
    """Text of the runbook, at most `RUNBOOK_MAX_BYTES`."""
    limits: RunLimits = RunLimits()
    deadline_s: float = Field(default=600, gt=0, le=LONGEST_S, allow_inf_nan=False)
    """From the start of the run."""
    record_ttl_s: float | None = Field(default=None, gt=0, le=2 * LONGEST_S, allow_inf_nan=False)
    """From the start of the run; None: deadline + 7 days."""
    owner: str = Field(default="", max_length=200)
    """Who asked; for people and the search attribute."""
    search_attributes: tuple[str, ...] = ()
    """Those of casebound's search attributes that the server knows; no others are written."""

    @property
    def ttl_s(self) -> float:
        """How long records live, from the start of the run."""
        return self.deadline_s + RECORD_TTL_DEFAULT_S if self.record_ttl_s is None else self.record_ttl_s

    @model_validator(mode="after")
    def _evidence_outlives_the_report(self) -> Self:
        least = self.deadline_s + RECORD_TTL_MARGIN_S
        if self.ttl_s < least:
            raise ValueError(f"record_ttl of {self.ttl_s:g} s is too short: deadline + margin is {least:g} s")
        size = len((self.runbook or "").encode("utf-8", "surrogatepass"))
        if size > RUNBOOK_MAX_BYTES:
            raise ValueError(f"the runbook has {size} bytes, the limit is {RUNBOOK_MAX_BYTES}")
        return self


class ToolLimits(Frozen):
    """What admission needs of one tool; from history, so a tool removed later still replays."""

    timeout_ms: int = 60_000
    attempts: int = 3
    max_calls: int | None = None


class OfRun(Frozen):
    """Base of activity inputs: names the run."""

    run_id: str = ""
    """Empty: the run id of the calling execution, which is the first of its chain (`heartbeat.of_run`)."""


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


class CallResult(Frozen):
    """What became of one requested call of the last turn."""

    tool_call_id: str | None = None
    """Not sent: its place tells which call it is of. A planner's view fills it in where the id is legal."""
    status: InvocationStatus = InvocationStatus.READY
    evidence_status: EvidenceStatus = EvidenceStatus.EVIDENCE_FOUND
    error: CallError | None = None
    stored: bool = True
    """False: there is no record of the call, and `error` is all there is."""

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


class Usage(Frozen):
    """One line of the budget."""

    used: int
    limit: int | None = None


class RunBudget(Frozen):
    """What a run used of what it had."""

    tool_calls: Usage
    turns: Usage
    run_bytes: Usage
    tokens: Usage


class FailedCall(Frozen):
    """A call that failed or was refused: what could not be checked."""

    tool_call_id: str | None = None
    tool_name: str
    error: CallError


class ListedCall(Frozen):
    """A call as an INCONCLUSIVE report of the workflow itself lists it."""

    tool_call_id: str
    tool_name: str
    status: InvocationStatus
    evidence_status: EvidenceStatus


class RunResult(Frozen):
    """The workflow's result: the report and how the run went. Outlives the store's TTL."""

    run_id: str
    question: str
    outcome: RunOutcome
    verdict: Verdict
    claims: tuple[CheckedClaim, ...] = ()
    could_not_check: tuple[FailedCall, ...] = ()
    """At most 200, in call order."""
    could_not_check_more: int = 0
    """Failed calls beyond those listed."""
    calls: tuple[ListedCall, ...] = ()
    """Only where no report could be had: the run's admitted calls, at most 200."""
    unsettled: int = 0
    """Records that may still be PROJECTING because the store was not reachable."""
    detail: str = ""
    """Why the run ended so, in one sentence, where the outcome alone does not say it."""
    budget: RunBudget
    started_at_ms: int
    ended_at_ms: int


class CloseRunInput(Frozen):
    """Asks to write the run's summary to the store, so that `show` needs no worker."""

    result: RunResult


class RunProgress(Frozen):
    """Answer of the `progress` query."""

    run_id: str
    state: Literal["opening", "planning", "calling", "checking", "closing", "closed"]
    mode: TurnMode = TurnMode.PLAN
    turn: int = 0
    calls: tuple[CallProgress, ...] = ()
    """The latest calls, at most 20, oldest first."""
    calls_total: int = 0
    budget: RunBudget
    deadline_ms: int


class CallProgress(Frozen):
    """One line of live progress."""

    call_index: int | None = None
    """None: refused at admission."""
    tool_call_id: str | None = None
    tool_name: str
    arguments: str = ""
    """Shortened for people."""
    state: Literal["running", "READY", "ERROR", "refused"]
    evidence_status: EvidenceStatus | None = None
    error: CallError | None = None
    preview: str = ""


class StopInput(Frozen):
    """Argument of the `stop` update."""

    reason: str = Field(default="", max_length=500)


class StopResult(Frozen):
    """Answer of the `stop` update."""

    state: str
    """What the run was doing when it was told."""


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


class CatalogEntry(Frozen):
    """A tool as a planner sees it; stored in the run's brief, not in the history."""

    name: str
    description: str
    arguments_schema: JsonObject
    result_schema: JsonObject
    limits: ToolLimits = ToolLimits()


RunProgress.model_rebuild()
