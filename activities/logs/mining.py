"""Mines templates from lines: what varies is masked, lines that then differ in few words are one template.

Above: `templates`. Below: `patterns` for what a pattern may hold. The method is Drain's (He et al., "Drain: An Online
Log Parsing Approach with Fixed Depth Tree", ICWS 2017) with masks before it: templates of one number of words and one
first word are compared, and a line joins the one it shares most words with, if these are `ALIKE` of them. Everything is
bounded: a log in which no line is like another costs no more memory than one of a thousand templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from activities.logs.patterns import escaped

ALIKE = 0.6
"""Share of equal words from which on a line is of a template; Drain's authors use 0.4 to 0.7."""

SIDE_BY_SIDE = 100
"""Templates of one length and first word that are compared with a line; what is like none of them is the rest."""

MAX_TEMPLATES = 2000
WORDS_MAX = 200
"""Of a line; what follows is not compared."""

WORD_MAX = 200
"""Bytes of a word that stands in a pattern as it is; a longer one is any word there."""

_REMEMBERED = 20_000
"""Masked lines whose template is known without comparing."""

ANY = b"<*>"

_MASKS: tuple[tuple[bytes, re.Pattern[bytes], str], ...] = (
    (
        b"<uuid>",
        re.compile(rb"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"),
        "[0-9a-fA-F-]{36}",
    ),
    (b"<ip>", re.compile(rb"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"),
    (
        b"<hex>",
        re.compile(rb"\b(?:0x[0-9a-fA-F]+|(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{8,})\b"),
        "(?:0x)?[0-9a-fA-F]+",
    ),
    (b"<num>", re.compile(rb"\d+(?:[.,:]\d+)*"), r"\d+(?:[.,:]\d+)*"),
)
_PATTERNS = {mask: pattern for mask, _, pattern in _MASKS} | {ANY: "[^ ]*"}
_MASK = re.compile(b"|".join(re.escape(mask) for mask in _PATTERNS))

Seen = TypeVar("Seen")


@dataclass(slots=True)
class Template(Generic[Seen]):
    """Lines that read alike."""

    words: list[bytes]
    seen: Seen
    """What its user keeps of its lines."""

    @property
    def text(self) -> str:
        """The template, `<num>`, `<ip>`, `<hex>`, `<uuid>` and, for any word, `<*>` where lines differ."""
        return b" ".join(self.words).decode(errors="replace")

    def pattern(self, longest: int) -> str:
        """Write an RE2 pattern that its lines match, of at most so many characters: of a long one, the beginning."""
        parts = [_pattern_of(word) for word in self.words]
        while len(" ".join(parts)) > longest:
            parts.pop()
        return " ".join(parts)


class Miner(Generic[Seen]):
    """Sorts lines into templates."""

    def __init__(self) -> None:
        self.templates: list[Template[Seen]] = []
        self._alike: dict[tuple[int, bytes], list[Template[Seen]]] = {}
        self._known: dict[bytes, Template[Seen]] = {}

    def find(self, masked: bytes, new: Seen) -> Template[Seen] | None:
        """Return the line's template, made with `new` if it is the first of its kind; None: there are too many."""
        known = self._known.get(masked)
        if known is not None:
            return known
        words = masked.split(b" ")[:WORDS_MAX]
        template = self._joined(words) or self._added(words, new)
        if template is not None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[masked] = template
        return template

    def _joined(self, words: list[bytes]) -> Template[Seen] | None:
        best, most = None, max(ALIKE * len(words), 1)
        for template in self._alike.get(_bucket(words), ()):
            same = sum(map(bytes.__eq__, template.words, words))
            if same >= most and (best is None or same > most):
                best, most = template, same
        if best is not None:
            best.words = [own if own == word else ANY for own, word in zip(best.words, words, strict=True)]
        return best

    def _added(self, words: list[bytes], new: Seen) -> Template[Seen] | None:
        alike = self._alike.setdefault(_bucket(words), [])
        if len(alike) >= SIDE_BY_SIDE or len(self.templates) >= MAX_TEMPLATES:
            return None
        template = Template(words, new)
        alike.append(template)
        self.templates.append(template)
        return template


def masked(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Mask what varies in lines: addresses, identifiers, numbers."""
    text = b"\n".join(lines)
    for mask, pattern, _ in _MASKS:
        text = pattern.sub(mask, text)
    return iter(text.split(b"\n")) if lines else iter(())


def _bucket(words: Iterable[bytes]) -> tuple[int, bytes]:
    listed = list(words)
    first = listed[0] if listed else b""
    return len(listed), ANY if _MASK.search(first) else first


def _pattern_of(word: bytes) -> str:
    if len(word) > WORD_MAX:
        return _PATTERNS[ANY]
    parts: list[str] = []
    position = 0
    for match in _MASK.finditer(word):
        parts += [_literal(word[position : match.start()]), _PATTERNS[match.group()]]
        position = match.end()
    return "".join([*parts, _literal(word[position:])])


def _literal(text: bytes) -> str:
    return escaped(text.decode(errors="replace"))
