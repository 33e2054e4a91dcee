"""A worker whose server is away says so once in a while, in a line; the SDK says it for each poller and try."""

from __future__ import annotations

import logging

import pytest

from casebound import temporal
from casebound.temporal import RetriesInBrief

RETRIED = (
    "[sdk_core::temporalio_client::retry] gRPC call {call} retried {times} times "
    "{{'error': 'Status {{ code: Unavailable, message: \"tcp connect error\", source: Some(ConnectError("
    '127.0.0.1:7233, Os {{ code: 111, kind: ConnectionRefused, message: "Connection refused" }})) }}\'}}'
)


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(temporal, "time", clock)
    return clock


def said(brief: RetriesInBrief, text: str) -> str | None:
    record = logging.LogRecord("temporalio.core", logging.WARNING, "", 0, text, (), None)
    return record.getMessage() if brief.filter(record) else None


def test_polls_that_fail_are_told_once_in_half_a_minute(clock: Clock) -> None:
    """Whichever poller it was; what happened stands in the line, the SDK's nested error does not."""
    brief, told = RetriesInBrief(), "Temporal does not answer (connection refused); asking on"
    assert said(brief, RETRIED.format(call="poll_workflow_task_queue", times=6)) == told
    clock.now += 29
    assert said(brief, RETRIED.format(call="poll_activity_task_queue", times=7)) is None
    clock.now += 2
    assert said(brief, RETRIED.format(call="poll_activity_task_queue", times=8)) == told


@pytest.mark.usefixtures("clock")
def test_everything_else_is_told_as_it_is() -> None:
    """Also other calls that are tried again: a result that does not arrive is worth each of its lines."""
    brief = RetriesInBrief()
    for text in (RETRIED.format(call="respond_activity_task_completed", times=6), "Beginning worker shutdown"):
        assert [said(brief, text), said(brief, text)] == [text, text]
