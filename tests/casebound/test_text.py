"""Text of strangers on a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebound.cli_text import exact_line, human_bytes, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve — 漢字 ✔", "naïve — 漢字 ✔"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\rb\x07", "a\\rb\\x07"),
        ("abc\u202edef", "abc\\u202edef"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("lone \ud800", "lone \\ud800"),
        ("tab\tnew\nline", "tab\tnew\nline"),
    ],
)
def test_control_characters_are_shown_not_sent(text: str, shown: str) -> None:
    """Escapes, carriage returns and reading-order overrides lose their power."""
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)), st.integers(1, 60))
def test_one_line_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    """Whatever a tool says."""
    for line in (one_line(text, limit), exact_line(text, limit).replace("\t", " ")):
        assert len(line) <= limit
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"], include_characters="\t"))
)
def test_an_exact_line_is_the_text_itself_unless_it_would_act_on_the_terminal(text: str) -> None:
    """No blank is folded, so what is copied is found where it came from."""
    assert exact_line(text, len(text)) == text
    assert exact_line(text, max(1, len(text) - 1)).removesuffix("…") in text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (64 << 20, "64 MiB"), (5 << 40, "5120 GiB")],
)
def test_bytes_are_written_for_people(count: int, text: str) -> None:
    """In powers of 1024."""
    assert human_bytes(count) == text
