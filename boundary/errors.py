"""Stable error codes and the exceptions of the boundary.

A code is what a caller can plan for and travels as a value (`contracts.CallError`). An
exception here means: this attempt ended without settling the call, or a caller broke a rule.
"""

from __future__ import annotations

from enum import StrEnum


class ErrorCode(StrEnum):
    """Why a call, or a reference to one, has no evidence to give."""

    MISSING_TOOL_CALL_ID = "MISSING_TOOL_CALL_ID"
    """The call carries no id, so nothing could ever cite it."""
    INVALID_TOOL_CALL_ID = "INVALID_TOOL_CALL_ID"
    """The id is not 1..256 printable ASCII characters without space."""
    DUPLICATE_TOOL_CALL_ID = "DUPLICATE_TOOL_CALL_ID"
    """Another call of this run already has the id."""
    RUN_NOT_ACTIVE = "RUN_NOT_ACTIVE"
    """The run takes no calls any more: it concludes or has ended."""
    RUN_CANCELLED = "RUN_CANCELLED"
    """The run was cancelled before the call began."""
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    """The deadline of the call's grant had passed, or cut the tool off."""
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    """A limit of the run, the turn or the tool is used up."""
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    """The run's catalog has no tool of that name."""
    REPEATED_CALL = "REPEATED_CALL"
    """The same call was answered moments ago."""
    RUN_MISMATCH = "RUN_MISMATCH"
    """A record or a reference belongs to another run."""
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    """The arguments are not one strict JSON object the tool can read."""
    SCHEMA_VIOLATION = "SCHEMA_VIOLATION"
    """The arguments do not fit the tool's JSON Schema."""
    NOT_READ_ONLY = "NOT_READ_ONLY"
    """The tool, or what it was asked to do, may change something."""
    TOOL_UNAVAILABLE = "TOOL_UNAVAILABLE"
    """The worker that got the call does not have the tool."""
    EXECUTION_ERROR = "EXECUTION_ERROR"
    """The tool failed."""
    EXECUTION_TIMEOUT = "EXECUTION_TIMEOUT"
    """The tool did not answer within its time-out."""
    UPSTREAM_UNAVAILABLE = "UPSTREAM_UNAVAILABLE"
    """What the tool asks did not answer."""
    PROJECTION_ERROR = "PROJECTION_ERROR"
    """The raw response is kept, but no agent result could be made of it."""
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    """The request, the raw response, the agent result or the record is over its limit."""
    CANCELLED = "CANCELLED"
    """The call was cancelled while it ran."""
    WORKER_LOST = "WORKER_LOST"
    """The workers that ran the call were lost too often, or for good."""
    STORE_UNAVAILABLE = "STORE_UNAVAILABLE"
    """The store did not answer."""
    RECORD_EXPIRED = "RECORD_EXPIRED"
    """The record's time to live is over."""
    STALE_ATTEMPT = "STALE_ATTEMPT"
    """A later attempt of the same call owns the record now."""


class CaseboundError(Exception):
    """Base of every exception casebound raises on purpose.

    Attributes:
        code: the stable code, or None where no code of the contract fits.
        message: what happened and what to do, safe to show to anyone.
    """

    code: ErrorCode | None = None

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StoreUnavailable(CaseboundError):
    """The store did not answer, or answered that it cannot serve; the write may have happened."""

    code = ErrorCode.STORE_UNAVAILABLE


class RecordExpired(CaseboundError):
    """The record, or the run's index, is past its expiry or gone."""

    code = ErrorCode.RECORD_EXPIRED


class StaleAttempt(CaseboundError):
    """Another attempt took the call over; this one must not settle it."""

    code = ErrorCode.STALE_ATTEMPT


class DuplicateToolCallId(CaseboundError):
    """The id belongs to another call of the run; its record was left untouched."""

    code = ErrorCode.DUPLICATE_TOOL_CALL_ID


class RunMismatch(CaseboundError):
    """The record under the key names another run; it was left untouched."""

    code = ErrorCode.RUN_MISMATCH


class AttemptFailed(CaseboundError):
    """The tool failed in a way it marked retryable; the failure is counted in the record.

    Attributes:
        code: EXECUTION_ERROR, EXECUTION_TIMEOUT or UPSTREAM_UNAVAILABLE.
    """

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class LifecycleError(CaseboundError):
    """A caller asked for a transition the record's lifecycle does not have: a bug, not an outcome."""
