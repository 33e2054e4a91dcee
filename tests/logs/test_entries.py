"""Entries of several lines: found, counted and shown whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from activities.logs import LogSource, entries
from activities.logs.entries import by_entry, whole_entries
from activities.logs.patterns import Pattern
from activities.logs.reading import Block
from tests.logs.support import PLAIN, Logs, app

TRACE = "java.lang.IllegalStateException: pool closed\n\tat shop.Pool.take(Pool.java:41)\n\tat shop.Pay.run(Pay.java:7)"
LOG = f"""\
left over from before
2024-05-01 08:00:00 INFO started
2024-05-01 08:00:01 ERROR payment failed
{TRACE}
2024-05-01 08:00:02 WARN payment late
{TRACE}
2024-05-01 08:00:03 INFO stopped"""


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    """A log with stack traces."""
    return app(tmp_path, LOG, multiline=True, level_regex=r"^\S+ \S+ ([A-Z]+)")


def test_a_match_in_a_stack_trace_is_the_entry_it_belongs_to(logs: Logs) -> None:
    """Once, however many of its lines match, with the place of its first line."""
    result = logs.search(pattern="Pool|at shop")
    assert result["matched"] == 2
    assert result["lines"][0] == {
        "file": "app.log",
        "line": 3,
        "lines": 4,
        "time": "2024-05-01T08:00:01Z",
        "text": f"2024-05-01 08:00:01 ERROR payment failed\n{TRACE}",
    }
    assert result["first"]["text"] == result["lines"][0]["text"]


def test_an_entry_is_left_out_by_any_of_its_lines(logs: Logs) -> None:
    """And has the level of its first."""
    assert [line["line"] for line in logs.search(exclude="IllegalState")["lines"]] == [1, 2, 11]
    assert [line["line"] for line in logs.search(text="IllegalState", level="error")["lines"]] == [3]
    assert logs.search(text="left over", since="2024-05-01")["looked_at"]["left_out_without_time"] == 1


def test_context_is_the_lines_around_the_entry(logs: Logs) -> None:
    """Not lines of it."""
    [line] = logs.search(text="payment late", context=1)["lines"]
    assert line["context"] == {"before": [TRACE.split("\n")[-1]], "after": ["2024-05-01 08:00:03 INFO stopped"]}


def test_entries_are_counted_and_sorted_into_kinds_by_their_first_lines(logs: Logs) -> None:
    """Groups are those of the first line that matches."""
    counted = logs.count(pattern=r"at (?P<where>\S+)\(", group_by=["where"])
    assert [(group["key"]["where"], group["count"]) for group in counted["groups"]] == [("shop.Pool.take", 2)]
    kinds = logs.project("log_templates", source="app").agent_result["templates"]
    assert sum(kind["count"] for kind in kinds) == 5
    assert not any("shop.Pool" in kind["template"] for kind in kinds)


def test_without_the_declaration_each_line_stands_for_itself(tmp_path: Path) -> None:
    """With the time of the line before."""
    result = app(tmp_path, LOG).search(text="Pool.take")
    assert [(line["line"], line["time"]) for line in result["lines"]] == [
        (5, "2024-05-01T08:00:01Z"),
        (9, "2024-05-01T08:00:02Z"),
    ]


def test_a_line_that_repeats_another_is_no_entry_of_several(tmp_path: Path) -> None:
    """The two declarations do not go together."""
    with pytest.raises(ValidationError, match="`multiline` and `repeated` do not go together"):
        LogSource(name="app", path=tmp_path, multiline=True, repeated="(?P<count>.)", **PLAIN)


def begins(data: bytes, start: int) -> bool:
    return data.startswith(b"T", start)


def cut(lines: list[bytes], sizes: list[int]) -> Iterator[Block]:
    number = 1
    while lines:
        size = sizes[number % len(sizes)]
        some, lines = lines[:size], lines[size:]
        yield Block(b"\n".join(some), number, len(some), frozenset({number} if size == 2 else ()))
        number += len(some)


LINES = st.lists(st.sampled_from([b"T a", b"T b", b"a", b"b", b""]), min_size=1, max_size=20)


@given(
    LINES, st.lists(st.integers(min_value=1, max_value=4), min_size=1, max_size=5), st.sampled_from(["a", "b", "^$"])
)
def test_entries_are_the_same_wherever_the_file_is_cut_into_blocks(
    lines: list[bytes], sizes: list[int], pattern: str
) -> None:
    """No line is lost or moved, and an entry is found as often as one of its lines is."""
    blocks = list(whole_entries(cut(lines, sizes), begins))
    assert [line for block in blocks for line in block.data.split(b"\n")] == lines
    assert [block.first_line for block in blocks] == [1 + sum(b.lines for b in blocks[:n]) for n in range(len(blocks))]
    assert {number for block in blocks for number in block.cut} == {n for b in cut(lines, sizes) for n in b.cut}
    assert all(begins(block.data, 0) for block in blocks[1:])
    expected: list[list[bytes]] = []
    for number, line in enumerate(lines):
        if number == 0 or line.startswith(b"T"):
            expected.append([])
        expected[-1].append(line)
    found = [
        block.data[entry.start : entry.end]
        for block in blocks
        for entry in by_entry(Pattern(pattern).find(block.data), block.data, begins)
    ]
    matching = [entry for entry in expected if any(Pattern(pattern).first(line) is not None for line in entry)]
    assert found == [b"\n".join(entry) for entry in matching]


def test_an_entry_without_end_is_cut_where_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows counts as another."""
    monkeypatch.setattr(entries, "ENTRY_MAX", 10)
    blocks = list(whole_entries(cut([b"T"] + [b"xxxx"] * 9, [2]), begins))
    assert [block.lines for block in blocks] == [4, 4, 2]


def test_entries_reach_over_the_blocks_of_a_large_file(tmp_path: Path) -> None:
    """A trace of 100 lines again and again, far beyond one block."""
    trace = "\n".join(f"\tat shop.Step{number}" for number in range(100))
    log = "\n".join(
        f"2024-05-01 08:{number // 60:02}:{number % 60:02} failed {number}\n{trace}" for number in range(600)
    )
    result = app(tmp_path, log, multiline=True).search(text="Step99", limit=1, order="newest")
    assert (result["matched"], result["lines"][0]["line"], result["lines"][0]["lines"]) == (600, 599 * 101 + 1, 101)
