"""A pattern means on a block of lines what it means on each line alone, and never takes long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.logs.patterns import BadPattern, Pattern, line_bounds

PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\s",
        r"\S",
        "^",
        "$",
        r"\b",
        r"\B",
        r"\A",
        r"\z",
        "[^a]",
        "(?s:.)",
        "(?i:A)",
        "(?P<g>a|b*)",
        "é",
        r"\n",
    ]
)
SUFFIXES = st.sampled_from(["", "", "*", "+?", "{2}", "|"])
PATTERNS = st.lists(st.tuples(PIECES, SUFFIXES), min_size=1, max_size=4).map(
    lambda parts: "".join(piece + suffix for piece, suffix in parts)
)
LINES = st.lists(st.text(alphabet="abA \té\0", max_size=6), min_size=1, max_size=8)


def compiled(text: str) -> Pattern | None:
    try:
        return Pattern(text, capture="named")
    except BadPattern:
        return None


@given(PATTERNS, LINES)
def test_searching_a_block_finds_what_searching_each_line_finds(text: str, lines: list[str]) -> None:
    """Anchors, white space and negated classes never reach across a line break, whatever the pattern."""
    pattern = compiled(text)
    if pattern is None:
        return
    data = "\n".join(lines).encode()
    line_by_line = [(bounds, pattern.first(data[slice(*bounds)])) for bounds in line_bounds(data)]
    expected = [(bounds, groups) for bounds, groups in line_by_line if groups is not None]
    assert [((found.start, found.end), found.groups) for found in pattern.find(data)] == expected


@given(st.text(max_size=4), LINES)
def test_a_literal_finds_the_lines_that_contain_it(text: str, lines: list[str]) -> None:
    """No character of a literal is special."""
    data = "\n".join(lines).encode()
    expected = [line for line in data.split(b"\n") if text.encode() in line]
    found = Pattern(text, literal=True).find(data)
    assert [data[line.start : line.end] for line in found] == ([] if "\n" in text else expected)


@pytest.mark.parametrize("text", ["(a+)+$", "^(a|a)*$", "(.*)(.*)(.*)(.*)(.*)[^a!]$", "(a?){30}a{30}$"])
def test_a_pattern_that_would_backtrack_for_ever_answers_at_once(text: str) -> None:
    """Nested repeats on a long line of `a` with a last character that does not fit: elsewhere, no end."""
    line = b"a" * 60_000 + b"!"
    assert list(Pattern(text).find(line)) == []


@pytest.mark.parametrize(
    "text", ["(?<=a)b", "(?<!a)b", "a(?=b)", "a(?!b)", r"(a)\1", "(?>a)", "a++b", "a{1,2000}", "[", "a)(b", r"a\Z"]
)
def test_what_re2_does_not_take_is_refused_with_what_to_write_instead(text: str) -> None:
    """The message names the limit and the way around it."""
    with pytest.raises(BadPattern, match=r"(?s)RE2.*look-behind.*`exclude`"):
        Pattern(text)


def test_names_are_those_of_the_groups_in_the_order_they_open() -> None:
    """Unnamed groups between them change nothing; a group that took no part is None."""
    pattern = Pattern(r"(x)?(?P<second>b)|(?P<first>a)", capture="named")
    assert pattern.names == ("second", "first")
    assert pattern.first(b"a") == (None, b"a")
    assert pattern.size == 3
