"""A declared time format, compiled: which text is a time and what its parts say.

Above: `source` checks formats when it is declared, `timestamps` reads lines with them. Below:
`moments`. It never guesses: a text that does not fit is no time. It is not `strptime`, which wants
the whole line to be a time, takes a day of any year for one of 1900 and follows the process's locale.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from activities.logs.moments import SECOND, clamped, parse_offset

MILLISECOND = 1000
"""Microseconds."""

EPOCH = "epoch"
EPOCH_MS = "epoch_ms"

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


class BadTimeFormat(ValueError):
    """The format cannot be read, or says too little; the message says what it needs."""


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
        self.unit = MILLISECOND if text == EPOCH_MS else SECOND
        if not self.epoch:
            _check_parts(text, parts)

    def seconds(self, parts: dict[str, bytes | None], year: int, zone: tzinfo) -> int | None:
        """Microseconds of the matched text without its fraction; None: there is no such time."""
        if self.epoch:
            return int(parts["s"] or b"0") * self.unit
        try:
            moment = _date(parts, year) + _time_of_day(parts)
            return clamped(moment.replace(tzinfo=_offset(parts) or zone))
        except (ValueError, OverflowError):
            return None


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
    return datetime(year, month_of(parts), int(parts["d"] or b""))


def month_of(parts: dict[str, bytes | None]) -> int:
    """Month of the matched text; of a day of the year only whether it is the first or the last month."""
    if (name := parts.get("b")) is not None:
        return _MONTHS.index(name[:3].decode().lower()) + 1
    if (number := parts.get("m")) is not None:
        return int(number)
    day = int(parts["j"] or b"0")
    return 1 if day <= 31 else 12 if day > 334 else 6


def _time_of_day(parts: dict[str, bytes | None]) -> timedelta:
    hour = int(parts.get("H") or b"0")
    if (twelve := parts.get("I")) is not None:
        hour = int(twelve) % 12 + (12 if (parts["p"] or b"").lower() == b"pm" else 0)
    return timedelta(hours=hour, minutes=int(parts.get("M") or b"0"), seconds=int(parts.get("S") or b"0"))


def _offset(parts: dict[str, bytes | None]) -> tzinfo | None:
    text = parts.get("z")
    return None if text is None else parse_offset(text.decode())
