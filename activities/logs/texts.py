r"""Finds texts in bytes, and counts line breaks, as fast as memory is read.

Above: `patterns`, and what counts lines. Below: stringzilla, which is untyped and imported here only: with
vector instructions it looks for any text at the same speed, where `bytes.find` depends on its first letter and
`bytes.count` looks at each byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import stringzilla as _stringzilla

from activities.logs.literals import SHORTEST

_sz = cast(Any, _stringzilla)

Data = bytes | bytearray
First = Callable[[int], int]
"""Where a text is found first, from a place on; behind the end: nowhere."""

_LOWER = bytes(range(256)).lower()
_ASCII = re.compile(r"[\x00-\x7f]+")
_OTHER_FORMS = {"k": "\u212a", "s": "\u017f"}
"""The Kelvin sign and the long s: all that RE2 takes for an ASCII letter, and is none, where case is ignored."""


class Texts:
    """Texts of which a line has to hold one, to be looked for in many data."""

    def __init__(self, texts: Iterable[str], *, case_sensitive: bool) -> None:
        """Take the texts; without case only the longest ASCII part of each is looked for."""
        self._ignores_case = not case_sensitive
        if self._ignores_case:
            parts = [max(_ASCII.findall(text), key=len, default="").lower() for text in texts]
            others = [other for letter, other in _OTHER_FORMS.items() if any(letter in part for part in parts)]
        else:
            parts, others = list(texts), []
        worth = all(len(part.encode()) >= SHORTEST for part in parts)
        self._needles = tuple(part.encode() for part in dict.fromkeys([*parts, *others])) if worth else ()

    def __bool__(self) -> bool:
        """Whether looking for them is worth it."""
        return bool(self._needles)

    def within(self, data: Data, end: int) -> list[First]:
        """Return for each text what finds it in the data, up to `end`."""
        searched = _sz.translate(data, _LOWER) if self._ignores_case else data
        return [partial(_first, searched, needle, end) for needle in self._needles]


def newlines(data: Data, start: int = 0, end: int | None = None) -> int:
    """Count line breaks, from a place up to another."""
    return cast(int, _sz.count(data, b"\n", start, len(data) if end is None else end))


def _first(data: Data, text: bytes, end: int, start: int) -> int:
    place = cast(int, _sz.find(data, text, start, end))
    return end + 1 if place < 0 else place
