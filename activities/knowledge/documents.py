"""Cuts a document into passages with exact line ranges: by headings, then by paragraphs.

Above: `index` and `read`. Below: `headings`. Every line that is not blank is in exactly one
passage; a passage's text is its lines of the document, unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from activities.knowledge.headings import Heading, front_matter, headings_of

PASSAGE_CHARS = 1500
"""Characters of a passage, about; a longer line is not cut."""


@dataclass(frozen=True)
class Passage:
    """Lines of one section; lines count from 1, both ends included."""

    heading: tuple[str, ...]
    first_line: int
    last_line: int


@dataclass(frozen=True)
class Document:
    """A document, parsed."""

    title: str
    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    passages: tuple[Passage, ...]

    def text(self, first_line: int, last_line: int) -> str:
        r"""Return those lines, joined by `\n`."""
        return "\n".join(self.lines[first_line - 1 : last_line])


def parse_document(name: str, text: str) -> Document:
    """Parse a document; its name's suffix says how headings are written."""
    lines = split_lines(text)
    body, titled = front_matter(lines)
    headings = headings_of(name, lines, body)
    top = next((item.text for item in headings if item.level == 1), headings[0].text if headings else name)
    passages = tuple(part for section in _sections(lines, headings) for part in _parts(lines, section))
    return Document(titled or top, tuple(lines), tuple(headings), passages)


def split_lines(text: str) -> list[str]:
    r"""Split at `\n`; a `\r` before it is not part of the line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _sections(lines: list[str], headings: list[Heading]) -> Iterator[Passage]:
    path: list[Heading] = []
    start, last_heading_line = 1, 0
    for heading in headings:
        empty = not any(line.strip() for line in lines[last_heading_line : heading.first_line - 1])
        deeper = bool(path) and heading.level > path[-1].level
        if heading.first_line > start and not (empty and deeper):
            yield Passage(tuple(item.text for item in path), start, heading.first_line - 1)
            start = heading.first_line
        path = [item for item in path if item.level < heading.level] + [heading]
        last_heading_line = heading.last_line
    if lines:
        yield Passage(tuple(item.text for item in path), start, len(lines))


def _parts(lines: list[str], section: Passage) -> Iterator[Passage]:
    """Split a section where it would grow over the limit: after a blank line if there is one, or else after a line."""
    start, size, blank = section.first_line, 0, 0
    for number in range(section.first_line, section.last_line + 1):
        line = lines[number - 1]
        if size and size + len(line) > PASSAGE_CHARS:
            end = blank if blank > start else number - 1
            yield from _trimmed(lines, section.heading, start, end)
            start = end + 1
            size = sum(len(item) + 1 for item in lines[end : number - 1])
        size += len(line) + 1
        if not line.strip():
            blank = number
    yield from _trimmed(lines, section.heading, start, section.last_line)


def _trimmed(lines: list[str], heading: tuple[str, ...], first: int, last: int) -> Iterator[Passage]:
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    if first <= last:
        yield Passage(heading, first, last)
