"""The times of a log's lines, read only where somebody asks: most lines never match.

Above: `scan` enters each block, asks for the times of matching lines in order, and leaves it.
Below: `lines`. A line without a time of its own (a stack trace) has that of the line before
in its file. In a small log every line's time is read, so that range and counts are exact; in a
large one the range comes from the lines at the ends of each block and those that were asked for.
"""

from __future__ import annotations

from activities.logs.lines import LineReader
from activities.logs.patterns import line_bounds
from activities.logs.reading import Block
from activities.logs.timestamps import Stamp

_JANUARY = (b"Jan", b"JAN", b"jan")
_DECEMBER = (b"Dec", b"DEC", b"dec")


class Range:
    """The earliest and the latest of the times seen."""

    def __init__(self) -> None:
        self.first: Stamp | None = None
        self.last: Stamp | None = None

    def see(self, stamp: Stamp) -> None:
        """Take one more time into account."""
        if self.first is None or stamp.us < self.first.us:
            self.first = stamp
        if self.last is None or stamp.us > self.last.us:
            self.last = stamp


class Timeline:
    """Times of one scan, block after block."""

    def __init__(self, reader: LineReader, *, every_line: bool) -> None:
        self.every_line = every_line
        """Read each line's time, not only those asked for."""
        self.range = Range()
        self.unparsed = 0
        """Lines without a time of their own; exact only with `every_line`."""
        self._clock = reader.clock
        self._read = reader.time
        self._yearless = not reader.source.time_format.has_year
        self._month_names = reader.source.time_format.month_names
        self._before: Stamp | None = None
        self._data = b""
        self._known: dict[int, Stamp | None] | None = None
        self._settled = 0

    def start_file(self, *, continues: bool) -> None:
        """Begin a file; `continues`: it is the next of a rotated set, so the year goes on."""
        self._before = None
        if not continues:
            self._clock.restart()

    def enter(self, block: Block) -> None:
        """Begin a block."""
        self._data, self._known, self._settled = block.data, None, 0
        if self.every_line or (self._yearless and self._may_change_year(block.data)):
            self._known = self._read_all()
        else:
            self._see_first()

    def at(self, start: int) -> Stamp | None:
        """The time of the line at `start`, a later one with each call; None: no line so far had one."""
        if self.every_line and self._known is not None:
            return self._known[start]
        stamp = self._look_back(start) if self._known is None else self._known[start]
        if stamp is not None:
            self.range.see(stamp)
        return stamp

    def leave(self) -> None:
        """End the block; its last time is that of lines without one at the start of the next."""
        self._before = self.at(self._data.rfind(b"\n") + 1)

    def _read_all(self) -> dict[int, Stamp | None]:
        known: dict[int, Stamp | None] = {}
        stamp = self._before
        for start, _ in line_bounds(self._data):
            own = self._read(self._data, start)
            if own is None:
                self.unparsed += 1
            else:
                stamp = own
                self.range.see(own)
            known[start] = stamp
        return known

    def _see_first(self) -> None:
        for start, _ in line_bounds(self._data):
            stamp = self._read(self._data, start)
            if stamp is not None:
                self.range.see(stamp)
                return

    def _look_back(self, start: int) -> Stamp | None:
        """Walk back to a line with a time, or to where an earlier call has been; so no line is read often."""
        position = start
        while (stamp := self._read(self._data, position)) is None:
            previous = self._data.rfind(b"\n", 0, position - 1) + 1 if position else -1
            if previous < self._settled:
                stamp = self._before
                break
            position = previous
        self._before, self._settled = stamp, start + 1
        return stamp

    def _may_change_year(self, data: bytes) -> bool:
        # Only then do its lines have to be read in order, all of them.
        if not self._month_names:
            return True
        january = self._clock.month == 1 or any(name in data for name in _JANUARY)
        december = self._clock.month == 12 or any(name in data for name in _DECEMBER)
        return self._clock.month == 0 or (january and december)
