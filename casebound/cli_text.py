"""Text from tools, planners and logs, made safe to print on a terminal.

Log lines are written by strangers: an escape sequence in one must not clear the screen, recolour
a verdict or turn the reading order round. Such characters are shown, not sent.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_KEPT = {"\n", "\t"}
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories: controls, invisible formatting (bidirectional overrides), surrogates, separators."""


@dataclass(frozen=True)
class Line:
    """One line of output, or a paragraph whose lines stand as they were written, with a rich style for all of it."""

    text: str = ""
    style: str = ""
    hang: int | None = None
    """Columns by which its rest is indented where a terminal is too narrow; None: it is never broken, so that it can
    be copied whole."""


def visible(text: str) -> str:
    """Replace every control or invisible character but newline and tab by its escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def one_line(text: str, limit: int) -> str:
    """Make visible text of one line, at most `limit` characters, blanks folded."""
    folded = visible(" ".join(text.split()))
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def exact_line(text: str, limit: int) -> str:
    """Make visible text of one line, at most `limit` characters, in which every blank stays as it is."""
    shown = visible(text[: limit + 1]).replace("\n", "\\n")
    return shown if len(text) <= limit and len(shown) <= limit else shown[: limit - 1] + "…"


def human_bytes(count: int) -> str:
    """Write a number of bytes with at most one decimal."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"


def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
