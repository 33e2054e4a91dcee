"""What a worker remembers of runs it plans for: turns and settled results, which never change once stored.

Above: `planning` gives planners their view of a run through it. Below: `RunIndex` and `InvocationStore`.
A turn costs the store what is new, not all that came before, so a run of many turns costs in proportion
to its turns. It is no source of truth: what it does not hold, or may hold no more, is read from the
store, each turn asks the store whether the run is still there, and EvidenceGuard reads nothing here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from activities.stored import StoredTurn, read_stored
from boundary.contracts import ToolBoundaryResult
from boundary.errors import RecordExpired
from boundary.run_index import CHAIN_MAX_BYTES, RunIndex
from boundary.store import InvocationStore, StoredInvocation

MEMORY_MAX_BYTES = 64 * 1024 * 1024
"""Of JSON, all runs of a worker together; the run used least lately is forgotten first."""


@dataclass
class _Run:
    """What is remembered of one run."""

    turns: dict[str, StoredTurn] = field(default_factory=dict[str, StoredTurn])
    """By turn key. Whether the index is still there is asked of the store in each turn."""
    results: dict[str, tuple[StoredInvocation, int]] = field(default_factory=dict[str, tuple[StoredInvocation, int]])
    """By tool call id, each with when it expires: from then on it does not exist, as in the store."""
    latest: str | None = None
    """Key of the latest turn."""
    bytes: int = 0


class RunMemory:
    """Reads turns and results, and remembers them."""

    def __init__(self, runs: RunIndex, store: InvocationStore, *, max_bytes: int = MEMORY_MAX_BYTES) -> None:
        self._runs = runs
        self._store = store
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, _Run] = OrderedDict()
        """By run id, the one used least lately first."""

    def forget(self, run_id: str) -> None:
        """Forget a run that needs no more turns."""
        self._kept.pop(run_id, None)

    async def turns(self, run_id: str, turn_key: str, *, now_ms: int) -> list[StoredTurn]:
        """Give the turn and its ancestors, oldest first, in one round trip; two where something was forgotten.

        Raises:
            RecordExpired: the run's index, or a turn of it, has expired or was lost.
            StoreUnavailable: the store did not answer.
        """
        fresh = await self._read(run_id, turn_key, self._run(run_id).latest, now_ms)
        older = self._remembered(run_id, fresh[0].input.parent if fresh else turn_key)
        if older is None:
            older, fresh = [], await self._read(run_id, turn_key, None, now_ms)
        self._run(run_id).latest = turn_key
        self._bound()
        return older + fresh

    async def results(self, run_id: str, tool_call_ids: Sequence[str], *, now_ms: int) -> dict[str, ToolBoundaryResult]:
        """Give what the agent may see of settled calls; ids without a settled record are left out.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        known = {call_id: self._result(run_id, call_id, now_ms) for call_id in tool_call_ids}
        missing = [call_id for call_id, stored in known.items() if stored is None]
        for call_id, stored in (await self._store.read(run_id, missing, now_ms=now_ms)).items():
            if stored.record.settled:
                known[call_id] = stored
                expires_at_ms = round(stored.record.expires_at.timestamp() * 1000)
                run = self._run(run_id)
                run.results[call_id] = (stored, expires_at_ms)
                run.bytes += len(stored.encoded) + len(stored.agent_result or b"")
        self._bound()
        # Read anew each time: a planner may do with its view what it likes.
        return {call_id: stored.agent_view() for call_id, stored in known.items() if stored is not None}

    async def _read(self, run_id: str, turn_key: str, until: str | None, now_ms: int) -> list[StoredTurn]:
        rows = await self._runs.chain(run_id, turn_key, now_ms=now_ms, until=until)
        turns = [read_stored(StoredTurn, row) for row in rows]
        before = turns[0].input.parent if turns else turn_key
        if before not in (None, until) and sum(len(row) for row in rows) <= CHAIN_MAX_BYTES:
            raise RecordExpired(f"turn {before!r} of run {run_id!r} was lost")
        run = self._run(run_id)
        run.turns.update((turn.turn.turn_key, turn) for turn in turns)
        run.bytes += sum(len(row) for row in rows)
        return turns

    def _remembered(self, run_id: str, turn_key: str | None) -> list[StoredTurn] | None:
        """Follow the parents through what is remembered, oldest first; None: one was forgotten."""
        turns, found = self._run(run_id).turns, list[StoredTurn]()
        while turn_key is not None:
            if turn_key not in turns:
                return None
            found.append(turns[turn_key])
            turn_key = found[-1].input.parent
        return found[::-1]

    def _result(self, run_id: str, call_id: str, now_ms: int) -> StoredInvocation | None:
        stored, expires_at_ms = self._run(run_id).results.get(call_id, (None, 0))
        return stored if now_ms < expires_at_ms else None

    def _run(self, run_id: str) -> _Run:
        run = self._kept.setdefault(run_id, _Run())
        self._kept.move_to_end(run_id)
        return run

    def _bound(self) -> None:
        while sum(run.bytes for run in self._kept.values()) > self._max_bytes:
            self._kept.popitem(last=False)
