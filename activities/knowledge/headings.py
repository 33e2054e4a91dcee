"""Finds the headings and the front matter of a document's lines.

Above: `documents`. Below: nothing. Markdown: ATX and setext, none inside fenced code.
reStructuredText: underlined titles, levels by order of first use. Plain text has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:[-*+>|]|\d+[.)])|(?: {4}|\t)")
_RST = re.compile(r"([=\-~^\"'#*+.:_`])\1{2,}[ \t]*")
_TITLE = re.compile(r"title:[ \t]*(.+?)[ \t]*")


@dataclass(frozen=True)
class Heading:
    """A heading and the lines it takes, from 1."""

    level: int
    text: str
    first_line: int
    last_line: int


def front_matter(lines: list[str]) -> tuple[int, str | None]:
    """Return how many lines a YAML front matter takes at the start, and the title it gives."""
    if not lines or lines[0].rstrip() != "---":
        return 0, None
    title: str | None = None
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            return number, title
        if (match := _TITLE.fullmatch(line)) is not None:
            title = match[1].strip("\"'") or None
    return 0, None


def headings_of(name: str, lines: list[str], skip: int) -> list[Heading]:
    """List the headings in order; the first `skip` lines are front matter."""
    suffix = name.lower().rpartition(".")[2]
    if suffix == "txt":
        return []
    return _rst(lines) if suffix == "rst" else _markdown(lines, skip)


def _markdown(lines: list[str], skip: int) -> list[Heading]:
    found: list[Heading] = []
    fence: str | None = None
    paragraph = 0
    for number, line in enumerate(lines[skip:], skip + 1):
        fenced = _FENCE.fullmatch(line)
        if fence is not None or fenced is not None:
            fence, paragraph = _next_fence(fence, fenced), 0
            continue
        heading = _heading(lines, number, paragraph)
        if heading is not None:
            found.append(heading)
            paragraph = 0
        elif not line.strip():
            paragraph = 0
        elif paragraph == 0:
            paragraph = number
    return found


def _next_fence(fence: str | None, fenced: re.Match[str] | None) -> str | None:
    """Return the fence that is open after a line."""
    if fenced is None:
        return fence
    mark, rest = fenced[1], fenced[2]
    if fence is None:
        return None if mark[0] == "`" and "`" in rest else mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip()
    return None if closes else fence


def _heading(lines: list[str], number: int, paragraph: int) -> Heading | None:
    line = lines[number - 1]
    if (atx := _ATX.fullmatch(line)) is not None:
        return Heading(len(atx[1]), (atx[2] or "").strip(), number, number)
    if paragraph and (under := _SETEXT.fullmatch(line)) is not None:
        text = lines[paragraph - 1 : number - 1]
        if _NO_PARAGRAPH.match(text[0]) is None:
            return Heading(1 if "=" in under[1] else 2, " ".join(part.strip() for part in text), paragraph, number)
    return None


def _rst(lines: list[str]) -> list[Heading]:
    found: list[Heading] = []
    marks: list[str] = []
    for number in range(2, len(lines) + 1):
        above, line = lines[number - 2], lines[number - 1]
        under = _RST.fullmatch(line)
        if under is None or not above.strip() or above[0] in " \t" or _RST.fullmatch(above) is not None:
            continue
        if found and found[-1].last_line >= number - 1:
            continue
        if under[1] not in marks:
            marks.append(under[1])
        found.append(Heading(marks.index(under[1]) + 1, above.strip(), number - 1, number))
    return found
