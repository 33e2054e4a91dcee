r"""Cuts a byte stream into blocks of whole lines, in bounded memory whatever the file holds.

Above: `scan` and `listing`. Below: a `read` function, `texts`. A line ends at `\n`; a `\r` before it, or
at the very end, is not part of it, nor is a byte order mark at the start. Bytes that are not
UTF-8 become U+FFFD. A line over `LINE_MAX` is cut there and the rest of it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from activities.logs.texts import newlines

BLOCK_BYTES = 128 * 1024
"""Read at once: large enough for RE2 to run long, small enough to stay in a processor's cache."""

LINE_MAX = 64 * 1024
"""Bytes of a line, in UTF-8."""

BOM = b"\xef\xbb\xbf"
"""Dropped at the beginning of a file."""

_KEPT = LINE_MAX + 4
"""Of a line that has no end yet: one character more than is shown, so that the cut is seen."""


@dataclass(frozen=True, slots=True)
class Block:
    r"""Whole lines, joined by `\n`, without one at the end."""

    data: bytes
    """Valid UTF-8."""
    first_line: int
    """Number of its first line within the file, from 1."""
    lines: int
    cut: frozenset[int]
    """Numbers of lines that were longer than `LINE_MAX`."""

    def renumbered(self, number: int) -> Block:
        """Return it with the number of its first line counted from another one than 1."""
        if number == 1:
            return self
        by = number - 1
        return Block(self.data, self.first_line + by, self.lines, frozenset(line + by for line in self.cut))

    def followed_by(self, block: Block) -> Block:
        """Return one block with the lines of both."""
        data = b"\n".join((self.data, block.data))
        return Block(data, self.first_line, self.lines + block.lines, self.cut | block.cut)

    def split(self, start: int) -> tuple[Block, Block]:
        """Return the lines before the one at `start`, and it and those after it."""
        lines = newlines(self.data, 0, start)
        first = self.first_line + lines
        earlier = frozenset(number for number in self.cut if number < first)
        return (
            Block(self.data[: start - 1], self.first_line, lines, earlier),
            Block(self.data[start:], first, self.lines - lines, self.cut - earlier),
        )

    def is_cut(self, line: int, text: bytes) -> bool:
        """Whether one of the lines of a text, which begins with that line, was longer than `LINE_MAX`."""
        return bool(self.cut) and not self.cut.isdisjoint(range(line, line + newlines(text) + 1))


def read_blocks(read: Callable[[int], bytes], size: int = BLOCK_BYTES, *, from_start: bool = True) -> Iterator[Block]:
    """Yield the stream's lines in blocks of about `size` bytes; `from_start`: they are the first ones of a file."""
    number = 1
    for data in _whole_lines(_without_bom(read) if from_start else read, size):
        block = block_of(data, number)
        number += block.lines
        yield block


def told(read: Callable[[int], bytes], tell: Callable[[int], None]) -> Callable[[int], bytes]:
    """Return a reader that also tells how many bytes it read each time."""

    def telling(count: int) -> bytes:
        chunk = read(count)
        tell(len(chunk))
        return chunk

    return telling


def _whole_lines(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    tail = b""
    overlong = False
    while chunk := read(size):
        if overlong:
            newline = chunk.find(b"\n")
            if newline < 0:
                continue
            chunk = chunk[newline:]
            overlong = False
        end = chunk.rfind(b"\n")
        if end >= 0:
            yield b"".join((tail, memoryview(chunk)[:end]))
            tail = chunk[end + 1 :]
        else:
            tail += chunk
        if len(tail) > _KEPT:
            tail, overlong = tail[:_KEPT], True
    if tail:
        yield tail


def _without_bom(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    start = b""
    while len(start) < len(BOM) and (chunk := read(len(BOM) - len(start))):
        start += chunk
    first = b"" if start == BOM else start

    def rest(count: int) -> bytes:
        nonlocal first
        if first:
            chunk, first = first, b""
            return chunk
        return read(count)

    return rest


def block_of(data: bytes, number: int) -> Block:
    r"""Make a block of whole lines as they stand in a file, without `\n` at the end; `number` is that of the first."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if not data.isascii():
        data = _as_utf8(data)
    cut: frozenset[int] = frozenset()
    if _has_overlong_line(data):
        data, cut = _cut(data, number)
    return Block(data, number, newlines(data) + 1, cut)


def as_read(line: bytes) -> bytes:
    r"""Return a single line as it would stand in a block; it has no `\n`."""
    return block_of(line, 1).data


def _as_utf8(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode()
    return data


def _has_overlong_line(data: bytes) -> bool:
    start = 0
    while len(data) - start > LINE_MAX:
        newline = data.rfind(b"\n", start, start + LINE_MAX + 1)
        if newline < 0:
            return True
        start = newline + 1
    return False


def _cut(data: bytes, number: int) -> tuple[bytes, frozenset[int]]:
    lines = data.split(b"\n")
    cut: set[int] = set()
    for place, line in enumerate(lines):
        if len(line) > LINE_MAX:
            # Not in the middle of a character: what is left of one is dropped, too.
            lines[place] = line[:LINE_MAX].decode(errors="ignore").encode()
            cut.add(number + place)
    return b"\n".join(lines), frozenset(cut)
