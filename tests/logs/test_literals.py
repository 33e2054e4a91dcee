"""The texts a pattern requires: a line that matches always contains one of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.logs.literals import required
from activities.logs.patterns import BadPattern, Pattern

ODD = ["a", "b", r"\.", r"\[", "[ab]", "[^a]", "[]a]", "[[:alpha:]]", r"[\]b]", ".", "^", "$", r"\b", r"\w", "é"]
ATOMS = st.sampled_from(["abc", "bca", "(abc)"]) | st.sampled_from(ODD)
REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "??", "{0,2}", "{2}", "{1,}"])
SEQUENCES = st.lists(st.tuples(ATOMS, REPEATS).map("".join), max_size=3).map("".join)
OPENINGS = st.sampled_from(["(", "(?:", "(?P<g>", "(?i:"])
PATTERNS = st.recursive(
    SEQUENCES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(
            SEQUENCES, st.sampled_from(["(", "(?:", "(?P<g>", "(?i:"]), inner, st.just(")"), REPEATS, SEQUENCES
        ).map("".join),
    ),
    max_leaves=5,
)
LINES = st.lists(st.sampled_from(["abc", "bca", "a", "b", "c", ".", "[", "]", "é", " "]), max_size=4).map("".join)


@settings(max_examples=500)
@given(PATTERNS, LINES)
def test_a_match_contains_one_of_the_required_texts(pattern: str, line: str) -> None:
    """RE2 itself is asked on each line alone, where nothing is required beforehand."""
    try:
        matches = Pattern(pattern).first(line.encode()) is not None
    except BadPattern:
        return
    texts = required(pattern)
    assert not (matches and texts) or any(text in line for text in texts)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("nosuchthing|otherthing", ["nosuchthing", "otherthing"]),
        (r" ERROR \[\w+\] (?P<what>timeout|refused)", [" ERROR ["]),
        (r"\d+ ms: (?:slow|lost) query", [" query"]),
        (r"(?P<ip>[0-9.]+) \[error\]", [" [error]"]),
        ("(?:abcde){2}x", ["abcde"]),
        ("(?:warn|error|fatal)+", ["warn", "error", "fatal"]),
        ("Müller.*", ["Müller"]),
    ],
)
def test_the_longest_text_is_required(pattern: str, texts: list[bytes]) -> None:
    """Where there are several, the one that is met least; of alternatives, all."""
    assert list(required(pattern)) == texts


@pytest.mark.parametrize(
    "pattern",
    ["", "ab", "(?i)error", "(?i:error)", "error|", "(error)?", "(error){0}", "[error]", r"\x65rror", r"\Qerror\E",
     "a|longer", "one|two|three|four|five", "(" * 30 + "error" + ")" * 30, r"[\pL]error|x"],
)  # fmt: skip
def test_nothing_is_required_where_it_is_not_known_or_not_worth_it(pattern: str) -> None:
    """Short texts, many, other cases of a letter, deep nesting, what is not read here."""
    assert required(pattern) == ()
