"""The canonical record: the one stored account of a tool call, and the rules of its life.

Above: `store` writes it, `tool_boundary` decides what goes in. Below: `contracts`. The bodies
(raw response, agent result) stand beside the record in fields of their own; the record holds
their sizes and digests. Every transition is a function here, so that no store can have its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Self

from pydantic import model_validator
from pydantic_core import to_json

from boundary.contracts import (
    AdmittedCall,
    CallError,
    EvidenceStatus,
    Frozen,
    InvocationStatus,
    ReplacedText,
)
from boundary.errors import LifecycleError
from boundary.limits import RECORD_OWN_BYTES

SCHEMA_VERSION = 1


class CallRequest(Frozen):
    """What was asked."""

    arguments: str | ReplacedText


class Sizes(Frozen):
    """Bytes; a body that was dropped has its size here and no field in the store."""

    request: int
    raw: int | None = None
    agent_result: int | None = None
    kept: int = 0
    """Of the bodies that stand beside the record."""


class Digests(Frozen):
    """Hex sha256; a body that was dropped has its digest here and no field in the store."""

    request: str
    raw: str | None = None
    agent_result: str | None = None


class CanonicalInvocation(Frozen):
    """The record of one tool call. Immutable once READY or ERROR."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    tool_call_id: str
    turn: int
    position: int
    call_index: int
    tool_name: str
    request: CallRequest
    status: InvocationStatus
    evidence_status: EvidenceStatus
    error: CallError | None = None
    owner: str
    """Nonce of the attempt that holds or settled the call."""
    executions: int
    """Attempts that owned the call; 0: it was settled without the tool ever being started."""
    failures: int = 0
    """Executions that ended in a failure the tool marked retryable."""
    created_at: datetime
    settled_at: datetime | None = None
    expires_at: datetime
    sizes: Sizes
    sha256: Digests
    truncated: bool = False
    redactions: int = 0

    @property
    def settled(self) -> bool:
        """Tell whether the record can never change again."""
        return self.status is not InvocationStatus.PROJECTING

    @property
    def lost_owners(self) -> int:
        """Owners that neither settled the call nor counted a failure."""
        return self.executions - self.failures

    def same_call(self, other: CanonicalInvocation) -> bool:
        """Tell whether both are the same call: turn, position and digest of the request."""
        return (self.turn, self.position, self.sha256.request) == (
            other.turn,
            other.position,
            other.sha256.request,
        )

    @model_validator(mode="after")
    def _shape_fits_status(self) -> Self:
        found = (EvidenceStatus.EVIDENCE_FOUND, EvidenceStatus.NO_EVIDENCE)
        fits = {
            InvocationStatus.PROJECTING: self.evidence_status is EvidenceStatus.UNKNOWN
            and self.error is None
            and self.settled_at is None,
            InvocationStatus.READY: self.evidence_status in found
            and self.error is None
            and self.settled_at is not None
            and self.sha256.raw is not None
            and self.sha256.agent_result is not None,
            InvocationStatus.ERROR: self.evidence_status is EvidenceStatus.ERROR
            and self.error is not None
            and self.settled_at is not None,
        }[self.status]
        if not fits:
            raise ValueError(f"a {self.status} record cannot look like this")
        return self


@dataclass(frozen=True)
class Ready:
    """Settles a call with its evidence."""

    raw: bytes
    agent_result: bytes
    evidence_status: EvidenceStatus
    truncated: bool = False
    redactions: int = 0

    @property
    def kept(self) -> dict[str, bytes]:
        """Bodies by their field in the store."""
        return {"raw_response": self.raw, "agent_result": self.agent_result}

    @cached_property
    def digests(self) -> tuple[str | None, str | None]:
        """Hex sha256 of raw response and agent result; taken once, where it is first asked for."""
        return sha256_hex(self.raw), sha256_hex(self.agent_result)


@dataclass(frozen=True)
class Failed:
    """Settles a call with an error; what was too large to keep leaves size and digest."""

    error: CallError
    raw: bytes | None = None
    """Kept beside the record."""
    dropped_raw: bytes | None = None
    """Measured, not kept."""
    dropped_agent_result: bytes | None = None
    counts_failure: bool = False
    """It was a failure the tool marked retryable, the last one allowed."""

    @property
    def kept(self) -> dict[str, bytes]:
        """Bodies by their field in the store."""
        return {} if self.raw is None else {"raw_response": self.raw}

    @cached_property
    def digests(self) -> tuple[str | None, str | None]:
        """Hex sha256 of raw response and agent result, kept or dropped; taken once, where it is first asked for."""
        raw = self.dropped_raw if self.raw is None else self.raw
        agent = self.dropped_agent_result
        return None if raw is None else sha256_hex(raw), None if agent is None else sha256_hex(agent)


Settlement = Ready | Failed


def request_sha256(tool_name: str, arguments: str | ReplacedText) -> str:
    """Digest of what was asked: tool name and argument text exactly as given."""
    text = arguments if isinstance(arguments, str) else f"\0replaced:{arguments.sha256}"
    return sha256_hex(f"{tool_name}\0{text}".encode("utf-8", "surrogatepass"))


