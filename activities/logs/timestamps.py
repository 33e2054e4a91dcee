"""Reads the times of one log's entries, line after line.

Above: `timeline`. Below: `formats`. What a format does not say, the zone and the year, comes from
the source's declaration.
"""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import NamedTuple

from activities.logs.formats import MILLISECOND, TimeFormat, month_of

_CACHED = 4096
"""Texts of whole seconds whose time is remembered: making a date costs more than all the rest."""


class Stamp(NamedTuple):
    """The time of a line."""

    us: int
    """Microseconds since the epoch, UTC."""
    digits: int
    """Fraction digits the log writes, at most 6."""
    written: bytes
    """The time text as it stands in the log."""


_NEVER = Stamp(0, 0, b"")


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
        self._asked: tuple[bytes, int, Stamp | None] = b"", -1, None
        self._fraction = form.fraction
        self._yearless = not form.has_year
        self._digits = 3 if form.unit == MILLISECOND else 0

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
        if data is not self._asked[0] or start != self._asked[1]:  # of a line that matches it is asked for some times
            match = self._form.regex.match(data, start)
            self._asked = data, start, None if match is None else self._stamp(match)
        return self._asked[2]

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
        month = month_of(match.groupdict())
        if month == self._month:
            return
        if (self._month, month) == (12, 1):
            self._year += 1
        elif (self._month, month) == (1, 12) and self._year > self._first_year:
            self._year -= 1
        self._month = month
