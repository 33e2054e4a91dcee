"""How the run calls its activities: one helper each, with its time-outs and the reason for them.

Activities are called by name with an explicit result type, so that no activity module is ever
imported here. No activity has a maximum number of attempts: schedule-to-close bounds them, and
the record counts what matters (failures and lost owners).
"""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from activities.contracts import (
    CHECK_REPORT,
    CLOSE_RUN,
    OPEN_RUN,
    PLAN,
    SETTLE_CALLS,
    CheckedReport,
    CheckReportInput,
    CloseRunInput,
    OpenedRun,
    OpenRunInput,
    PlanInput,
    PlannedTurn,
    SettleCallsInput,
    SettledCalls,
    ToolCallInput,
    TurnMode,
)
from boundary.contracts import ToolCallOutcome

HEARTBEAT_TIMEOUT = timedelta(seconds=5)
"""A lost worker is noticed after this; beats come every 0.3 s, so a busy machine does not trip it."""

RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=1), backoff_coefficient=2, maximum_interval=timedelta(seconds=10)
)
"""The first retry soon, for a lost worker; later ones no more often than a struggling store can bear."""

CALL_MAX_MS = 300_000
"""Schedule-to-close of one call, all attempts together: the design's 5 min."""

PLAN_MAX = timedelta(minutes=5)
"""One attempt of a planner; a model that thinks longer is asked again."""

QUEUE_WAIT_MS = 30_000
"""For so long a call waits for a worker of its tool's own queue; then the tool is unavailable (design)."""

STORE_WORK_MAX = timedelta(seconds=10)
"""One attempt of an activity that only reads and writes the store."""

CLOSING_MAX = timedelta(seconds=30)
"""All attempts of check, finalizer and summary: the report waits no longer for a store that is down."""


def open_run(request: OpenRunInput, *, left_ms: int) -> workflow.ActivityHandle[OpenedRun]:
    """Start `casebound.open_run`; it may wait for the store until the gathering time is over."""
    return workflow.start_activity(
        OPEN_RUN,
        request,
        result_type=OpenedRun,
        schedule_to_close_timeout=_ms(left_ms),
        start_to_close_timeout=min(STORE_WORK_MAX, _ms(left_ms)),
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=RETRY,
        cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
    )


def plan(request: PlanInput, *, left_ms: int) -> workflow.ActivityHandle[PlannedTurn]:
    """Start `casebound.plan`; a planner is left at once when the run is stopped or cancelled."""
    return workflow.start_activity(
        PLAN,
        request,
        result_type=PlannedTurn,
        schedule_to_close_timeout=_ms(left_ms),
        start_to_close_timeout=min(PLAN_MAX, _ms(left_ms)),
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=RETRY,
        cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
        summary=None if request.mode is TurnMode.PLAN else str(request.mode),
    )


def tool_call(
    tool_name: str, request: ToolCallInput, *, left_ms: int, summary: str, task_queue: str | None
) -> workflow.ActivityHandle[ToolCallOutcome]:
    """Start a tool's activity; a cancelled one is waited for, since it settles its record.

    Args:
        tool_name: the activity's type.
        request: its input.
        left_ms: for all its attempts.
        summary: what people see of it.
        task_queue: the tool's own; None: the run's.
    """
    return workflow.start_activity(
        tool_name,
        request,
        task_queue=task_queue,
        result_type=ToolCallOutcome,
        schedule_to_close_timeout=_ms(left_ms),
        schedule_to_start_timeout=None if task_queue is None else _ms(min(QUEUE_WAIT_MS, left_ms)),
        start_to_close_timeout=_ms(min(request.grant.timeout_ms, left_ms)),
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=RETRY,
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


def check_report(request: CheckReportInput) -> workflow.ActivityHandle[CheckedReport]:
    """Start `casebound.check_report`."""
    return workflow.start_activity(
        CHECK_REPORT,
        request,
        result_type=CheckedReport,
        schedule_to_close_timeout=CLOSING_MAX,
        start_to_close_timeout=STORE_WORK_MAX,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=RETRY,
        cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
    )


def settle_calls(request: SettleCallsInput) -> workflow.ActivityHandle[SettledCalls]:
    """Start the finalizer, `casebound.settle_calls`."""
    return workflow.start_activity(
        SETTLE_CALLS,
        request,
        result_type=SettledCalls,
        schedule_to_close_timeout=CLOSING_MAX,
        start_to_close_timeout=STORE_WORK_MAX,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=RETRY,
        cancellation_type=workflow.ActivityCancellationType.ABANDON,
    )


def close_run(request: CloseRunInput) -> workflow.ActivityHandle[None]:
    """Start `casebound.close_run`."""
    return workflow.start_activity(
        CLOSE_RUN,
        request,
        result_type=type(None),
        schedule_to_close_timeout=CLOSING_MAX,
        start_to_close_timeout=STORE_WORK_MAX,
        heartbeat_timeout=HEARTBEAT_TIMEOUT,
        retry_policy=RETRY,
        cancellation_type=workflow.ActivityCancellationType.ABANDON,
    )


def _ms(value: int) -> timedelta:
    return timedelta(milliseconds=max(value, 1))
