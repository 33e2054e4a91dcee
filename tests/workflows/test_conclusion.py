"""When a run stops gathering, and the first reason for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from activities.contracts import RunOutcome
from workflows.conclusion import RESERVE_MIN_MS, due, gather_until_ms

YEAR_MS = 366 * 24 * 3600 * 1000
STARTS = st.integers(min_value=0, max_value=10**13)
SPANS = st.integers(min_value=1, max_value=YEAR_MS)


@given(started_ms=STARTS, span_ms=SPANS)
def test_a_tenth_and_at_least_thirty_seconds_are_kept_for_concluding(started_ms: int, span_ms: int) -> None:
    """The reserve is max(10 %, 30 s), and at most half of the time there is."""
    deadline_ms = started_ms + span_ms
    gather_ms = gather_until_ms(started_ms, deadline_ms)
    reserve_ms = deadline_ms - gather_ms
    assert started_ms <= gather_ms <= deadline_ms
    assert reserve_ms <= span_ms / 2
    wanted_ms = max(span_ms / 10, RESERVE_MIN_MS)
    assert reserve_ms == span_ms // 2 or wanted_ms - 1 <= reserve_ms <= wanted_ms + 1
    assert reserve_ms == span_ms // 2 or span_ms >= 2 * RESERVE_MIN_MS


@given(started_ms=STARTS, spans_ms=st.tuples(SPANS, SPANS))
def test_more_time_never_means_less_gathering(started_ms: int, spans_ms: tuple[int, int]) -> None:
    """A later deadline leaves the end of gathering where it was, or moves it on."""
    shorter, longer = sorted(spans_ms)
    assert gather_until_ms(started_ms, started_ms + shorter) <= gather_until_ms(started_ms, started_ms + longer) + 1


@given(cancelled=st.booleans(), stopped=st.booleans(), late=st.booleans(), spent=st.booleans())
def test_the_first_reason_to_conclude_wins(cancelled: bool, stopped: bool, late: bool, spent: bool) -> None:
    """Cancelled, stopped, out of time, out of budget; only a cancelled run is past a concluding turn."""
    end = due(
        cancelled=cancelled,
        stopped="enough" if stopped else None,
        late=late,
        spent="all calls are used" if spent else None,
    )
    reasons = {
        RunOutcome.CANCELLED: cancelled,
        RunOutcome.STOPPED: stopped,
        RunOutcome.DEADLINE_EXCEEDED: late,
        RunOutcome.BUDGET_EXHAUSTED: spent,
    }
    expected = next((outcome for outcome, given_ in reasons.items() if given_), None)
    assert (end.outcome if end else None) == expected
    if end is not None:
        assert end.detail
        assert end.fallback is cancelled
