"""What people see of a running run, and how they steer it: the workflow's query and its updates."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from activities.contracts.runs import LONGEST_S, RunBudget
from activities.contracts.turns import TurnMode
from boundary.contracts import CallError, EvidenceStatus, Frozen

NOTE_MAX = 2000
"""Characters of one note; it stands in the history twice, as update and as the next turn's input."""

NOTES_PENDING_MAX = 20
"""Notes that wait for the planner's next turn."""

REASON_MAX = 500
"""Characters of a reason."""


class CallProgress(Frozen):
    """One line of live progress."""

    call_index: int | None = None
    """None: not admitted."""
    tool_call_id: str | None = None
    tool_name: str
    arguments: str = ""
    """Shortened for people."""
    state: Literal["running", "READY", "ERROR", "refused", "repeated"]
    evidence_status: EvidenceStatus | None = None
    error: CallError | None = None
    preview: str = ""


class Pause(Frozen):
    """Since when and why a run starts no new calls."""

    since_ms: int
    by: str = ""
    reason: str = ""


class RunProgress(Frozen):
    """Answer of the `progress` query."""

    run_id: str
    state: Literal["opening", "planning", "calling", "checking", "closing", "closed"]
    mode: TurnMode = TurnMode.PLAN
    turn: int = 0
    calls: tuple[CallProgress, ...] = ()
    """The latest calls, at most 20, oldest first."""
    calls_total: int = 0
    calls_running: int = 0
    budget: RunBudget
    deadline_ms: int
    paused: Pause | None = None
    """Running calls end, no new one starts; the deadline runs on."""
    notes_pending: int = 0
    """Notes the planner gets with its next turn."""


class Steering(Frozen):
    """Base of every update's argument."""

    by: str = Field(default="", max_length=200)
    """Who steers; for people."""


class StopInput(Steering):
    """Argument of the `stop` update."""

    reason: str = Field(default="", max_length=REASON_MAX)


class StopResult(Frozen):
    """Answer of the `stop` update."""

    state: str
    """What the run was doing when it was told."""


class PauseInput(Steering):
    """Argument of the `pause` update."""

    reason: str = Field(default="", max_length=REASON_MAX)


class PauseResult(Frozen):
    """Answer of the `pause` update."""

    calls_running: int
    """They end as they would have."""
    gather_until_ms: int
    """Then the run concludes, paused or not."""


class ResumeInput(Steering):
    """Argument of the `resume` update."""


class ResumeResult(Frozen):
    """Answer of the `resume` update."""

    paused_ms: int
    """How long it was paused."""
    gather_until_ms: int


class ExtendInput(Steering):
    """Argument of the `extend` update."""

    seconds: float = Field(gt=0, le=LONGEST_S, allow_inf_nan=False)
    """By how much the deadline moves."""


class ExtendResult(Frozen):
    """Answer of the `extend` update."""

    deadline_ms: int
    gather_until_ms: int
    latest_ms: int
    """No extension can move the deadline past this: the evidence has to outlive the report."""


class NoteInput(Steering):
    """Argument of the `note` update."""

    text: str = Field(min_length=1, max_length=NOTE_MAX)
    """A hint for the planner."""


class NoteResult(Frozen):
    """Answer of the `note` update."""

    notes_pending: int
    """This one among them."""
    turn: int
    """The next turn, which is given them."""


RunProgress.model_rebuild()
