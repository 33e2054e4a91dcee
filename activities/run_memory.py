"""What a worker remembers of runs it plans for: turns and settled results, which never change once stored.

Above: `planning` gives planners their view of a run through it. Below: `RunIndex` and `InvocationStore`.
A turn costs the store what is new, not all that came before, so a run of many turns costs in proportion
to its turns. It is no source of truth: what it does not hold, or may hold no more, is read from the
store, each turn asks the store whether the run is still there, and EvidenceGuard reads nothing here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from activities.stored import StoredTurn, read_stored
from boundary.contracts import ToolBoundaryResult
from boundary.errors import RecordExpired
from boundary.run_index import CHAIN_MAX_BYTES, RunIndex
from boundary.store import InvocationStore, StoredInvocation

MEMORY_MAX_BYTES = 64 * 1024 * 1024
"""Of JSON, all runs of a worker together; what was used least lately is forgotten first."""

_Key = tuple[str, str, str]
"""Kind, run id, turn key or tool call id."""


@dataclass(frozen=True)
class _Kept:
    value: StoredTurn | StoredInvocation
    bytes: int
    expires_at_ms: int
    """From then on it does not exist, as in the store. 0: the index's own expiry was checked by the read."""


class RunMemory:
    """Reads turns and results, and remembers them."""

    def __init__(self, runs: RunIndex, store: InvocationStore, *, max_bytes: int = MEMORY_MAX_BYTES) -> None:
        self._runs = runs
        self._store = store
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._latest: OrderedDict[str, str] = OrderedDict()
        """Key of the latest turn remembered of each run."""

    async def turns(self, run_id: str, turn_key: str, *, now_ms: int) -> list[StoredTurn]:
        """Give the turn and its ancestors, oldest first, in one round trip; two where something was forgotten.

        Raises:
            RecordExpired: the run's index, or a turn of it, has expired or was lost.
            StoreUnavailable: the store did not answer.
        """
        until = self._latest.get(run_id)
        fresh = await self._read(run_id, turn_key, until, now_ms)
        older = self._remembered(run_id, fresh[0].input.parent if fresh else turn_key)
        if older is None:
            older, fresh = [], await self._read(run_id, turn_key, None, now_ms)
        self._latest[run_id] = turn_key
        self._latest.move_to_end(run_id)
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
                size = len(stored.encoded) + len(stored.agent_result or b"")
                self._keep(("result", run_id, call_id), _Kept(stored, size, expires_at_ms))
        # Read anew each time: a planner may do with its view what it likes.
        return {call_id: stored.agent_view() for call_id, stored in known.items() if stored is not None}

    async def _read(self, run_id: str, turn_key: str, until: str | None, now_ms: int) -> list[StoredTurn]:
        rows = await self._runs.chain(run_id, turn_key, now_ms=now_ms, until=until)
        turns = [read_stored(StoredTurn, row) for row in rows]
        before = turns[0].input.parent if turns else turn_key
        if before not in (None, until) and sum(len(row) for row in rows) <= CHAIN_MAX_BYTES:
            raise RecordExpired(f"turn {before!r} of run {run_id!r} was lost")
        for turn, row in zip(turns, rows, strict=True):
            self._keep(("turn", run_id, turn.turn.turn_key), _Kept(turn, len(row), 0))
        return turns

    def _remembered(self, run_id: str, turn_key: str | None) -> list[StoredTurn] | None:
        """Follow the parents through what is remembered, oldest first; None: one was forgotten."""
        found: list[StoredTurn] = []
        while turn_key is not None:
            kept = self._kept.get(("turn", run_id, turn_key))
            if kept is None or not isinstance(kept.value, StoredTurn):
                return None
            self._kept.move_to_end(("turn", run_id, turn_key))
            found.append(kept.value)
            turn_key = kept.value.input.parent
        return found[::-1]

    def _result(self, run_id: str, call_id: str, now_ms: int) -> StoredInvocation | None:
        kept = self._kept.get(("result", run_id, call_id))
        if kept is None or kept.expires_at_ms <= now_ms or not isinstance(kept.value, StoredInvocation):
            return None
        self._kept.move_to_end(("result", run_id, call_id))
        return kept.value

    def _keep(self, key: _Key, kept: _Kept) -> None:
        before = self._kept.pop(key, None)
        self._bytes += kept.bytes - (before.bytes if before is not None else 0)
        self._kept[key] = kept
        while self._bytes > self._max_bytes:
            (_, run_id, _), dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.bytes
            self._latest.pop(run_id, None)
