"""Durations as people write them on the command line: `90s`, `10m`, `2h`, `7d`, `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta

from boundary.errors import CaseboundError

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
"""Seconds by unit."""

LONGEST = timedelta(days=3650)
"""Ten years; anything longer is a slip of the hand."""

_PART = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d|w)")


class DurationError(CaseboundError):
    """The text is not a duration."""


def parse_duration(text: str) -> timedelta:
    """Read a duration above zero.

    Raises:
        DurationError: with what would be right.
    """
    compact = text.replace(" ", "").lower()
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        hint = f"; with a unit: {compact}s" if compact.isdigit() else ""
        raise DurationError(f"{text!r} is no duration; write it like 90s, 10m, 2h or 7d{hint}")
    seconds = sum(float(number) * UNITS[unit] for number, unit in parts)
    if not 0 < seconds <= LONGEST.total_seconds():
        raise DurationError(f"{text!r} is out of range: more than zero, at most {LONGEST.days}d")
    return timedelta(seconds=seconds)


def format_duration(duration: timedelta) -> str:
    """Write a duration as `parse_duration` reads it, to the second; below that in milliseconds."""
    seconds = duration.total_seconds()
    if 0 < seconds < 1:
        return f"{round(seconds * 1000)}ms"
    rest, text = round(seconds), ""
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, round(UNITS[unit]))
        text += f"{count}{unit}" if count else ""
    return text or "0s"