def new_record(call: AdmittedCall, *, nonce: str, now_ms: int, max_request_bytes: int) -> CanonicalInvocation:
    """Make the PROJECTING record of a call that begins; an oversized or invalid text is replaced."""
    text = call.arguments
    size = text.bytes if isinstance(text, ReplacedText) else len(text.encode("utf-8", "surrogatepass"))
    return CanonicalInvocation(
        run_id=call.run_id,
        tool_call_id=call.tool_call_id,
        turn=call.turn,
        position=call.position,
        call_index=call.call_index,
        tool_name=call.tool_name,
        request=CallRequest(arguments=_storable(call, size, max_request_bytes)),
        status=InvocationStatus.PROJECTING,
        evidence_status=EvidenceStatus.UNKNOWN,
        owner=nonce,
        executions=1,
        created_at=at(now_ms),
        expires_at=at(call.grant.expires_at_ms),
        sizes=Sizes(request=size),
        sha256=Digests(request=request_sha256(call.tool_name, text)),
    )


def taken_over(record: CanonicalInvocation, *, nonce: str) -> CanonicalInvocation:
    """Give a PROJECTING record a new owner; the earlier owner's settle will fail."""
    _require_open(record)
    return record.model_copy(update={"owner": nonce, "executions": record.executions + 1})


def failed_once(record: CanonicalInvocation) -> CanonicalInvocation:
    """Count a failure the tool marked retryable; the record stays PROJECTING."""
    _require_open(record)
    return record.model_copy(update={"failures": record.failures + 1})


def settled(record: CanonicalInvocation, settlement: Settlement, *, now_ms: int) -> CanonicalInvocation:
    """Settle a PROJECTING record.

    Raises:
        LifecycleError: the record is settled already, or READY without found or not-found evidence.
    """
    _require_open(record)
    common = {"settled_at": at(now_ms)}
    if isinstance(settlement, Failed):
        update = common | {
            "status": InvocationStatus.ERROR,
            "evidence_status": EvidenceStatus.ERROR,
            "error": settlement.error,
            "failures": record.failures + settlement.counts_failure,
            **_bodies(record, settlement),
        }
    else:
        if settlement.evidence_status not in (EvidenceStatus.EVIDENCE_FOUND, EvidenceStatus.NO_EVIDENCE):
            raise LifecycleError(f"READY cannot carry evidence status {settlement.evidence_status}")
        update = common | {
            "status": InvocationStatus.READY,
            "evidence_status": settlement.evidence_status,
            "truncated": settlement.truncated,
            "redactions": settlement.redactions,
            **_bodies(record, settlement),
        }
    return CanonicalInvocation.model_validate(record.model_copy(update=update).model_dump())


def encode(record: CanonicalInvocation) -> bytes:
    """Write the record as it is stored; the digest of these bytes is what the history holds."""
    return record.model_dump_json(exclude_none=True).encode()


def decode(data: bytes) -> CanonicalInvocation:
    """Read a stored record.

    Raises:
        pydantic.ValidationError: the bytes are no record, or one that breaks the lifecycle.
    """
    return CanonicalInvocation.model_validate_json(data)


def at(ms: int) -> datetime:
    """Turn Unix milliseconds into a UTC time."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def sha256_hex(data: bytes) -> str:
    """Hex digest of the bytes."""
    return hashlib.sha256(data).hexdigest()


def _require_open(record: CanonicalInvocation) -> None:
    if record.settled:
        raise LifecycleError(f"record of {record.tool_call_id!r} is {record.status}; a settled record never changes")


def _bodies(record: CanonicalInvocation, settlement: Settlement) -> dict[str, Sizes | Digests]:
    kept = settlement.kept
    raw, agent = kept.get("raw_response"), kept.get("agent_result")
    if isinstance(settlement, Failed):
        raw = settlement.dropped_raw if raw is None else raw
        agent = settlement.dropped_agent_result

    def size(body: bytes | None) -> int | None:
        return None if body is None else len(body)

    raw_digest, agent_digest = settlement.digests
    total = sum(len(body) for body in kept.values())
    return {
        "sizes": Sizes(request=record.sizes.request, raw=size(raw), agent_result=size(agent), kept=total),
        "sha256": Digests(request=record.sha256.request, raw=raw_digest, agent_result=agent_digest),
    }


def request_fits(call: AdmittedCall) -> bool:
    """Tell whether a record with the call's argument text, as JSON writes it, keeps to the byte grant."""
    own = min(RECORD_OWN_BYTES, call.grant.bytes // 2)
    return isinstance(call.arguments, ReplacedText) or written_bytes(call.arguments) + own <= call.grant.bytes


def written_bytes(text: str) -> int:
    """Bytes of the text as a JSON string; quotes take two, control characters six."""
    return len(to_json(text.encode("utf-8", "replace").decode()))


def _storable(call: AdmittedCall, size: int, limit: int) -> str | ReplacedText:
    text = call.arguments
    if isinstance(text, ReplacedText):
        return text
    data = text.encode("utf-8", "surrogatepass")
    if size > limit or not request_fits(call):
        return ReplacedText(reason="oversized", bytes=size, sha256=sha256_hex(data))
    try:
        text.encode()
    except UnicodeEncodeError:
        return ReplacedText(reason="not_unicode", bytes=size, sha256=sha256_hex(data))
    return text
