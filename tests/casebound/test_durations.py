"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebound.cli_durations import LONGEST, DurationError, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("2h", 7200),
        ("7d", 604800),
        ("1w", 604800),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        (" 2 h ", 7200),
        ("10M", 600),
    ],
)
def test_a_duration_has_a_number_and_a_unit(text: str, seconds: float) -> None:
    """Units from milliseconds to weeks, also one after another."""
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "m", "-5m", "10 minutes", "1h-30m", "0s", "4000d", "9" * 40 + "d", "nan s"])
def test_anything_else_is_refused_with_what_would_be_right(text: str) -> None:
    """No guess is made: a bare number has no unit."""
    with pytest.raises(DurationError, match=r"write it like|out of range"):
        parse_duration(text)


def test_a_bare_number_is_told_its_unit() -> None:
    """The most frequent slip gets the text to type."""
    with pytest.raises(DurationError, match="with a unit: 90s"):
        parse_duration("90")


@given(st.integers(1, round(LONGEST.total_seconds())))
def test_what_is_printed_can_be_typed(seconds: int) -> None:
    """Whole seconds survive printing and parsing."""
    duration = timedelta(seconds=seconds)
    assert parse_duration(format_duration(duration)) == duration
