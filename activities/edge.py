"""The edge between an activity and Temporal: what an exception becomes on its way out.

Only a code and a bounded message cross it, never the text of an unknown exception. An attempt
that another may finish is retryable; what no retry can mend is not. Everything else an activity
has to say is a value.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.masking import masked_trace
from boundary.contracts import MESSAGE_MAX, shorten
from boundary.errors import AttemptFailed, CaseboundError, ErrorCode, RecordExpired, StaleAttempt, StoreUnavailable
from boundary.redaction import Redactor

_REDACTOR = Redactor()
"""Masks what looks like a secret; what is known to be one is masked by the worker's log handler."""

_RETRYABLE = (AttemptFailed, StaleAttempt, StoreUnavailable)


@contextlib.contextmanager
def codes_only() -> Generator[None]:
    """Turn exceptions into `ApplicationError`s of type code; cancellation passes as it is."""
    try:
        yield
    except _RETRYABLE as error:
        raise _failure(error.code, error.message, retryable=True) from None
    except RecordExpired as error:
        raise _failure(error.code, error.message, retryable=False) from None
    except ApplicationError:
        raise
    except Exception as error:
        activity.logger.error(
            "%s failed unexpectedly\n%s", activity.info().activity_type, masked_trace(error, _REDACTOR)
        )
        code = error.code if isinstance(error, CaseboundError) else None
        message = f"unexpected {type(error).__name__}; the worker's log has the details"
        raise _failure(code or ErrorCode.EXECUTION_ERROR, message, retryable=False) from None


def _failure(code: ErrorCode | None, message: str, *, retryable: bool) -> ApplicationError:
    return ApplicationError(
        shorten(message, MESSAGE_MAX), type=str(code or ErrorCode.EXECUTION_ERROR), non_retryable=not retryable
    )
