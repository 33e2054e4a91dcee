"""Texts are found where Python finds them, and where RE2 would, if case is ignored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.logs.patterns import Pattern
from activities.logs.texts import Texts, newlines

LETTERS = st.sampled_from([b"a", b"b", b"\n", b"\xff", b"abc", b"x" * 70, "é".encode()])
DATA = st.lists(LETTERS, max_size=40).map(b"".join)
LONG_S, KELVIN = "\u017f", "\u212a"
EVERY_CHARACTER = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]


@settings(max_examples=500)
@given(DATA, st.sampled_from(["abc", "bab", "aaa", "xxxx", "aé"]), st.integers(0, 300), st.integers(0, 300))
def test_a_text_is_found_where_python_finds_it(data: bytes, text: str, start: int, end: int) -> None:
    """From any place on, up to any place; behind the end: nowhere."""
    end = min(end, len(data))
    start = min(start, end)
    (first,) = Texts([text], case_sensitive=True).within(bytearray(data), end)
    found = data.find(text.encode(), start, end)
    assert first(start) == (found if found >= 0 else end + 1)


@given(DATA, st.integers(0, 300), st.integers(0, 300))
def test_line_breaks_are_counted(data: bytes, start: int, end: int) -> None:
    """Within any part."""
    end = min(end, len(data))
    start = min(start, end)
    assert newlines(data, start, end) == data[start:end].count(b"\n")


@pytest.mark.parametrize("text", ["Kafka lost", "ASK", "error", "Straße 7", "naïve text"])
def test_without_case_each_form_re2_takes_is_found(text: str) -> None:
    """A line that matches holds something that is looked for."""
    texts, pattern = Texts([text], case_sensitive=False), Pattern(text, case_sensitive=False)
    low = text.lower()
    forms = (text, text.upper(), low, text.swapcase(), low.replace("s", LONG_S), low.replace("k", KELVIN))
    matched = [form.encode() for form in forms if pattern.first(form.encode()) is not None]
    assert len(matched) >= 4
    for line in matched:
        assert any(first(0) <= len(line) for first in texts.within(line, len(line)))


def test_the_forms_of_ascii_letters_that_are_not_ascii_are_all_known() -> None:
    """RE2 is asked for every character there is."""
    data = "\n".join(EVERY_CHARACTER).encode()
    taken = [data[found.start : found.end].decode() for found in Pattern("[a-z]", case_sensitive=False).find(data)]
    assert taken == [LONG_S, KELVIN]
    assert Pattern("s", case_sensitive=False).first(LONG_S.encode()) is not None
    assert Pattern("k", case_sensitive=False).first(KELVIN.encode()) is not None


@pytest.mark.parametrize("text", ["ab", "日本語x", "ü"])
def test_a_text_whose_ascii_part_is_short_is_not_looked_for_without_case(text: str) -> None:
    """It would be met too often."""
    assert not Texts([text], case_sensitive=False)
