"""Times are read by the declared format, zone and year, and never guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.logs.formats import BadTimeFormat, TimeFormat
from activities.logs.moments import BadZone, iso_utc, parse_iso, parse_zone
from activities.logs.timestamps import Clock

MOMENTS = st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2060, 1, 1))
FORMATS = (
    "%Y-%m-%d %H:%M:%S,%f",
    "%d/%b/%Y:%H:%M:%S.%f %z",
    "[%a %b %d %H:%M:%S.%f %Y]",
    "%y%m%d %H%M%S%f",
    "%A, %d %B %Y %I:%M:%S %p .%f",
    "%Y.%j-%H.%M.%S.%f",
)


def clock(form: str, zone: str = "UTC", year: int | None = None) -> Clock:
    return Clock(TimeFormat(form), parse_zone(zone), year)


def read(text: str, form: str, zone: str = "UTC", year: int | None = None) -> str | None:
    """Read one line's time, as UTC."""
    stamp = clock(form, zone, year).read(text.encode(), 0)
    return None if stamp is None else iso_utc(stamp.us, stamp.digits)


@given(MOMENTS, st.sampled_from(FORMATS), st.sampled_from(["", " tail", "|x"]))
def test_what_strftime_writes_is_read_back_exactly(moment: datetime, form: str, tail: str) -> None:
    """The standard library is the reference for what the directives mean; fold 0 where a time is ambiguous."""
    zone = ZoneInfo("Europe/Berlin")
    text = moment.replace(tzinfo=zone).strftime(form)
    expected = datetime.strptime(text, form)
    if expected.tzinfo is None:
        expected = expected.replace(tzinfo=zone)
    stamp = clock(form, "Europe/Berlin").read((text + tail).encode(), 0)
    assert stamp is not None
    assert stamp.us == (expected - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert stamp.written.decode() == text


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("081109 203615 148 INFO", "%y%m%d %H%M%S", "2008-11-09T20:36:15Z"),
        ("1117838570.25 x", "epoch", "2005-06-03T22:42:50.25Z"),
        ("1117838570125 x", "epoch_ms", "2005-06-03T22:42:50.125Z"),
        ("2016-12-31 23:59:60 leap", "%Y-%m-%d %H:%M:%S", "2017-01-01T00:00:00Z"),
        ("2015-01-02T03:04:05.123456789+05:30 x", "%Y-%m-%dT%H:%M:%S.%f%z", "2015-01-01T21:34:05.123456Z"),
        ("2015-01-02T03:04:05Z", "%FT%T%z", "2015-01-02T03:04:05Z"),
    ],
)
def test_a_time_is_as_precise_as_the_log_writes_it(text: str, form: str, expected: str) -> None:
    """Worked out by hand; 1117838570 is 2005-06-03 15:42:50 at UTC-7, as a log with both forms says."""
    assert read(text, form) == expected


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2015-02-29 00:00:00", "%Y-%m-%d %H:%M:%S"),
        ("2015-01-01 24:00:00", "%Y-%m-%d %H:%M:%S"),
        (" 2015-01-01 10:00:00", "%Y-%m-%d %H:%M:%S"),
        ("2015-01-01 10:00:001", "%Y-%m-%d %H:%M:%S"),
        ("2015-366 1", "%Y-%j %H"),
        ("81109 203615", "%y%m%d %H%M%S"),
        ("11178385701234567", "epoch"),
        ("2015-01-01 10:00:00+99:00", "%Y-%m-%d %H:%M:%S%z"),
        ("\tat com.example.Main", "%Y-%m-%d %H:%M:%S"),
    ],
)
def test_a_text_that_does_not_fit_is_no_time(text: str, form: str) -> None:
    """Days that do not exist, longer numbers, other places, missing digits: none is bent into a time."""
    assert read(text, form) is None


def test_a_day_is_padded_with_a_blank_or_a_zero_or_not_at_all() -> None:
    """As syslog writes it."""
    for text in ("Mar  5 01:02:03", "Mar 05 01:02:03", "Mar 5 01:02:03"):
        assert read(text + " host", "%b %d %H:%M:%S", year=2024) == "2024-03-05T01:02:03Z"
    assert read("Feb 29 01:02:03", "%b %d %H:%M:%S", year=2024) == "2024-02-29T01:02:03Z"
    assert read("Feb 29 01:02:03", "%b %d %H:%M:%S", year=2023) is None


def test_the_year_goes_up_when_december_becomes_january() -> None:
    """A late December line after the first of January is of the old year; the next January is not a year later."""
    reader = clock("%b %d %H:%M:%S", year=2023)
    entries = ["Nov 30", "Dec 31", "Jan  1", "Dec 31", "Jan  1", "Feb 29", "Dec 31", "Jan  1"]
    stamps = [reader.read(f"{entry} 00:00:00".encode(), 0) for entry in entries]
    years = [None if stamp is None else iso_utc(stamp.us, 0)[:4] for stamp in stamps]
    assert years == ["2023", "2023", "2024", "2023", "2024", "2024", "2024", "2025"]


def test_a_time_that_an_offset_change_makes_ambiguous_is_the_earlier_one() -> None:
    """02:30 on 2015-10-25 in Berlin was first at UTC+2; 02:30 on 2015-03-29 never was and counts from UTC+1."""
    assert read("2015-10-25 02:30:00", "%Y-%m-%d %H:%M:%S", "Europe/Berlin") == "2015-10-25T00:30:00Z"
    assert read("2015-03-29 02:30:00", "%Y-%m-%d %H:%M:%S", "Europe/Berlin") == "2015-03-29T01:30:00Z"


@pytest.mark.parametrize(
    "form", ["%Q", "%Y-%m", "%H:%M:%S", "%Y-%m-%d %Y", "%Y-%m-%d %I:%M", "%c", "%Y-%m-%d %Z", "%Y %b %m %B %d", "%"]
)
def test_a_format_that_is_unknown_or_says_too_little_is_refused(form: str) -> None:
    """When the source is declared, not when it is searched."""
    with pytest.raises(BadTimeFormat):
        TimeFormat(form)


@pytest.mark.parametrize("name", ["Mars/Olympus", "+25:00", "", "../etc/passwd", "+02", "CEST"])
def test_a_zone_nobody_knows_is_refused(name: str) -> None:
    """IANA names, UTC and full offsets only."""
    with pytest.raises(BadZone):
        parse_zone(name)


def test_a_window_bound_without_offset_is_read_in_the_zone_given() -> None:
    """With one, the offset counts."""
    zone = timezone(timedelta(hours=2))
    assert iso_utc(parse_iso("2015-07-29T19:04:00", zone), 0) == "2015-07-29T17:04:00Z"
    assert iso_utc(parse_iso("2015-07-29T19:04:00Z", zone), 0) == "2015-07-29T19:04:00Z"
    assert iso_utc(parse_iso("2015-07-29", zone), 0) == "2015-07-28T22:00:00Z"
    assert parse_iso("9999-12-31T23:59:59-12:00", zone) > parse_iso("9999-12-01", zone)
    with pytest.raises(ValueError, match="isoformat"):
        parse_iso("yesterday", zone)
