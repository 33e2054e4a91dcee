"""The types of one tool call that cross a line: to Temporal, to the store, to the agent.

All frozen, all JSON, no live objects. Light enough for workflow code: pydantic and the
standard library only. The stored record itself is `record.CanonicalInvocation`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from boundary.errors import ErrorCode

JsonValue = Any
"""Any JSON value, as `json.loads` gives it; big integers stay exact."""

JsonObject = dict[str, Any]
"""A JSON object."""

MESSAGE_MAX = 500
"""Characters of an error message; it stands in the history and in the agent's transcript."""

PREVIEW_MAX = 500
"""Characters of a preview in the history, whatever is configured."""

PREVIEW_DEFAULT = 300
"""Characters of a preview in the history by default."""


class Frozen(BaseModel):
    """Base of every value that crosses a line: immutable; unknown fields of a newer writer are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class InvocationStatus(StrEnum):
    """Where a record is in its life; nothing leaves READY or ERROR."""

    PROJECTING = "PROJECTING"
    """The call was begun; its outcome is not known yet."""
    READY = "READY"
    """The tool answered; raw response and agent result are stored."""
    ERROR = "ERROR"
    """The call has no result; the record says why. Never citable."""


class EvidenceStatus(StrEnum):
    """What the record can prove."""

    UNKNOWN = "UNKNOWN"
    """Not decided yet; only while PROJECTING."""
    EVIDENCE_FOUND = "EVIDENCE_FOUND"
    """The tool looked and found something; only when READY."""
    NO_EVIDENCE = "NO_EVIDENCE"
    """The tool looked and found nothing; only when READY."""
    ERROR = "ERROR"
    """The tool could not look; only when ERROR."""


class CallError(Frozen):
    """Why a call has no result: a stable code and a message that says what to change."""

    code: ErrorCode
    message: str = Field(max_length=MESSAGE_MAX)


def call_error(code: ErrorCode, message: str) -> CallError:
    """Make a `CallError`, its message cut to `MESSAGE_MAX` characters, halves of characters replaced."""
    return CallError(code=code, message=shorten(valid_unicode(message), MESSAGE_MAX))


def valid_unicode(text: str) -> str:
    """Put a question mark where a lone surrogate stands, as in a file name that is not UTF-8."""
    return text.encode("utf-8", "replace").decode()


def shorten(text: str, limit: int) -> str:
    """Cut the text to `limit` characters, the last of them an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class ReplacedText(Frozen):
    """Stands where a text was over its limit or not valid Unicode; the text itself is not kept."""

    reason: Literal["oversized", "not_unicode", "not_text"]
    bytes: int
    """Size of the replaced text in UTF-8 (lone surrogates count three)."""
    sha256: str
    """Hex digest of the replaced text's UTF-8 form (surrogates passed through)."""


class ToolCall(Frozen):
    """One call as the planner produced it, bounded: never an unlimited or invalid text."""

    tool_call_id: str | ReplacedText | None = None
    tool_name: str | ReplacedText = ""
    arguments: str | ReplacedText = ""
    """Argument text exactly as produced (JSON, or what should have been)."""


class Grant(Frozen):
    """What the workflow hands to one admitted call. Times are Unix milliseconds by server time."""

    deadline_ms: int
    """No execution begins or goes on past this."""
    expires_at_ms: int
    """When the record expires; nothing extends it."""
    bytes: int = 9 * 1024 * 1024
    """Largest record (request, raw and agent result together) this call may write."""
    timeout_ms: int = 60_000
    """Longest single execution of the tool."""
    attempts: int = 3
    """Retryable failures after which the call is settled ERROR."""


class AdmittedCall(Frozen):
    """A call the workflow admitted: from here on it has exactly one record."""

    run_id: str
    tool_call_id: str
    tool_name: str
    arguments: str | ReplacedText
    turn: int
    """Turn number, from 1."""
    position: int
    """Place within the turn, from 0."""
    call_index: int
    """Number of the admitted call within the run, from 1; for people."""
    grant: Grant


class ToolCallOutcome(Frozen):
    """What the workflow history holds of a settled call. Lean: no id (the workflow knows it), no defaults."""

    status: InvocationStatus = InvocationStatus.READY
    evidence_status: EvidenceStatus = EvidenceStatus.EVIDENCE_FOUND
    error: CallError | None = None
    record_sha256: str | None = None
    """Hex digest of the stored `record` field, which holds the digests of all bodies; None: no record."""
    record_bytes: int = 0
    """Bytes of record, raw response and agent result together, as charged to the run."""
    raw_bytes: int = 0
    agent_result_bytes: int = 0
    executions: int = 1
    """How often the tool was started."""
    truncated: bool = False
    """The agent result leaves out items of the raw response."""
    preview: str = Field(default="", max_length=PREVIEW_MAX)
    """First characters of the agent result."""


class ToolBoundaryResult(Frozen):
    """What the agent sees of one requested call; it has no raw field."""

    tool_call_id: str | None
    tool_name: str
    status: InvocationStatus
    evidence_status: EvidenceStatus
    error: CallError | None = None
    agent_result: JsonValue = None
    truncated: bool = False
    repeats: str | None = None
    """Id of the earlier call that asked the same; this is its result, and only it can be cited."""
