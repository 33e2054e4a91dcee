"""Whether a run can be steered now, and why not. Pure; a refusal never enters the history."""

from __future__ import annotations

from activities.contracts import NOTES_PENDING_MAX, RECORD_TTL_MARGIN_S, TurnMode
from workflows.run_state import RunState


def stop_refusal(state: RunState) -> str | None:
    """Say why the run cannot be asked to conclude, or None."""
    if state.cancelled or state.phase in ("closing", "closed"):
        return f"the run is {'cancelled' if state.cancelled else state.phase} already; there is nothing to stop"
    if state.stopped is not None:
        return "the run was asked to conclude already"
    return None


def pause_refusal(state: RunState, now_ms: int) -> str | None:
    """Say why the run cannot be paused, or None."""
    if state.paused is not None:
        return "the run is paused already; `casebound resume` lets it go on"
    return _too_late(state, now_ms, "paused")


def resume_refusal(state: RunState) -> str | None:
    """Say why the run cannot go on, or None."""
    return None if state.paused is not None else "the run is not paused; there is nothing to resume"


def extend_refusal(state: RunState, now_ms: int, by_ms: int) -> str | None:
    """Say why the deadline cannot move by so much, or None."""
    late = _too_late(state, now_ms, "extended")
    if late is not None:
        return late
    most = max(state.latest_ms - state.deadline_ms, 0) // 1000
    if by_ms > most * 1000:
        possible = f"it can move by {most} s at most" if most else "it cannot move any more"
        return (
            f"the evidence expires {(state.expires_ms - state.started_ms) // 1000} s after the start and outlives the "
            f"deadline by {RECORD_TTL_MARGIN_S} s: {possible}"
        )
    return None


def note_refusal(state: RunState, now_ms: int, text: str) -> str | None:
    """Say why the planner cannot be given the note, or None."""
    if not text.strip():
        return "the note is empty"
    if len(state.notes) >= NOTES_PENDING_MAX:
        return f"{NOTES_PENDING_MAX} notes wait for the planner's next turn already"
    return _too_late(state, now_ms, "given notes")


def _too_late(state: RunState, now_ms: int, what: str) -> str | None:
    """Say that the run gathers no evidence any more, or None."""
    if state.cancelled:
        why = "it was cancelled"
    elif state.stopped is not None:
        why = "it was asked to conclude"
    elif state.phase in ("closing", "closed"):
        why = f"it is {state.phase}"
    elif state.mode is not TurnMode.PLAN or state.phase == "checking":
        why = "its report is being made"
    elif now_ms >= state.gather_ms:
        why = "its time for gathering is over"
    else:
        return None
    return f"the run cannot be {what} any more: {why}"
