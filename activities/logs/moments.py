"""Moments as microseconds since the epoch: zones, offsets and ISO 8601, in and out.

Above: `formats`, `selection` and whatever writes a result. Below: the standard library.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

SECOND = 1_000_000
"""Microseconds."""

EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)

_MICROSECOND = timedelta(microseconds=1)
_FIRST_US = (datetime(1, 1, 3, tzinfo=UTC) - EPOCH_START) // _MICROSECOND
_LAST_US = (datetime(9999, 12, 29, tzinfo=UTC) - EPOCH_START) // _MICROSECOND
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


class BadZone(ValueError):
    """Nobody knows such a zone; the message says what a zone is."""


def parse_zone(name: str) -> tzinfo:
    """Read an IANA name, `UTC`, `Z` or a fixed offset such as `+02:00`.

    Raises:
        BadZone: there is no such zone.
    """
    if name == "UTC":
        return UTC
    if name == "Z" or _OFFSET.fullmatch(name) is not None:
        return parse_offset(name)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadZone(f"no time zone {name!r}: use an IANA name, UTC or an offset such as +02:00") from None


def parse_offset(text: str) -> tzinfo:
    """Read `Z`, `+02:00` or `+0200`.

    Raises:
        BadZone: it is none, or not less than 24 hours.
    """
    if text == "Z":
        return UTC
    match = _OFFSET.fullmatch(text)
    if match is None or int(match[3]) > 59 or int(match[2]) > 23:
        raise BadZone(f"no time zone {text!r}: an offset is less than 24 hours, such as +02:00")
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-offset if match[1] == "-" else offset)


def iso_utc(us: int, digits: int) -> str:
    """Write a time as ISO 8601 in UTC, with as many fraction digits as given."""
    moment = EPOCH_START.replace(tzinfo=None) + timedelta(microseconds=us)
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    return f"{moment.isoformat(timespec='seconds')[:19]}{fraction}Z"


def parse_iso(text: str, zone: tzinfo) -> int:
    """Read an ISO 8601 time, in `zone` where it names none, as microseconds since the epoch.

    Raises:
        ValueError: it is no such time.
    """
    moment = datetime.fromisoformat(text.strip())
    return clamped(moment if moment.tzinfo is not None else moment.replace(tzinfo=zone))


def clamped(moment: datetime) -> int:
    """Microseconds since the epoch; what no zone's dates can name becomes the first or the last that they can."""
    return min(max((moment - EPOCH_START) // _MICROSECOND, _FIRST_US), _LAST_US)
