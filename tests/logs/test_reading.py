"""Lines come out of a byte stream the same however it is cut, ended, compressed or damaged."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.logs.reading import LINE_MAX, read_blocks

CONTENT = st.lists(
    st.sampled_from(
        [b"a", b"bc", b"\r", b"\n", b"\r\n", b"\xc3\xa9", b"\xff", b"\xc3", b"\0", b"\xef\xbb\xbf", b"x" * 40]
    ),
    max_size=40,
).map(b"".join)


def naive(content: bytes) -> list[bytes]:
    """The lines by the plainest reading of the rules."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line.removesuffix(b"\r").decode(errors="replace").encode() for line in lines]


def lines_of(content: bytes, size: int) -> list[bytes]:
    lines: list[bytes] = []
    for block in read_blocks(io.BytesIO(content).read, size):
        assert block.first_line == len(lines) + 1
        own = block.data.split(b"\n")
        assert block.lines == len(own)
        lines.extend(own)
    return lines


@given(CONTENT, st.integers(min_value=1, max_value=50))
def test_lines_do_not_depend_on_where_the_stream_is_cut(content: bytes, size: int) -> None:
    """CRLF, invalid UTF-8, NUL, a byte order mark and a missing last newline, at any block size."""
    assert lines_of(content, size) == naive(content)


@given(CONTENT)
def test_a_compressed_stream_has_the_lines_of_the_plain_one(content: bytes) -> None:
    """Also when gzip was appended to gzip, as some log rotations do."""
    half = len(content) // 2
    packed = gzip.compress(content[:half]) + gzip.compress(content[half:])
    blocks = read_blocks(gzip.GzipFile(fileobj=io.BytesIO(packed)).read)
    assert [line for block in blocks for line in block.data.split(b"\n")] == naive(content)


@settings(max_examples=25)
@given(
    st.integers(min_value=-6, max_value=6),
    st.sampled_from(["a", "é", "€", "😀"]),
    st.sampled_from([1000, 65_536, 1 << 20]),
)
def test_a_line_over_the_limit_is_cut_between_characters_and_the_next_one_is_whole(
    over: int, character: str, size: int
) -> None:
    """Exactly the limit is whole; one byte more is cut and flagged; line numbers go on."""
    line = "x" + character * ((LINE_MAX - 1 + over) // len(character.encode()))
    content = b"before\n" + line.encode() + b"\r\nafter\n"
    blocks = list(read_blocks(io.BytesIO(content).read, size))
    lines = [text for block in blocks for text in block.data.split(b"\n")]
    is_long = len(line.encode()) > LINE_MAX
    assert lines[0] == b"before"
    assert lines[2] == b"after"
    assert line.startswith(lines[1].decode())
    assert LINE_MAX - 4 < len(lines[1]) <= LINE_MAX if is_long else lines[1] == line.encode()
    assert frozenset[int]().union(*(block.cut for block in blocks)) == ({2} if is_long else set())


def test_a_huge_line_is_read_in_bounded_memory() -> None:
    """64 MB without a line break never makes a block of more than a few reads."""
    chunk, left = b"y" * 65_536, 1000

    def read(_: int) -> bytes:
        nonlocal left
        left -= 1
        return chunk if left >= 0 else b"\nend" if left == -1 else b""

    blocks = list(read_blocks(read))
    assert max(len(block.data) for block in blocks) <= 3 * LINE_MAX
    assert [line for block in blocks for line in block.data.split(b"\n")] == [b"y" * LINE_MAX, b"end"]


@pytest.mark.parametrize(
    ("content", "count"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\xef\xbb\xbf", 0)]
)
def test_a_line_is_what_ends_with_a_newline_or_with_the_file(content: bytes, count: int) -> None:
    """An empty file has none; a last newline ends a line and begins no other."""
    assert len(lines_of(content, 10)) == count
