"""A run: what it is asked, what it may use, how it ended.

RunInput is the workflow's one argument, RunResult its result.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from boundary.contracts import CallError, EvidenceStatus, Frozen, InvocationStatus
from boundary.limits import MIB, MIN_RECORD_BYTES
from boundary.report import CheckedClaim, Verdict

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
    repeat_window_s: float = Field(default=600, ge=0, le=LONGEST_S, allow_inf_nan=False)
    """For so long a READY call is not made again: the same call is answered by naming it; 0: it is made."""
    preview_chars: int = Field(default=300, ge=0, le=500)


class PlannerRef(Frozen):
    """Which planner decides; its credentials are the worker's environment."""

    kind: str = "runbook"
    """A planner the worker has: `runbook`, or a name given to it in tests."""
    name: str = ""
    """Of the runbook or model; for people."""


class ToolLimits(Frozen):
    """What admission needs of one tool; from history, so a tool removed later still replays."""

    timeout_ms: int = 60_000
    attempts: int = 3
    max_calls: int | None = None
    task_queue: str | None = None
    """Whose workers run the tool; None: those that serve the run."""


class OfRun(Frozen):
    """Base of activity inputs: names the run."""

    run_id: str = ""
    """Empty: the run id of the calling execution, which is the first of its chain (`heartbeat.of_run`)."""


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
