"""What people see of a running run, and how they steer it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from activities.contracts.runs import RunBudget
from activities.contracts.turns import TurnMode
from boundary.contracts import CallError, EvidenceStatus, Frozen


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


class StopInput(Frozen):
    """Argument of the `stop` update."""

    reason: str = Field(default="", max_length=500)


class StopResult(Frozen):
    """Answer of the `stop` update."""

    state: str
    """What the run was doing when it was told."""
