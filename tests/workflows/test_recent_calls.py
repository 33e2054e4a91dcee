"""Calls that must not be made again soon: as many as a continued run can carry."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from activities.contracts import RecentCall
from boundary.contracts import EvidenceStatus
from workflows.marks import id_mark
from workflows.recent_calls import RECENT_BYTES, RecentCalls


def call(number: int, length: int = 30, *, repeated: bool = False) -> RecentCall:
    return RecentCall(
        tool_call_id=str(number).rjust(length, "~"),
        ready_ms=10**12 + number,
        evidence_status=EvidenceStatus.NO_EVIDENCE,
        repeated=repeated,
    )


def test_three_thousand_calls_are_remembered_then_the_latest() -> None:
    """The first one is still known after 3,000, and forgotten after 5,000."""
    recent = RecentCalls()
    for number in range(5000):
        recent.remember(id_mark(str(number)), call(number))
        if number == 3000:
            assert id_mark("0") in recent.calls
    assert id_mark("0") not in recent.calls
    assert list(recent.calls)[-1] == id_mark("4999")
    assert len(recent.calls) > 3000


def test_what_is_carried_has_at_most_the_bytes_it_says() -> None:
    """With ids of any length, each call at its longest."""
    for length in (1, 30, 256):
        recent = RecentCalls()
        for number in range(5000):
            recent.remember(id_mark(str(number)), call(number, length, repeated=True))
        carried = {mark: kept.model_dump(mode="json") for mark, kept in recent.calls.items()}
        assert len(json.dumps(carried, separators=(",", ":"))) < 1.2 * RECENT_BYTES
        assert len(recent.calls) >= 1200


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=30), st.integers(0, 30))
def test_what_is_older_than_the_window_is_forgotten(asked: list[tuple[int, bool]], oldest: int) -> None:
    """Whatever was asked for again meanwhile; a call that was made again counts from then."""
    recent, ready = RecentCalls(), dict[str, int]()
    for now, (number, again) in enumerate(asked):
        mark = id_mark(str(number))
        if again and mark in recent.calls:
            recent.repeated(mark)
            continue
        recent.remember(mark, RecentCall(tool_call_id="x", ready_ms=now))
        ready[mark] = now
    recent.forget_before(oldest)
    assert {mark: kept.ready_ms for mark, kept in recent.calls.items()} == {
        mark: ms for mark, ms in ready.items() if ms >= oldest
    }
    assert recent == RecentCalls(dict(recent.calls))
