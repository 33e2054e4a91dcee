"""Reads the time a log line begins with: declared format in, microseconds since the epoch out.

Above: `source` checks formats when it is declared, `timeline` reads lines. Below: the standard
library. It never guesses: what a format does not say (the zone, the year) the source declares,
and a text that does not fit is no time. It is not `strptime`, which wants the whole line to be a
time, takes a day of any year for one of 1900 and follows the process's locale.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

EPOCH = "epoch"
EPOCH_MS = "epoch_ms"

SECOND = 1_000_000
"""Microseconds."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _any_of(names: tuple[str, ...]) -> str:
    spellings = [spelling for name in names for spelling in (name.capitalize(), name.upper(), name)]
    return "(?:" + "|".join(spellings) + ")"


_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d\d)",
    "m": r"(?P<m>1[0-2]|0[1-9]|[1-9])",
    "b": f"(?P<b>{_any_of(_MONTHS)})",
    "B": f"(?P<b>{_any_of(_MONTH_NAMES)})",
    "d": r"(?P<d>3[01]|[12]\d|0[1-9]| ?[1-9])",
    "j": r"(?P<j>\d{1,3})",
    "H": r"(?P<H>2[0-3]|[01]\d|\d)",
    "I": r"(?P<I>1[0-2]|0[1-9]|[1-9])",
    "p": r"(?P<p>AM|PM|am|pm)",
    "M": r"(?P<M>[0-5]\d|\d)",
    "S": r"(?P<S>6[01]|[0-5]\d|\d)",
    "f": r"(?P<f>\d{1,9})",
    "z": r"(?P<z>Z|[+-]\d\d:?\d\d)",
    "a": _any_of(tuple(name[:3] for name in _DAYS)),
    "A": _any_of(_DAYS),
    "%": "%",
}
_CROWDED = {
    "m": r"(?P<m>1[0-2]|0[1-9])",
    "d": r"(?P<d>3[01]|[12]\d|0[1-9])",
    "j": r"(?P<j>\d{3})",
    "H": r"(?P<H>2[0-3]|[01]\d)",
    "I": r"(?P<I>1[0-2]|0[1-9])",
    "M": r"(?P<M>[0-5]\d)",
    "S": r"(?P<S>6[01]|[0-5]\d)",
}
"""Where numbers touch each other they have their full width, or 111 would be the 11th or the 1st."""
_NUMBERS = frozenset("YymdjHIMSf")
_ALIASES = {"e": "d", "h": "b"}
_COMPOSED = {"T": "%H:%M:%S", "F": "%Y-%m-%d", "D": "%m/%d/%y", "R": "%H:%M"}
_NO_DIGIT_AFTER = r"(?!\d)"
"""A time cut out of a longer number would be a guess."""
_EPOCHS = {
    EPOCH: r"(?P<s>\d{1,11})(?:\.(?P<f>\d{1,9}))?" + _NO_DIGIT_AFTER,
    EPOCH_MS: r"(?P<s>\d{1,14})" + _NO_DIGIT_AFTER,
}
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_MILLISECOND = 1000
_CACHED = 4096
_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)


class BadTimeFormat(ValueError):
    """The format cannot be read, or says too little; the message says what it needs."""


class Stamp(NamedTuple):
    """The time of a line."""

    us: int
    """Microseconds since the epoch, UTC."""
    digits: int
    """Fraction digits the log writes, at most 6."""
    written: bytes
    """The time text as it stands in the log."""


_NEVER = Stamp(0, 0, b"")


class TimeFormat:
    """A compiled time format."""

    def __init__(self, text: str) -> None:
        """Compile a strptime format, `epoch` or `epoch_ms`.

        Raises:
            BadTimeFormat: a directive is unknown or repeated, or the format has no date.
        """
        self.epoch = text in _EPOCHS
        body = _EPOCHS.get(text) or _translated(text)
        try:
            self.regex = re.compile(body.encode())
        except re.error:
            raise BadTimeFormat(f"{text!r} names the same part of a time twice") from None
        parts = set(self.regex.groupindex)
        self.has_year = self.epoch or bool(parts & {"Y", "y"})
        self.has_zone = self.epoch or "z" in parts
        self.month_names = "b" in parts
        self.fraction = "f" in parts
        self.unit = _MILLISECOND if text == EPOCH_MS else SECOND
        if not self.epoch:
            _check_parts(text, parts)

    def seconds(self, parts: dict[str, bytes | None], year: int, zone: tzinfo) -> int | None:
        """Microseconds of the matched text without its fraction; None: there is no such time."""
        if self.epoch:
            return int(parts["s"] or b"0") * self.unit
        try:
            moment = _date(parts, year) + _time_of_day(parts)
            return _clamped(moment.replace(tzinfo=_offset(parts) or zone))
        except (ValueError, OverflowError):
            return None


