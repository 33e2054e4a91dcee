"""Finds the part of a file that a window of time is in, without reading the rest.

Above: `scan`, for sources declared `ordered`. Below: `files` for parts of a file, `lines` for times. It reads a few
pieces of a file, halving what is left; where their times are not in order, it says that it does not know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from activities.logs.files import Part
from activities.logs.lines import LineReader
from activities.logs.moments import SECOND
from activities.logs.patterns import line_bounds
from activities.logs.reading import BOM, as_read, read_blocks
from activities.logs.texts import newlines
from activities.logs.timestamps import Stamp

DISORDER_US = 3600 * SECOND
"""How far entries may be out of order: writers wait for each other, and a change of offset repeats an hour."""

PIECE_BYTES = 64 * 1024
"""Read at a time to find an entry; what is left of a file is halved until it is no longer."""

FAR_BYTES = 2 * 1024 * 1024
"""Read at most to find an entry; where there is none, the file is read from its beginning."""


class Span(NamedTuple):
    """The part of a file to read."""

    start: int
    """Where a line begins."""
    end: int
    first: Stamp
    """Time of the file's first entry."""
    last: Stamp
    """Time of its last entry."""


def first_time(read: Callable[[int], bytes], reader: LineReader) -> Stamp | None:
    """Return the time of a file's first entry; None: it is not near the beginning."""
    for block in islice(read_blocks(read, PIECE_BYTES), 1):
        for start, _ in line_bounds(block.data):
            stamp = reader.time(block.data, start)
            if stamp is not None:
                return stamp
    return None


class _Entry(NamedTuple):
    offset: int
    stamp: Stamp


def sought(part: Part, reader: LineReader, since: int | None, until: int | None, neighbours: int = 0) -> Span | None:
    """Return the part that holds all entries of the window, in microseconds, and so many lines before and after them.

    None: the whole file has to be read.
    """
    file = _File(part, reader)
    first, last = file.entry_at(0), file.last_entry()
    if first is None or last is None:
        return None
    start, end = 0, part.size
    if since is not None:
        before = file.latest_before(since - DISORDER_US)
        start = 0 if before is None else file.lines_before(before.offset, neighbours)
    if until is not None:
        after = file.earliest_from(until + DISORDER_US)
        end = part.size if after is None else file.lines_after(after.offset, neighbours)
    return Span(start, max(start, end), first.stamp, last.stamp) if file.in_order else None


class _File:
    """Entries of a file by their places."""

    def __init__(self, part: Part, reader: LineReader) -> None:
        self._part = part
        self._read = reader.time
        self._seen: dict[int, int] = {}

    @property
    def in_order(self) -> bool:
        """Whether the entries that were read are in order."""
        times = [self._seen[offset] for offset in sorted(self._seen)]
        latest = -(1 << 62)
        for us in times:
            if us < latest - DISORDER_US:
                return False
            latest = max(latest, us)
        return True

    def entry_at(self, offset: int) -> _Entry | None:
        """The first entry that begins at the offset or after it; None: there is none nearby."""
        return next(self._entries_from(offset), None)

    def last_entry(self) -> _Entry | None:
        """The last entry; None: there is none nearby the end."""
        found = deque(self._entries_from(max(self._part.size - PIECE_BYTES, 0)), maxlen=1)
        return found.pop() if found else None

    def lines_before(self, offset: int, lines: int) -> int:
        """Where an entry begins so many lines, or some more, before an offset; if that is not nearby, the beginning."""
        if lines == 0:
            return offset
        for distance in (PIECE_BYTES, FAR_BYTES):
            entry = self.entry_at(offset - distance) if distance < offset else None
            if entry is not None and newlines(self._part.at(entry.offset, max(offset - entry.offset, 0))) >= lines:
                return entry.offset
        return 0

    def lines_after(self, offset: int, lines: int) -> int:
        """Where so many lines that begin at an offset end; if that is not nearby, the end."""
        starts = (start for start, _ in self._lines_from(offset))
        return next(islice(starts, lines, None), self._part.size)

    def latest_before(self, us: int) -> _Entry | None:
        """The latest entry, or one a little before it, that is older than the time."""
        return self._halved(us)[0]

    def earliest_from(self, us: int) -> _Entry | None:
        """The earliest entry, or one a little after it, that is not older than the time."""
        return self._halved(us)[1]

    def _halved(self, us: int) -> tuple[_Entry | None, _Entry | None]:
        older, newer = None, None
        low, high = 0, self._part.size
        while high - low > PIECE_BYTES:
            middle = (low + high) // 2
            entry = self.entry_at(middle)
            if entry is not None and entry.stamp.us < us:
                older, low = entry, max(entry.offset, middle)
            else:
                # Without an entry up to the end, as inside of the last one, its begin is before.
                newer, high = entry or newer, middle
        return older, newer

    def _entries_from(self, offset: int) -> Iterator[_Entry]:
        for start, line in self._lines_from(offset):
            stamp = self._read(as_read(line.removeprefix(BOM) if start == 0 else line), 0)
            if stamp is not None:
                self._seen[start] = stamp.us
                yield _Entry(start, stamp)

    def _lines_from(self, offset: int) -> Iterator[tuple[int, bytes]]:
        """Lines that begin at the offset or after it, with their places, up to `FAR_BYTES`."""
        # The byte before tells whether a line begins at the offset.
        place = max(offset - 1, 0)
        begun = offset == 0
        tail = b""
        for _ in range(FAR_BYTES // PIECE_BYTES):
            chunk = self._part.at(place + len(tail), PIECE_BYTES)
            *lines, rest = (tail + chunk).split(b"\n")
            for line in lines:
                if begun:
                    yield place, line
                begun = True
                place += len(line) + 1
            tail = rest
            if not chunk:
                break
        if begun and tail:
            yield place, tail
