"""Takes a run's state over into its next execution, and back. Pure.

Above: `agent_run` continues as new between two turns; a paused run does not. Below: `RunState` and its
carried form. What is not carried is not needed: old calls are in the store, and their marks say the rest.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from activities.contracts import CarriedRun, RunInput, SpentBudget
from workflows.budget import Ledger
from workflows.marks import MARK_CHARS
from workflows.recent_calls import RecentCalls
from workflows.run_state import RunState

REFUSED_MAX = 5000
"""Refused ids that are remembered over executions: 60 KB of the 2 MiB a workflow's input may have."""


def next_input(state: RunState) -> RunInput:
    """Make the input of the run's next execution."""
    runbook = state.input.runbook
    before = state.input.carried
    ledger = state.ledger
    # Sorted: a set's order differs from process to process, and a replay must say the same.
    refused = sorted(state.seen - state.digests.keys())[-REFUSED_MAX:]
    carried = CarriedRun(
        executions=before.executions + 1 if before is not None else 1,
        started_ms=state.started_ms,
        extended_ms=state.extended_ms,
        index_expires_ms=state.index_expires_ms,
        runbook_sha256=before.runbook_sha256 if before is not None else _sha256(runbook),
        tools=state.tools,
        store_id=state.store_id,
        turn=state.turn,
        parent=state.parent,
        results=state.results,
        notes=tuple(state.notes),
        cut_off=state.cut_off,
        spent=state.spent,
        budget=SpentBudget(
            tool_calls=ledger.tool_calls,
            turns=ledger.turns,
            run_bytes=ledger.run_bytes,
            tokens=ledger.tokens,
            by_tool=dict(ledger.by_tool),
        ),
        calls=tuple(f"{mark} {digest}" if digest else mark for mark, digest in state.digests.items()),
        refused="".join(refused),
        recent=state.recent.calls,
        listed=tuple(state.listed),
        failed=tuple(state.failed),
        failed_more=state.failed_more,
        unsettled=state.unsettled,
        shown=tuple(state.shown),
    )
    return state.input.model_copy(update={"runbook": None, "carried": carried})


def take_over(state: RunState, carried: CarriedRun) -> None:
    """Put a fresh state where the execution before left off."""
    state.started_ms = carried.started_ms
    state.extended_ms = carried.extended_ms
    state.index_expires_ms = carried.index_expires_ms
    state.tools, state.store_id = dict(carried.tools), carried.store_id
    state.turn, state.parent, state.results = carried.turn, carried.parent, carried.results
    state.notes = list(carried.notes)
    state.cut_off, state.spent = carried.cut_off, carried.spent
    state.ledger = _ledger(state.ledger, carried.budget)
    state.digests = dict(_call(line) for line in carried.calls)
    state.seen = state.digests.keys() | set(_marks(carried.refused))
    state.recent = RecentCalls(dict(carried.recent))
    state.listed, state.failed = list(carried.listed), list(carried.failed)
    state.failed_more, state.unsettled = carried.failed_more, carried.unsettled
    state.shown.extend(carried.shown)
    state.phase = "planning"


def _ledger(fresh: Ledger, spent: SpentBudget) -> Ledger:
    return Ledger(
        fresh.limits,
        tool_calls=spent.tool_calls,
        turns=spent.turns,
        run_bytes=spent.run_bytes,
        tokens=spent.tokens,
        by_tool=Counter(spent.by_tool),
    )


def _call(line: str) -> tuple[str, str | None]:
    mark, _, digest = line.partition(" ")
    return mark, digest or None


def _marks(joined: str) -> list[str]:
    return [joined[place : place + MARK_CHARS] for place in range(0, len(joined), MARK_CHARS)]


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
