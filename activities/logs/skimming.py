r"""Reads only the lines of a large file that may match, where texts tell which these are; the others are counted.

Above: `scan`. Below: `files` for parts of a file, `reading` for blocks, `texts`. Blocks come in order, as `read_blocks`
yields them, but hold just the lines around such a text, with a line before them that has a time; and the first and last
lines. From where such texts are many, the rest of the file is read as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from activities.logs.files import Part
from activities.logs.reading import BOM, Block, as_read, block_of, read_blocks
from activities.logs.texts import newlines

PIECE_BYTES = 4 * 1024 * 1024
"""Read at once, into memory that is used again: new memory for each block costs as much as reading."""

Places = Callable[[bytearray, int], list[int] | None]
"""Finds, up to a place, where lines may match, in order; None: too often for skimming."""

Timed = Callable[[bytes, int], bool]
"""Whether the line at a place has a time of its own."""


def skim_blocks(
    part: Part, start: int, end: int, places: Places, timed: Timed, tell: Callable[[int], None]
) -> Iterator[Block]:
    """Yield blocks of lines of the part from `start`, where a line begins, up to `end`; `tell` how much was read."""
    if start == 0 and part.at(0, len(BOM)) == BOM:
        start = len(BOM)
    buffer = bytearray(min(PIECE_BYTES, max(end - start, 1)))
    number = 1
    while count := part.into(memoryview(buffer)[: max(end - start, 0)], start):
        tell(count)
        stop = count if start + count >= end else buffer.rfind(b"\n", 0, count) + 1
        found = places(buffer, stop)
        if found is None or stop == 0:  # or within a line longer than all that is read at once
            yield from (block.renumbered(number) for block in read_blocks(part.between(start, end), from_start=False))
            return
        piece = _Piece(buffer, stop, number, timed)
        yield from piece.around([0, *found, stop - 1] if number == 1 else [*found, stop - 1])
        number = piece.number_at(stop)
        start += stop


class _Piece:
    """What was read at once: whole lines."""

    def __init__(self, buffer: bytearray, stop: int, number: int, timed: Timed) -> None:
        self._buffer = buffer
        self._stop = stop
        self._timed = timed
        self._counted = 0
        self._number = number

    def around(self, places: list[int]) -> Iterator[Block]:
        """Yield the lines at the places, each with those back to one that has a time, none twice."""
        done = 0
        for place in places:
            if place < done:
                continue
            start, end = self._line(place)
            number = self.number_at(start)
            block = block_of(self._copied(start, end), number)
            if start > done and not self._timed(block.data, 0):
                start, lines = self._back_to_time(start, done)
                block = block_of(self._copied(start, end), number - lines)
            yield block
            done = end + 1

    def _back_to_time(self, start: int, done: int) -> tuple[int, int]:
        """Where the last line before `start` begins that has a time, or else what is not done; and how far back."""
        lines = 0
        while start > done:
            stop = start - 1
            start = self._buffer.rfind(b"\n", 0, stop) + 1
            lines += 1
            if self._timed(as_read(self._copied(start, stop)), 0):
                break
        return start, lines

    def number_at(self, place: int) -> int:
        """Number of the line that begins at the place, which is not before one asked for earlier."""
        self._number += newlines(self._buffer, self._counted, place)
        self._counted = place
        return self._number

    def _copied(self, start: int, end: int) -> bytes:
        return bytes(memoryview(self._buffer)[start:end])

    def _line(self, place: int) -> tuple[int, int]:
        end = self._buffer.find(b"\n", place, self._stop)
        return self._buffer.rfind(b"\n", 0, place) + 1, end if end >= 0 else self._stop