class Clock:
    """Reads the times of one sequence of entries; keeps the year of a format that has none.

    The year goes up when the month falls from December to January. A December entry directly
    after a January one, once the year went up, is a late entry of the old year.
    """

    def __init__(self, form: TimeFormat, zone: tzinfo, year: int | None) -> None:
        self._form = form
        self._zone = zone
        self._first_year = self._year = year or 0
        self._month = 0
        self._known: dict[tuple[int, bytes], int | None] = {}
        self._latest = _NEVER
        self._fraction = form.fraction
        self._yearless = not form.has_year
        self._digits = 3 if form.unit == _MILLISECOND else 0

    @property
    def month(self) -> int:
        """Month of the latest entry, 0 before the first; followed only where the format has no year."""
        return self._month

    def restart(self) -> None:
        """Begin another sequence of entries: its first one is of the declared year."""
        self._year, self._month = self._first_year, 0
        self._latest = _NEVER

    def read(self, data: bytes, start: int) -> Stamp | None:
        """Read the time text at `start`; entries of a format without year are to be read in order."""
        match = self._form.regex.match(data, start)
        return None if match is None else self._stamp(match)

    def read_whole(self, text: bytes) -> Stamp | None:
        """Read a text that must be a time and nothing more."""
        match = self._form.regex.fullmatch(text)
        return None if match is None else self._stamp(match)

    def _stamp(self, match: re.Match[bytes]) -> Stamp | None:
        written = match.group()
        if written == self._latest.written:  # in most logs many lines share a second
            return self._latest
        fraction, key = None, written
        if self._fraction:
            fraction = match["f"]
            begin, start = match.start(), match.start("f")
            if fraction is not None:
                key = written[: start - begin] + written[start - begin + len(fraction) :]
        if self._yearless:
            self._follow(match)
        seconds = self._seconds((self._year, key), match)
        if seconds is None:
            return None
        if fraction is None:
            self._latest = Stamp(seconds, self._digits, written)
        else:
            micros = int(fraction if len(fraction) == 6 else fraction[:6].ljust(6, b"0"))
            self._latest = Stamp(seconds + micros, min(len(fraction), 6), written)
        return self._latest

    def _seconds(self, key: tuple[int, bytes], match: re.Match[bytes]) -> int | None:
        try:
            return self._known[key]
        except KeyError:
            pass
        if len(self._known) >= _CACHED:
            self._known.clear()
        found = self._known[key] = self._form.seconds(match.groupdict(), self._year, self._zone)
        return found

    def _follow(self, match: re.Match[bytes]) -> None:
        month = _month(match.groupdict())
        if month == self._month:
            return
        if (self._month, month) == (12, 1):
            self._year += 1
        elif (self._month, month) == (1, 12) and self._year > self._first_year:
            self._year -= 1
        self._month = month


def parse_zone(name: str) -> tzinfo:
    """Read an IANA name, `UTC`, `Z` or a fixed offset such as `+02:00`.

    Raises:
        BadTimeFormat: there is no such zone.
    """
    if name in ("UTC", "Z"):
        return UTC
    if (offset := _OFFSET.fullmatch(name)) is not None:
        return _fixed(offset[1], int(offset[2]), int(offset[3]))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadTimeFormat(f"no time zone {name!r}: use an IANA name, UTC or an offset such as +02:00") from None


def iso_utc(us: int, digits: int) -> str:
    """Write a time as ISO 8601 in UTC, with as many fraction digits as given."""
    moment = _EPOCH_START.replace(tzinfo=None) + timedelta(microseconds=us)
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    return f"{moment.isoformat(timespec='seconds')[:19]}{fraction}Z"


def parse_iso(text: str, zone: tzinfo) -> int:
    """Read an ISO 8601 time, in `zone` where it names none, as microseconds since the epoch.

    Raises:
        ValueError: it is no such time.
    """
    moment = datetime.fromisoformat(text.strip())
    return _clamped(moment if moment.tzinfo is not None else moment.replace(tzinfo=zone))


