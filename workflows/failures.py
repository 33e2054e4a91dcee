"""What the death of an activity means: from Temporal's exceptions to codes. Pure."""

from __future__ import annotations

from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError, TimeoutType, is_cancelled_exception

from boundary.contracts import MESSAGE_MAX, CallError, call_error, shorten
from boundary.errors import ErrorCode

_BY_TIMEOUT = {
    TimeoutType.HEARTBEAT: (ErrorCode.WORKER_LOST, "the worker that ran the call was lost"),
    TimeoutType.SCHEDULE_TO_START: (
        ErrorCode.TOOL_UNAVAILABLE,
        "no worker of the tool's task queue took the call in time",
    ),
    TimeoutType.START_TO_CLOSE: (ErrorCode.EXECUTION_TIMEOUT, "the call did not end within its time-out"),
    TimeoutType.SCHEDULE_TO_CLOSE: (ErrorCode.EXECUTION_TIMEOUT, "the call did not end within the time it was given"),
}


def last_failure(error: ActivityError) -> BaseException | None:
    """Say what the activity died of: a time-out that ended its retries has the last attempt's failure as its cause."""
    cause = error.cause
    while isinstance(cause, TimeoutError) and isinstance(cause.cause, ApplicationError | TimeoutError):
        cause = cause.cause
    return cause


def call_failure(error: ActivityError) -> CallError:
    """Say what a call is settled with when its activity died for good."""
    if is_cancelled_exception(error):
        return call_error(ErrorCode.CANCELLED, "the call was cancelled")
    cause = last_failure(error)
    if isinstance(cause, TimeoutError) and cause.type is not None:
        code, message = _BY_TIMEOUT[cause.type]
        return call_error(code, message)
    code = error_code(error)
    message = cause.message if isinstance(cause, ApplicationError) else "the call's activity failed"
    return call_error(code or ErrorCode.EXECUTION_ERROR, message)


def error_code(error: ActivityError) -> ErrorCode | None:
    """Read the code an activity failed with, where it is one of ours."""
    cause = last_failure(error)
    if not isinstance(cause, ApplicationError) or cause.type is None:
        return None
    return ErrorCode(cause.type) if cause.type in ErrorCode.__members__ else None


def store_lost(error: ActivityError) -> bool:
    """Tell whether the activity failed because the store did not answer or lost the run."""
    return error_code(error) in (ErrorCode.STORE_UNAVAILABLE, ErrorCode.RECORD_EXPIRED)


def message_of(error: ActivityError) -> str:
    """Say in one bounded line why the activity failed."""
    cause = last_failure(error)
    if isinstance(cause, ApplicationError):
        return shorten(f"{cause.type}: {cause.message}", MESSAGE_MAX)
    return shorten(f"{error.activity_type}: {cause or 'failed'}", MESSAGE_MAX)
