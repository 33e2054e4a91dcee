"""What the death of an activity means: a code of ours and a bounded line, whatever Temporal says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    RetryState,
    TerminatedError,
    TimeoutError,
    TimeoutType,
)

from boundary.contracts import MESSAGE_MAX
from boundary.errors import ErrorCode
from workflows.failures import call_failure, error_code, message_of, store_lost


def died_of(cause: BaseException | None) -> ActivityError:
    """An activity's end for good, as the workflow sees it."""
    error = ActivityError(
        "Activity task failed",
        scheduled_event_id=5,
        started_event_id=6,
        identity="w",
        activity_type="probe",
        activity_id="1",
        retry_state=RetryState.TIMEOUT,
    )
    error.__cause__ = cause
    return error


TIMEOUTS = {
    TimeoutType.HEARTBEAT: ErrorCode.WORKER_LOST,
    TimeoutType.SCHEDULE_TO_START: ErrorCode.TOOL_UNAVAILABLE,
    TimeoutType.START_TO_CLOSE: ErrorCode.EXECUTION_TIMEOUT,
    TimeoutType.SCHEDULE_TO_CLOSE: ErrorCode.EXECUTION_TIMEOUT,
}


@pytest.mark.parametrize("kind", list(TimeoutType))
def test_each_time_out_has_its_code(kind: TimeoutType) -> None:
    """All kinds Temporal knows; none is left to chance."""
    error = died_of(TimeoutError("activity timeout", type=kind, last_heartbeat_details=[]))
    assert call_failure(error).code is TIMEOUTS[kind]
    assert error_code(error) is None


@pytest.mark.parametrize("code", list(ErrorCode))
def test_a_code_of_ours_is_kept(code: ErrorCode) -> None:
    """An activity that failed with a code settles its call with that code."""
    error = died_of(ApplicationError("no answer", type=str(code)))
    assert (call_failure(error).code, call_failure(error).message) == (code, "no answer")
    assert store_lost(error) is (code in (ErrorCode.STORE_UNAVAILABLE, ErrorCode.RECORD_EXPIRED))


def test_a_cancelled_call_is_cancelled() -> None:
    """However Temporal wraps it."""
    assert call_failure(died_of(CancelledError("Cancelled"))).code is ErrorCode.CANCELLED


CAUSES = st.none() | st.one_of(
    st.builds(ApplicationError, st.text(), type=st.none() | st.text()),
    st.builds(TimeoutError, st.text(), type=st.none(), last_heartbeat_details=st.just([])),
    st.builds(CancelledError, st.text()),
    st.builds(TerminatedError, st.text()),
)


@given(CAUSES)
def test_any_death_has_a_code_and_a_bounded_message(cause: BaseException | None) -> None:
    """A call that died always gets its one result."""
    failure = call_failure(died_of(cause))
    assert failure.code in ErrorCode
    assert len(failure.message) <= MESSAGE_MAX
    assert message_of(died_of(cause))
