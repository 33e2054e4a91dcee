"""One page of matching lines, in order of time, out of a scan that comes in any order.

Above: `search`. Below: `scan`. It holds `offset + limit` lines at most, and never more than
twice `HELD_BYTES` of text: what cannot end up on the page is let go while the scan goes on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from activities.logs.moments import iso_utc
from activities.logs.places import Places
from activities.logs.reading import Block
from activities.logs.results import Context, FoundLine
from activities.logs.scan import Hit
from activities.logs.texts import newlines
from activities.logs.timestamps import Stamp
from boundary.tools import ToolFailure

HELD_BYTES = 64 * 1024 * 1024
NEIGHBOUR_MAX = 2000
"""Bytes of a context line; a longer one ends with an ellipsis."""

Key = tuple[int, int, int]


@dataclass(slots=True)
class _Line:
    stamp: Stamp | None
    file: int
    line: int
    text: bytes
    cut: bool
    before: list[bytes] = field(default_factory=list[bytes])
    after: list[bytes] = field(default_factory=list[bytes])

    def size(self) -> int:
        """Bytes it holds so far."""
        return len(self.text) + sum(map(len, self.before)) + sum(map(len, self.after))


class Page:
    """Collects the lines at ranks `offset` to `offset + limit` by time, file and line."""

    def __init__(self, *, newest: bool, offset: int, limit: int, context: int) -> None:
        self._newest = newest
        self._offset = offset
        self._keep = offset + limit
        self._neighbours = _Neighbours(context) if context else None
        self._lines: list[tuple[Key, _Line]] = []
        self._held = 0
        self._worst: Key | None = None

    def enter(self, file: int, block: Block) -> None:
        """Begin a block."""
        if self._neighbours is not None:
            self._neighbours.enter(file, block)

    def add(self, file: int, block: Block, hit: Hit) -> None:
        """Take a hit, unless as many as are needed come before it."""
        key = self._key(file, hit)
        if self._worst is not None and key > self._worst:
            return
        text = block.data[hit.start : hit.end]
        line = _Line(hit.stamp, file, hit.line, text, block.is_cut(hit.line, text))
        if self._neighbours is not None:
            self._neighbours.surround(line, block, hit)
        self._lines.append((key, line))
        self._held += line.size()
        if len(self._lines) >= 2 * self._keep + 64 or self._held > 2 * HELD_BYTES:
            self._prune()

    def leave(self, block: Block) -> None:
        """End a block."""
        if self._neighbours is not None:
            self._neighbours.leave(block)

    def lines(self, places: Places) -> list[FoundLine]:
        """Return the page's lines in order."""
        self._prune()
        return [self._found(line, places) for _, line in self._lines[self._offset :]]

    def _key(self, file: int, hit: Hit) -> Key:
        if not self._newest:
            # Lines before the first time in the log count as older than all.
            return (-(1 << 62) if hit.stamp is None else hit.stamp.us, file, hit.line)
        return (1 << 62 if hit.stamp is None else -hit.stamp.us, -file, -hit.line)

    def _prune(self) -> None:
        self._lines.sort(key=lambda item: item[0])
        del self._lines[self._keep :]
        if len(self._lines) == self._keep:
            self._worst = self._lines[-1][0]
        self._held = sum(line.size() for _, line in self._lines)
        if self._held > HELD_BYTES:
            raise ToolFailure(
                f"the first {self._keep} matching lines hold more than {HELD_BYTES >> 20} MiB: "
                "use a smaller `limit` and `offset`, less `context`, or a narrower window"
            )

    def _found(self, line: _Line, places: Places) -> FoundLine:
        context = None
        if self._neighbours is not None:
            context = Context(
                before=[_short(text) for text in line.before], after=[_short(text) for text in line.after]
            )
        return FoundLine(
            file=places.name(line.file),
            line=places.line(line.file, line.line),
            lines=1 + newlines(line.text) if b"\n" in line.text else None,
            time=None if line.stamp is None else iso_utc(line.stamp.us, line.stamp.digits),
            text=line.text.decode(errors="replace"),
            cut=line.cut or None,
            context=context,
        )


class _Neighbours:
    """Gives lines their context, also across the edges of blocks."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._file = -1
        self._before: deque[bytes] = deque(maxlen=count)
        self._waiting: list[_Line] = []

    def enter(self, file: int, block: Block) -> None:
        if file != self._file:
            self._file, self._waiting = file, []
            self._before.clear()
        if self._waiting:
            first = _following(block.data, 0, self._count)
            for line in self._waiting:
                line.after.extend(first[: self._count - len(line.after)])
            self._waiting = [line for line in self._waiting if len(line.after) < self._count]

    def surround(self, line: _Line, block: Block, hit: Hit) -> None:
        own = _preceding(block.data, hit.start, self._count)
        line.before = [*self._before, *own][-self._count :]
        line.after = _following(block.data, hit.end + 1, self._count)
        if len(line.after) < self._count:
            self._waiting.append(line)

    def leave(self, block: Block) -> None:
        self._before.extend(_preceding(block.data, len(block.data) + 1, self._count))


def _preceding(data: bytes, start: int, count: int) -> list[bytes]:
    """The last lines before `start`, which is where a line begins, in their order."""
    lines: list[bytes] = []
    while start > 0 and len(lines) < count:
        end = start - 1
        start = data.rfind(b"\n", 0, end) + 1
        lines.append(data[start : min(end, start + NEIGHBOUR_MAX + 1)])
    return lines[::-1]


def _following(data: bytes, start: int, count: int) -> list[bytes]:
    """The first lines from `start` on."""
    lines: list[bytes] = []
    while start <= len(data) and len(lines) < count:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        lines.append(data[start : min(end, start + NEIGHBOUR_MAX + 1)])
        start = end + 1
    return lines


def _short(line: bytes) -> str:
    if len(line) <= NEIGHBOUR_MAX:
        return line.decode(errors="replace")
    return line[:NEIGHBOUR_MAX].decode(errors="ignore") + "…"
