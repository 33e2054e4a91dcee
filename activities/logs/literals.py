r"""Finds texts of which every match of an RE2 pattern contains one, so that blocks without any need no search.

Above: `patterns`. Below: nothing. Text is looked for many times faster than most patterns match. It reads the common
part of RE2's syntax; of a pattern with anything else it says that it does not know. It may miss a text, never name a
wrong one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SHORTEST = 3
"""Bytes; shorter texts are in most blocks."""

MOST = 4
"""Texts of one pattern; looking for more costs as much as matching."""

_REPLACEMENT = "\ufffd"
"""Stands for bytes that are not UTF-8, too: texts are looked for before these are replaced."""

_DEEPEST = 20
"""Groups inside of groups."""

_PUNCTUATION = frozenset(r"\.+*?()|[]{}^$-/:\"'#&,;<>=@!%~` _")
"""Characters that mean themselves after a backslash."""

_UNKNOWN_TEXT = re.compile(r"\\[dDsSwWbB]|\.|\^|\$|\[\^?\]?(?:\[:\^?[a-z]+:\]|\\[^pPQE]|[^\]\\\[])*\]")
"""Parts that match something, or a place, that is not known. `\b` inside of brackets is refused by RE2 itself."""

_REPEAT = re.compile(r"(?:(?P<least>[*+?])|\{(?P<from>\d+)(?:,\d*)?\})\??")
_GROUP = re.compile(r"\((?:\?:|\?P?<\w+>)?(?!\?)")


class _NotKnown(Exception):
    """The pattern holds something that is not read here."""


@dataclass(frozen=True)
class _Part:
    """What is known of a part of a pattern."""

    exact: str | None = None
    """The text it matches, where it matches only one."""
    needed: tuple[str, ...] = ()
    """Texts of which each of its matches contains one; none: not known."""


def required(pattern: str) -> tuple[str, ...]:
    """Return texts of which each match contains at least one; none where that is not known, or not worth looking for.

    The pattern is one that RE2 takes. Where it ignores case, so do the texts.
    """
    reader = _Reader(pattern)
    try:
        part = reader.alternatives()
    except _NotKnown:
        return ()
    if reader.left:
        return ()
    return part.needed if _worth(part.needed) else ()


class _Reader:
    """Reads a pattern from its beginning on."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0
        self._depth = 0

    @property
    def left(self) -> str:
        """What has not been read."""
        return self._pattern[self._place :]

    def alternatives(self) -> _Part:
        """Read up to the end, or to the end of the group."""
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        if not all(part.needed for part in parts):
            return _Part()
        return _Part(needed=tuple(dict.fromkeys(text for part in parts for text in part.needed)))

    def _sequence(self) -> _Part:
        run, whole = "", True
        known: list[tuple[str, ...]] = []
        while self.left and self.left[0] not in "|)":
            part = self._repeated(self._one())
            if part.exact is not None:
                run += part.exact
                continue
            whole = False
            known += [(run,), part.needed]
            run = ""
        if whole:
            return _Part(exact=run, needed=(run,) if run else ())
        return _Part(needed=max([*known, (run,)], key=_value))

    def _one(self) -> _Part:
        if self._match(_UNKNOWN_TEXT):
            return _Part()
        if self._match(_GROUP):
            return self._group()
        letter = self.left[0]
        if letter == "\\":
            letter = self.left[1:2]
            if letter not in _PUNCTUATION:
                raise _NotKnown
            self._place += 1
        elif letter in "[(*+?{\n":
            raise _NotKnown
        self._place += 1
        if letter == _REPLACEMENT:
            return _Part()
        return _Part(exact=letter, needed=(letter,))

    def _group(self) -> _Part:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotKnown
        inner = self.alternatives()
        if not self._take(")"):
            raise _NotKnown
        self._depth -= 1
        return inner

    def _repeated(self, part: _Part) -> _Part:
        match = _REPEAT.match(self._pattern, self._place)
        if match is None:
            return part
        self._place = match.end()
        if _REPEAT.match(self._pattern, self._place) is not None:
            raise _NotKnown
        never = match["least"] in ("*", "?") or (match["from"] is not None and int(match["from"]) == 0)
        return _Part() if never else _Part(needed=part.needed)

    def _take(self, letter: str) -> bool:
        if not self.left.startswith(letter):
            return False
        self._place += 1
        return True

    def _match(self, form: re.Pattern[str]) -> bool:
        match = form.match(self._pattern, self._place)
        if match is None:
            return False
        self._place = match.end()
        return True


def _value(texts: tuple[str, ...]) -> int:
    """How much looking for the texts is worth: the shortest is met most often."""
    return min(map(len, texts)) if _worth(texts) else 0


def _worth(texts: tuple[str, ...]) -> bool:
    return 0 < len(texts) <= MOST and min(len(text.encode()) for text in texts) >= SHORTEST
