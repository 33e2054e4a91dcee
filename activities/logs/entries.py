r"""Entries of several lines, such as an error with its stack trace: blocks that cut none, hits that are whole ones.

Above: `scan` and `selection`. Below: `reading`. An entry is a line with a time of its own and the lines without one
that follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from activities.logs.patterns import Found
from activities.logs.reading import Block

ENTRY_MAX = 1024 * 1024
"""Bytes of an entry; of a longer one, what follows counts as another."""

Begins = Callable[[bytes, int], bool]
"""Whether the line at a place of a block begins an entry."""


def whole_entries(blocks: Iterator[Block], begins: Begins) -> Iterator[Block]:
    """Regroup lines so that each block begins with an entry, as far as entries are no longer than `ENTRY_MAX`."""
    held: Block | None = None
    for block in blocks:
        last = _last_start(block.data, begins)
        if last is None:
            held = block if held is None else held.followed_by(block)
            if len(held.data) > ENTRY_MAX:
                yield held
                held = None
            continue
        if last > 0:
            before, block = block.split(last)
            held = before if held is None else held.followed_by(before)
        if held is not None:
            yield held
        held = block
    if held is not None:
        yield held


def by_entry(lines: Iterator[Found], data: bytes, begins: Begins) -> Iterator[Found]:
    """Yield the entries of matching lines, each once, with the groups of its first matching line."""
    end = -1
    for line in lines:
        if line.start <= end:
            continue
        start = line.start
        while start > end + 1 and not begins(data, start):
            start = data.rfind(b"\n", 0, start - 1) + 1
        end = line.end
        while end < len(data) and not begins(data, end + 1):
            following = data.find(b"\n", end + 1)
            end = following if following >= 0 else len(data)
        yield Found(start, end, line.match_start, line.groups)


def _last_start(data: bytes, begins: Begins) -> int | None:
    start = data.rfind(b"\n") + 1
    while not begins(data, start):
        if start == 0:
            return None
        start = data.rfind(b"\n", 0, start - 1) + 1
    return start