def _translated(text: str) -> str:
    for short, long in _COMPOSED.items():
        text = text.replace(f"%{short}", long)
    pieces = re.findall(r"%.?|\s+|[^%\s]+", text, re.DOTALL)
    letters = [_letter(piece, text) for piece in pieces]
    body = ""
    for place, (piece, letter) in enumerate(zip(pieces, letters, strict=True)):
        neighbours = {*letters[max(place - 1, 0) : place], *letters[place + 1 : place + 2]}
        if letter:
            crowded = bool(neighbours & _NUMBERS) and letter in _CROWDED
            body += _CROWDED[letter] if crowded else _DIRECTIVES[letter]
        else:
            body += r"[ \t]+" if piece.isspace() else re.escape(piece)
    return body + (_NO_DIGIT_AFTER if letters and letters[-1] else "")


def _letter(piece: str, text: str) -> str:
    """The directive of a piece of a format, or nothing for a piece of plain text."""
    if not piece.startswith("%"):
        return ""
    letter = _ALIASES.get(piece[1:], piece[1:])
    if letter not in _DIRECTIVES:
        known = " ".join(f"%{name}" for name in (*_DIRECTIVES, *_ALIASES, *_COMPOSED))
        raise BadTimeFormat(f"{text!r}: {piece!r} is none of {known}")
    return letter


def _check_parts(text: str, parts: set[str]) -> None:
    if not (parts & {"m", "b"} and "d" in parts) and "j" not in parts:
        raise BadTimeFormat(f"{text!r} has no date: it needs a month and %d, or %j")
    if ("I" in parts) != ("p" in parts):
        raise BadTimeFormat(f"{text!r}: %I and %p go together")


def _date(parts: dict[str, bytes | None], year: int) -> datetime:
    if (short := parts.get("y")) is not None:
        year = int(short) + (2000 if int(short) < 69 else 1900)
    if (full := parts.get("Y")) is not None:
        year = int(full)
    if (day_of_year := parts.get("j")) is not None:
        moment = datetime(year, 1, 1) + timedelta(days=int(day_of_year) - 1)
        if moment.year != year:
            raise ValueError("no such day")
        return moment
    return datetime(year, _month(parts), int(parts["d"] or b""))


def _month(parts: dict[str, bytes | None]) -> int:
    if (name := parts.get("b")) is not None:
        return _MONTHS.index(name[:3].decode().lower()) + 1
    if (number := parts.get("m")) is not None:
        return int(number)
    # Of a day of the year only the year's two ends matter, for roll-over.
    day = int(parts["j"] or b"0")
    return 1 if day <= 31 else 12 if day > 334 else 6


def _time_of_day(parts: dict[str, bytes | None]) -> timedelta:
    hour = int(parts.get("H") or b"0")
    if (twelve := parts.get("I")) is not None:
        hour = int(twelve) % 12 + (12 if (parts["p"] or b"").lower() == b"pm" else 0)
    return timedelta(hours=hour, minutes=int(parts.get("M") or b"0"), seconds=int(parts.get("S") or b"0"))


def _offset(parts: dict[str, bytes | None]) -> tzinfo | None:
    text = parts.get("z")
    if text is None:
        return None
    if text == b"Z":
        return UTC
    digits = text.decode().replace(":", "")
    return _fixed(digits[0], int(digits[1:3]), int(digits[3:5]))


def _fixed(sign: str, hours: int, minutes: int) -> tzinfo:
    offset = timedelta(hours=hours, minutes=minutes)
    if minutes > 59 or offset >= timedelta(hours=24):
        raise BadTimeFormat(f"no time zone {sign}{hours:02}:{minutes:02}: an offset is less than 24 hours")
    return timezone(-offset if sign == "-" else offset)


def _clamped(moment: datetime) -> int:
    """Microseconds since the epoch; what no zone's dates can name becomes the first or the last that they can."""
    return min(max((moment - _EPOCH_START) // timedelta(microseconds=1), _FIRST_US), _LAST_US)


_FIRST_US = (datetime(1, 1, 3, tzinfo=UTC) - _EPOCH_START) // timedelta(microseconds=1)
_LAST_US = (datetime(9999, 12, 29, tzinfo=UTC) - _EPOCH_START) // timedelta(microseconds=1)
