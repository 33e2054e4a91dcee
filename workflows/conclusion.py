"""When a run stops gathering, and what its end looks like. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from activities.contracts import RunOutcome

RESERVE_SHARE = 0.1
RESERVE_MIN_MS = 30_000
"""Kept free of the deadline for the concluding turn: 10 %, at least 30 s, at most half (design)."""

LAST_MOMENT_MS = 1_000
"""A call cut off this close to the end of the gathering was its last: another would have no time to do anything."""

LISTED_MAX = 200
"""Calls listed in a result; it has to stay far below Temporal's 2 MiB payload."""


def gather_until_ms(started_ms: int, deadline_ms: int) -> int:
    """Until when calls and planning turns may run; from then on the run concludes."""
    span = deadline_ms - started_ms
    reserve = min(max(round(span * RESERVE_SHARE), RESERVE_MIN_MS), span // 2)
    return deadline_ms - reserve


@dataclass(frozen=True)
class Conclusion:
    """Why the run stops gathering."""

    outcome: RunOutcome
    detail: str = ""
    fallback: bool = False
    """No concluding turn can help: the workflow publishes an INCONCLUSIVE report itself."""


def due(*, cancelled: bool, stopped: str | None, late: bool, spent: str | None) -> Conclusion | None:
    """Say whether the run has to conclude now; the first reason in this order wins."""
    if cancelled:
        return Conclusion(RunOutcome.CANCELLED, "the run was cancelled", fallback=True)
    if stopped is not None:
        return Conclusion(RunOutcome.STOPPED, stopped or "someone asked the run to conclude")
    if late:
        return Conclusion(RunOutcome.DEADLINE_EXCEEDED, "the time for gathering evidence was over")
    if spent is not None:
        return Conclusion(RunOutcome.BUDGET_EXHAUSTED, spent)
    return None
