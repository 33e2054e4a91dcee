"""The store of canonical records: ownership and lifecycle, once, over any backend.

Above: `tool_boundary` and the finalizer begin and settle calls, EvidenceGuard and `show` read
them. Below: a `Backend`. The rules of a record's life are `record`'s; what happens when two
attempts meet is decided here, with the backend's compare-and-set as the only arbiter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from boundary.backend import Backend, Created, Existing, Expired, Replaced
from boundary.contracts import (
    AdmittedCall,
    CallError,
    EvidenceStatus,
    InvocationStatus,
    ToolBoundaryResult,
    ToolCallOutcome,
    call_error,
    shorten,
)
from boundary.errors import (
    DuplicateToolCallId,
    ErrorCode,
    RecordExpired,
    RunMismatch,
    StaleAttempt,
    StoreUnavailable,
)
from boundary.keys import ToolCallKeyFactory
from boundary.limits import MAX_LOST_OWNERS, REQUEST_MAX_BYTES
from boundary.record import (
    CanonicalInvocation,
    Failed,
    Settlement,
    decode,
    encode,
    failed_once,
    new_record,
    settled,
    sha256_hex,
    taken_over,
)
from boundary.strict_json import load

IDENTITY = "record"
_ALTERED = "the stored result is not the one that was recorded, by its digest: what was recorded is gone; ask again"
TAKE_OVER_TRIES = 20
"""Lost compare-and-sets in a row before an attempt gives way to Temporal's retry."""


@dataclass(frozen=True)
class StoredInvocation:
    """A record as it is stored, with the bodies that were asked for."""

    record: CanonicalInvocation
    encoded: bytes
    """The `record` field, byte for byte: what `replace` must be given and history's digest is of."""
    raw: bytes | None = None
    agent_result: bytes | None = None
    altered: bool = False
    """A body that was asked for is not the one of the record, by its digest, and was left out."""

    @property
    def bytes(self) -> int:
        """Bytes charged to the run: record, and the bodies that are kept."""
        return len(self.encoded) + self.record.sizes.kept

    def outcome(self, preview_chars: int) -> ToolCallOutcome:
        """Say what the history may hold of the settled call."""
        record, text = self.record, (self.agent_result or b"").decode()
        return ToolCallOutcome(
            status=record.status,
            evidence_status=record.evidence_status,
            error=record.error,
            record_sha256=sha256_hex(self.encoded),
            record_bytes=self.bytes,
            raw_bytes=record.sizes.raw or 0,
            agent_result_bytes=record.sizes.agent_result or 0,
            executions=record.executions,
            truncated=record.truncated,
            preview=shorten(text, preview_chars) if preview_chars else "",
        )

    def agent_view(self) -> ToolBoundaryResult:
        """Say what the agent may see of the settled call."""
        record, error = self.record, self.record.error
        if self.altered:
            error = call_error(ErrorCode.RECORD_EXPIRED, _ALTERED)
        return ToolBoundaryResult(
            tool_call_id=record.tool_call_id,
            tool_name=record.tool_name,
            status=InvocationStatus.ERROR if self.altered else record.status,
            evidence_status=EvidenceStatus.ERROR if self.altered else record.evidence_status,
            error=error,
            agent_result=load(self.agent_result) if self.agent_result is not None else None,
            truncated=record.truncated,
        )


@dataclass(frozen=True)
class Owned:
    """The attempt owns the PROJECTING record and must execute and settle."""

    held: StoredInvocation


@dataclass(frozen=True)
class Settled:
    """The call has its outcome; nothing is to be executed."""

    stored: StoredInvocation


