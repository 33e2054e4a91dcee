"""A run's index: its brief, its turns and its summary, in one hash beside the records.

Above: the internal activities write it, planners and `casebound show` read it. Below: a
`Backend`. Everything in it is written once; the key gets its TTL with the brief and nothing
extends it. It holds bytes: the models are `activities.stored`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from boundary.backend import Backend, Existing, Expired
from boundary.errors import RecordExpired
from boundary.ids import is_run_id
from boundary.keys import ToolCallKeyFactory

CHAIN_MAX_BYTES = 32 * 1024 * 1024
"""Turns read at once; a planner that needs more of its past than this would not fit it anywhere."""


@dataclass(frozen=True)
class IndexedRun:
    """All a run's index holds."""

    brief: bytes
    turns: dict[str, bytes] = field(default_factory=dict)
    """By turn key."""
    summary: bytes | None = None


class RunIndex:
    """Reads and writes the index of runs."""

    def __init__(self, backend: Backend, keys: ToolCallKeyFactory) -> None:
        self._backend = backend
        self._keys = keys

    async def open(self, run_id: str, brief: bytes, *, expires_at_ms: int, now_ms: int) -> bytes:
        """Store the brief with the index's TTL, or return the one that is there.

        Raises:
            RecordExpired: the index has expired, or would at once.
            StoreUnavailable: the store did not answer.
        """
        answer = await self._backend.create(
            self._keys.run(run_id), {"brief": brief}, identity="brief", expires_at_ms=expires_at_ms, now_ms=now_ms
        )
        if isinstance(answer, Expired):
            raise RecordExpired(f"the index of run {run_id!r} has expired")
        return answer.value if isinstance(answer, Existing) else brief

    async def put_turn(self, run_id: str, turn_key: str, parent: str | None, turn: bytes, *, now_ms: int) -> bytes:
        """Store the turn unless its key is there; return the stored one. Same errors as `open`."""
        fields = {f"turn:{turn_key}": turn, f"parent:{turn_key}": (parent or "").encode()}
        return await self._put(run_id, f"turn:{turn_key}", fields, now_ms)

    async def put_summary(self, run_id: str, summary: bytes, *, now_ms: int) -> bytes:
        """Store the summary unless there is one; return the stored one. Same errors as `open`."""
        return await self._put(run_id, "summary", {"summary": summary}, now_ms)

    async def turn(self, run_id: str, turn_key: str, *, now_ms: int) -> tuple[bytes, bytes | None]:
        """Read the brief and one turn (None: not there). Raises RecordExpired without an index or its brief."""
        field_name = f"turn:{turn_key}"
        [row] = await self._backend.read([self._keys.run(run_id)], ["brief", field_name], now_ms=now_ms)
        if row is None or "brief" not in row:
            raise RecordExpired(f"the index of run {run_id!r} has expired or was lost")
        return row["brief"], row.get(field_name)

    async def chain(self, run_id: str, turn_key: str, *, now_ms: int, until: str | None = None) -> list[bytes]:
        """Read the turn and its ancestors in one round trip, oldest first; those from `until` on are left out.

        Raises:
            RecordExpired: the index has expired or was lost.
            StoreUnavailable: the store did not answer.
        """
        found = await self._backend.chain(
            self._keys.run(run_id), start=turn_key, until=until or "", max_bytes=CHAIN_MAX_BYTES, now_ms=now_ms
        )
        if found is None:
            raise RecordExpired(f"the index of run {run_id!r} has expired or was lost")
        return found[::-1]

    async def read(self, run_id: str, *, now_ms: int) -> IndexedRun | None:
        """Read everything; None when the index has expired or never was."""
        held = await self._backend.read_all(self._keys.run(run_id), now_ms=now_ms)
        if held is None or "brief" not in held:
            return None
        turns = {name.removeprefix("turn:"): value for name, value in held.items() if name.startswith("turn:")}
        return IndexedRun(held["brief"], turns, held.get("summary"))

    async def ids(self) -> list[str]:
        """List the runs that have an index, by walking over the store's keys; some may have expired meanwhile."""
        head = self._keys.run("0").removesuffix("0")
        named = [key.removeprefix(head) for key in await self._backend.keys_with(head)]
        return sorted(run_id for run_id in named if is_run_id(run_id))

    async def _put(self, run_id: str, identity: str, fields: dict[str, bytes], now_ms: int) -> bytes:
        answer = await self._backend.put(self._keys.run(run_id), fields, identity=identity, now_ms=now_ms)
        if isinstance(answer, Expired):
            raise RecordExpired(f"the index of run {run_id!r} has expired or was lost")
        return answer.value if isinstance(answer, Existing) else fields[identity]
