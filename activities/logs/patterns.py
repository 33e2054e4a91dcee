"""RE2 patterns over log lines: linear time whatever the pattern, and no match across lines.

Above: `selection` and `source` compile patterns, `scan` runs them. Below: google-re2, which is
untyped and imported here only. A pattern means what it means on each line alone; that whole
blocks of lines are searched at once is this module's own affair.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, cast

import re2 as _re2  # pyright: ignore[reportMissingTypeStubs] - google-re2 ships none

from activities.logs.literals import required
from activities.logs.texts import Data, Texts

re2 = cast(Any, _re2)

LIMITS = (
    "patterns are RE2: no look-ahead or look-behind ((?=, (?!, (?<=, (?<!), no backreferences (\\1), no atomic or "
    "possessive groups, repeats up to 1000. For 'but not' use `exclude`; for the text around use a plain group"
)
"""What RE2 leaves out to stay linear, and what to write instead."""

BYTES_BETWEEN_TEXTS = 8 * 1024
"""Where required texts are met more often than this, matching whole blocks is faster."""

_UNANCHORED = re2._Anchor.UNANCHORED
_NOWHERE = -1

# In a block, \A and \z mean the block's ends and (?-m) makes ^ and $ mean the same; patterns with
# these are matched line by line. An escaped backslash before them only costs speed.
_LINE_BY_LINE = re.compile(r"\\[AzC]|\(\?[a-zA-Z]*-")

_IGNORE_CASE = "(?i)"
"""At the beginning it means the same as `case_sensitive=False`, which texts are looked for with."""

Capture = Literal["none", "named", "all"]
"""Which groups of a pattern to capture."""

Groups = tuple[bytes | None, ...]
"""What the captured groups matched, in the order they open; None: took no part."""

_Spans = list[tuple[int, int]]
_Match = Callable[[int, bytes, int, int], _Spans]


class BadPattern(ValueError):
    """The text is not a pattern RE2 takes; the message says why and what to write instead."""


class Found(NamedTuple):
    """A line of a block that matched, by its place in the block."""

    start: int
    end: int
    match_start: int
    groups: Groups = ()


class Pattern:
    """A compiled pattern; safe to share between threads."""

    def __init__(
        self, text: str, *, case_sensitive: bool = True, literal: bool = False, capture: Capture = "none"
    ) -> None:
        """Compile the text, as a literal if asked; matching is faster where nothing is captured.

        Raises:
            BadPattern: RE2 does not take it.
        """
        if not literal and text.startswith(_IGNORE_CASE):
            text, case_sensitive = text.removeprefix(_IGNORE_CASE), False
        source = escaped(text) if literal else text
        options = _options(case_sensitive, capture=capture != "none")
        by_line = _compiled(source, options)
        named = cast("dict[str, int]", by_line.groupindex)
        self.names: tuple[str, ...] = tuple(sorted(named, key=lambda name: named[name]))
        """Names of the named groups, in the order they open."""
        self.size = cast(int, _compiled(source, _options(case_sensitive, capture=True)).groups)
        """Number of groups, named or not."""
        places = {"none": (), "named": tuple(named[name] for name in self.names), "all": range(1, self.size + 1)}
        self._places = tuple(places[capture])
        self._line_match = _matcher(by_line)
        whole = None if not literal and _LINE_BY_LINE.search(text) else _compiled("(?m)" + source, options)
        self._block_match = None if whole is None else _matcher(whole)
        self._required = Texts(required(source), case_sensitive=case_sensitive)

    @property
    def requires_texts(self) -> bool:
        """Whether `places` can tell where it may match."""
        return bool(self._required)

    def places(self, data: Data, end: int) -> list[int] | None:
        """Where lines may match, up to a place, in order; None: too often for looking there to be worth it.

        The bytes need not be valid UTF-8.
        """
        found: list[int] = []
        for first in self._required.within(data, end):
            position, most = 0, len(found) + end // BYTES_BETWEEN_TEXTS + 1
            while position <= end and (place := first(position)) <= end:
                found.append(place)
                if len(found) > most:
                    return None
                newline = data.find(b"\n", place, end)
                position = newline + 1 if newline >= 0 else end + 1
        return sorted(found)

    def first(self, line: bytes) -> Groups | None:
        """Match one line; return what its captured groups matched, or None."""
        found = self._find_in_line(line, 0)
        return None if found is None else found.groups

    def find(self, data: bytes) -> Iterator[Found]:
        r"""Yield the lines of a block that match, in order; the block has no `\n` at its end."""
        if self._block_match is None:
            return self._find_by_line(data)
        if self._required and len(data) > BYTES_BETWEEN_TEXTS:
            return self._find_near_texts(data, self._block_match)
        return self._find_in_block(data, self._block_match)

    def _find_near_texts(self, data: bytes, match: _Match) -> Iterator[Found]:
        """Match only lines that hold a required text, as long as these are few."""
        end, position = len(data), 0
        finders = self._required.within(data, end)
        places = [_NOWHERE] * len(finders)
        for _ in range(end // BYTES_BETWEEN_TEXTS + 1):
            places = [
                place if place >= position else first(position) for place, first in zip(places, finders, strict=True)
            ]
            place = min(places)
            if place > end:
                return
            start = data.rfind(b"\n", 0, place) + 1
            stop = data.find(b"\n", place)
            if stop < 0:
                stop = end
            spans = match(_UNANCHORED, data, start, stop)
            if spans[0][0] != _NOWHERE:
                yield Found(start, stop, spans[0][0], self._groups(data, spans))
            position = stop + 1
            if position > end:
                return
        yield from self._find_in_block(data, match, position)

    def _find_in_block(self, data: bytes, match: _Match, position: int = 0) -> Iterator[Found]:
        end = len(data)
        while True:
            spans = match(_UNANCHORED, data, position, end)
            begin, last = spans[0]
            if begin == _NOWHERE:
                return
            start = data.rfind(b"\n", 0, begin) + 1
            stop = data.find(b"\n", last)
            if stop < 0:
                stop = end
            yield Found(start, stop, begin, self._groups(data, spans))
            position = stop + 1
            if position > end:
                return

    def _find_by_line(self, data: bytes) -> Iterator[Found]:
        for start, end in line_bounds(data):
            found = self._find_in_line(data[start:end], start)
            if found is not None:
                yield found

    def _find_in_line(self, line: bytes, offset: int) -> Found | None:
        spans = self._line_match(_UNANCHORED, line, 0, len(line))
        begin = spans[0][0]
        if begin == _NOWHERE:
            return None
        return Found(offset, offset + len(line), offset + begin, self._groups(line, spans))

    def _groups(self, subject: bytes, spans: _Spans) -> Groups:
        found: list[bytes | None] = []
        for place in self._places:
            start, end = spans[place]
            found.append(None if start == _NOWHERE else subject[start:end])
        return tuple(found)


def escaped(text: str) -> str:
    """Write a pattern that matches the text and nothing else."""
    return cast(str, re2.escape(text))


def line_bounds(data: bytes) -> Iterator[tuple[int, int]]:
    r"""Yield start and end of each line of a block; the block has no `\n` at its end."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        yield start, end
        start = end + 1
    yield start, len(data)


def _options(case_sensitive: bool, *, capture: bool) -> Any:
    options = re2.Options()
    options.case_sensitive = case_sensitive
    options.never_nl = True
    options.never_capture = not capture
    options.log_errors = False
    return options


def _compiled(source: str, options: Any) -> Any:
    try:
        return re2.compile(source, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not a pattern"
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise BadPattern(f"{reason}; {LIMITS}") from None
    except UnicodeEncodeError:
        raise BadPattern("not valid Unicode") from None


def _matcher(compiled: Any) -> _Match:
    # The wrapped RE2 object itself: `search` builds a generator and a match object per call, which
    # makes dense matching three times slower.
    return cast(_Match, compiled._regexp.Match)