class InvocationStore:
    """Begins, settles and reads canonical records."""

    def __init__(
        self, backend: Backend, keys: ToolCallKeyFactory, *, max_request_bytes: int = REQUEST_MAX_BYTES
    ) -> None:
        self._backend = backend
        self._keys = keys
        self._max_request_bytes = max_request_bytes

    async def begin(
        self, call: AdmittedCall, *, nonce: str, now_ms: int, verdict: CallError | None = None
    ) -> Owned | Settled:
        """Create the record, take it over, or return the stored outcome.

        A stored outcome of the same call wins over a failed `verdict`; else the verdict settles it ERROR.

        Raises:
            DuplicateToolCallId, RunMismatch: the key belongs to another call or run.
            RecordExpired: the record, or the time to live of a new one, is over.
            StaleAttempt: other attempts kept taking the record over.
            StoreUnavailable: the store did not answer.
        """
        fresh = new_record(call, nonce=nonce, now_ms=now_ms, max_request_bytes=self._max_request_bytes)
        if verdict is not None:
            fresh = settled(fresh.model_copy(update={"executions": 0}), Failed(verdict), now_ms=now_ms)
        for _ in range(TAKE_OVER_TRIES):
            answer = await self._create(fresh, now_ms)
            if isinstance(answer, Created):
                return _begun(StoredInvocation(fresh, encode(fresh)))
            if isinstance(answer, Expired):
                raise RecordExpired(f"the record of {call.tool_call_id!r} has expired")
            begun = await self._meet(fresh, answer.value, verdict, now_ms)
            if begun is not None:
                return begun
        raise StaleAttempt(f"other attempts keep taking {call.tool_call_id!r} over")

    async def settle(self, held: StoredInvocation, settlement: Settlement, *, now_ms: int) -> StoredInvocation:
        """Settle the record this attempt owns. Given the same arguments again it answers the same.

        Raises:
            StaleAttempt: another attempt owns the record now, and it is not settled.
            RecordExpired: its time to live is over.
            StoreUnavailable: the store did not answer; the record may be settled.
        """
        done = _settled_bytes(held, settlement, now_ms)
        answer = await self._replace(held, {IDENTITY: done.encoded, **settlement.kept}, now_ms)
        if isinstance(answer, Replaced) or answer.value == done.encoded:
            return done
        return await self._other_outcome(held.record, answer.value, now_ms)

    def size_of(self, held: StoredInvocation, settlement: Settlement, *, now_ms: int) -> int:
        """Bytes the record and its kept bodies will have when settled so."""
        return _settled_bytes(held, settlement, now_ms).bytes

    async def count_failure(self, held: StoredInvocation, *, now_ms: int) -> StoredInvocation:
        """Count a retryable failure; the record stays PROJECTING. Same errors as `settle`."""
        counted = failed_once(held.record)
        encoded = encode(counted)
        answer = await self._replace(held, {IDENTITY: encoded}, now_ms)
        if isinstance(answer, Replaced) or answer.value == encoded:
            return StoredInvocation(counted, encoded)
        return await self._other_outcome(held.record, answer.value, now_ms)

    async def settle_lost(self, found: StoredInvocation, error: CallError, *, now_ms: int) -> StoredInvocation | None:
        """Settle ERROR, from outside its run, a PROJECTING record as it was read, for a run that has ended.

        None: it has been settled, taken over or has expired since; it stays as it is. Nothing is ever created.

        Raises:
            LifecycleError: it was settled when it was read.
            StoreUnavailable: the store did not answer; the record may be settled.
        """
        done = _settled_bytes(found, Failed(error), now_ms)
        try:
            answer = await self._replace(found, {IDENTITY: done.encoded}, now_ms)
        except RecordExpired:
            return None
        return done if isinstance(answer, Replaced) or answer.value == done.encoded else None

    async def read(
        self, run_id: str, tool_call_ids: Sequence[str], *, now_ms: int, agent: bool = True, raw: bool = False
    ) -> dict[str, StoredInvocation]:
        """Read records in one round trip; ids whose record is expired, gone or unreadable are left out."""
        bodies = [name for name, wanted in (("agent_result", agent), ("raw_response", raw)) if wanted]
        keys = [self._keys.record(run_id, call_id) for call_id in tool_call_ids]
        rows = await self._backend.read(keys, [IDENTITY, *bodies], now_ms=now_ms)
        found: dict[str, StoredInvocation] = {}
        for call_id, row in zip(tool_call_ids, rows, strict=True):
            record = _readable((row or {}).get(IDENTITY, b""))
            if row is not None and record is not None:
                found[call_id] = _verified(record, row, bodies)
        return found

    async def _create(self, fresh: CanonicalInvocation, now_ms: int) -> Created | Existing | Expired:
        """Create, once more with the same nonce if the reply was lost: our own record means created."""
        key, fields = self._keys.record(fresh.run_id, fresh.tool_call_id), {IDENTITY: encode(fresh)}
        expires_at_ms = round(fresh.expires_at.timestamp() * 1000)

        async def attempt() -> Created | Existing | Expired:
            return await self._backend.create(
                key, fields, identity=IDENTITY, expires_at_ms=expires_at_ms, now_ms=now_ms
            )

        try:
            answer = await attempt()
        except StoreUnavailable:
            answer = await attempt()
        return Created() if isinstance(answer, Existing) and answer.value == fields[IDENTITY] else answer

    async def _meet(
        self, fresh: CanonicalInvocation, value: bytes, verdict: CallError | None, now_ms: int
    ) -> Owned | Settled | None:
        """Decide what an existing record means for this attempt; None: it changed meanwhile, look again."""
        found = self._same_call(fresh, value)
        held = StoredInvocation(found, value)
        if found.settled:
            return Settled(await self._with_agent_result(held, now_ms))
        if verdict is None and found.lost_owners > MAX_LOST_OWNERS:
            verdict = call_error(
                ErrorCode.WORKER_LOST,
                f"{found.lost_owners} attempts of this call were lost or taken away before they settled it; "
                "if workers died, this call may be what ends them",
            )
        if verdict is not None:
            done = _settled_bytes(held, Failed(verdict), now_ms)
            answer = await self._replace(held, {IDENTITY: done.encoded}, now_ms)
            return Settled(done) if isinstance(answer, Replaced) else None
        taken = taken_over(found, nonce=fresh.owner)
        encoded = encode(taken)
        try:
            answer = await self._replace(held, {IDENTITY: encoded}, now_ms)
        except StoreUnavailable:  # once more: our own record means that the lost reply was a yes, and no owner is lost
            answer = await self._replace(held, {IDENTITY: encoded}, now_ms)
        if isinstance(answer, Replaced) or answer.value == encoded:
            return Owned(StoredInvocation(taken, encoded))
        return None

    async def _replace(self, held: StoredInvocation, fields: dict[str, bytes], now_ms: int) -> Replaced | Existing:
        key = self._keys.record(held.record.run_id, held.record.tool_call_id)
        answer = await self._backend.replace(key, expected=held.encoded, fields=fields, now_ms=now_ms)
        if isinstance(answer, Expired):
            raise RecordExpired(f"the record of {held.record.tool_call_id!r} expired before it was settled")
        return answer

    async def _other_outcome(self, ours: CanonicalInvocation, value: bytes, now_ms: int) -> StoredInvocation:
        found = self._same_call(ours, value)
        if not found.settled:
            raise StaleAttempt(f"another attempt of {ours.tool_call_id!r} owns the record")
        return await self._with_agent_result(StoredInvocation(found, value), now_ms)

    async def _with_agent_result(self, stored: StoredInvocation, now_ms: int) -> StoredInvocation:
        if stored.record.sha256.agent_result is None:
            return stored
        call_id = stored.record.tool_call_id
        again = (await self.read(stored.record.run_id, [call_id], now_ms=now_ms)).get(call_id)
        if again is None:
            raise RecordExpired(f"the record of {call_id!r} has expired")
        return again

    def _same_call(self, ours: CanonicalInvocation, value: bytes) -> CanonicalInvocation:
        found = _readable(value)
        if found is not None and found.run_id != ours.run_id:
            raise RunMismatch(f"the record under {ours.tool_call_id!r} belongs to run {found.run_id!r}")
        if found is None or not found.same_call(ours):
            raise DuplicateToolCallId(f"another call of this run already has the id {ours.tool_call_id!r}")
        return found


def _begun(stored: StoredInvocation) -> Owned | Settled:
    return Settled(stored) if stored.record.settled else Owned(stored)


def _settled_bytes(held: StoredInvocation, settlement: Settlement, now_ms: int) -> StoredInvocation:
    done = settled(held.record, settlement, now_ms=now_ms)
    kept = settlement.kept
    return StoredInvocation(done, encode(done), kept.get("raw_response"), kept.get("agent_result"))


def _verified(record: CanonicalInvocation, row: dict[str, bytes], asked: Sequence[str]) -> StoredInvocation:
    """Take the bodies that are the record's; a READY record has both."""
    digests = {"raw_response": record.sha256.raw, "agent_result": record.sha256.agent_result}
    bodies = {name: row[name] for name in asked if name in row and sha256_hex(row[name]) == digests[name]}
    missing = [name for name in asked if name not in bodies]
    altered = any(name in row or record.status is InvocationStatus.READY for name in missing)
    return StoredInvocation(
        record, row[IDENTITY], bodies.get("raw_response"), bodies.get("agent_result"), altered=altered
    )


def _readable(value: bytes) -> CanonicalInvocation | None:
    try:
        return decode(value)
    except ValidationError:
        return None
