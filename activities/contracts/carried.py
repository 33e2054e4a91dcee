"""What a run carries into its next execution: bounded, whatever the run has done so far.

A call takes at most 150 bytes: 12 for its id, 64 for its record's digest. Texts stand here only of
what is still to be told: the latest turn's results, pending notes, the lines of the result's lists.
"""

from __future__ import annotations

from pydantic import Field

from activities.contracts.runs import FailedCall, ListedCall, ToolLimits
from activities.contracts.steering import CallProgress
from activities.contracts.turns import CallResult
from boundary.contracts import EvidenceStatus, Frozen


class RecentCall(Frozen):
    """A READY call that must not be made again soon."""

    tool_call_id: str
    ready_ms: int
    evidence_status: EvidenceStatus = EvidenceStatus.EVIDENCE_FOUND
    repeated: bool = False
    """It was asked again, and the answer was to cite this call."""


class SpentBudget(Frozen):
    """The ledger's counters."""

    tool_calls: int = 0
    turns: int = 0
    run_bytes: int = 0
    tokens: int = 0
    by_tool: dict[str, int] = Field(default_factory=dict)


class CarriedRun(Frozen):
    """The state of a run between two turns, with no activity and no handler open."""

    executions: int
    """Executions of the chain before this one."""
    started_ms: int
    """Of the chain's first execution: deadlines and expiries count from there."""
    extended_ms: int = 0
    index_expires_ms: int | None = None
    runbook_sha256: str | None = None
    """Of the runbook text, which stands in the run's brief."""
    tools: dict[str, ToolLimits] = Field(default_factory=dict)
    store_id: str = ""
    turn: int = 0
    parent: str | None = None
    results: tuple[CallResult, ...] = ()
    notes: tuple[str, ...] = ()
    cut_off: bool = False
    spent: str | None = None
    budget: SpentBudget = SpentBudget()
    calls: tuple[str, ...] = ()
    """One for each admitted call: the mark of its id and, once it is settled, the digest of its record."""
    refused: str = ""
    """Marks of refused ids, side by side; the latest `REFUSED_MAX`."""
    recent: dict[str, RecentCall] = Field(default_factory=dict)
    listed: tuple[ListedCall, ...] = ()
    failed: tuple[FailedCall, ...] = ()
    failed_more: int = 0
    unsettled: int = 0
    shown: tuple[CallProgress, ...] = ()
