"""Reads YAML into plain JSON values and remembers the line of each.

PyYAML parses; the values are built here from its events, because its own constructor follows YAML 1.1
(`no` is false, `12:30` is 750, dates are objects), accepts duplicate keys and expands aliases. Here: the
YAML 1.2 core schema, duplicates and aliases refused, depth and size bounded. Below: nothing. Above: `loader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import yaml

from boundary.contracts import JsonValue

DEPTH_MAX = 24
"""Nesting of a runbook; a real one stays below ten."""

Path = tuple[str | int, ...]
"""Keys and indexes from the root to a value."""

_INT = re.compile(r"[-+]?[0-9]{1,1000}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, JsonValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass(frozen=True)
class Place:
    """Where a value stands in the text."""

    line: int
    """From 1."""
    block: bool = False
    """A block scalar (`|` or `>`): its text begins on the next line."""

    def line_of(self, lineno: int) -> int:
        """Give the line in the file of a line of the value's text, both from 1."""
        return self.line + lineno - (0 if self.block else 1)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a runbook."""

    line: int
    message: str
    """What is wrong and how to mend it."""


@dataclass(frozen=True)
class Document:
    """The values of a YAML text and their places."""

    data: JsonValue
    places: dict[Path, Place] = field(default_factory=dict[Path, Place])

    def place(self, path: Path) -> Place:
        """Give the place of a value, or of the nearest value around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1))


class DocumentError(Exception):
    """The text cannot be read as YAML at all.

    Attributes:
        problem: the first thing that is wrong; nothing after it could be read.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(line, message)


def read_document(text: str) -> Document:
    """Read one YAML document.

    Raises:
        DocumentError: it is no YAML, or uses what a runbook must not.
    """
    try:
        return _Reader(text).read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise DocumentError(line, f"not YAML: {error.problem or error.context}{_hint(text, line)}") from None
    except yaml.YAMLError as error:
        position = int(getattr(error, "position", 0) or 0)
        raise DocumentError(text.count("\n", 0, position) + 1, f"not YAML: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200]


def _hint(text: str, line: int) -> str:
    lines = text.splitlines()
    around = lines[max(0, line - 2) : line]
    if any("{{" in one for one in around):
        return '; put quotes around a value that begins with {{ or holds ": ", as in "{{ step.result }}"'
    return "; put quotes around a value that holds ': ' or ' #' or begins with a special character"


class _Reader:
    """Builds values from the parser's events, one frame of recursion for each level of nesting."""

    def __init__(self, text: str) -> None:
        self._events = cast("Iterator[yaml.Event]", yaml.parse(text, Loader=yaml.SafeLoader))
        self._places: dict[Path, Place] = {}

    def read(self) -> Document:
        """Read the document and make sure there is only one."""
        data: JsonValue = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise DocumentError(_line(event), "a runbook is one YAML document; remove what follows ---")
            elif isinstance(event, yaml.NodeEvent):
                data = self._value(event, ())
        return Document(data, self._places)

    def _value(self, event: yaml.Event, path: Path) -> JsonValue:
        _refuse_extras(event)
        if len(path) > DEPTH_MAX:
            raise DocumentError(_line(event), f"nested deeper than {DEPTH_MAX} levels")
        self._places[path] = Place(_line(event), isinstance(event, yaml.ScalarEvent) and event.style in ("|", ">"))
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(path)
        return self._object(path)

    def _list(self, path: Path) -> list[JsonValue]:
        items: list[JsonValue] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return items

    def _object(self, path: Path) -> dict[str, JsonValue]:
        fields: dict[str, JsonValue] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            _refuse_extras(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise DocumentError(_line(event), 'put quotes around a value that begins with {{, as in "{{ x }}"')
            key = str(event.value)
            if key in fields:
                first = self._places[*path, key].line
                raise DocumentError(_line(event), f"{key!r} stands twice, first on line {first}; remove one")
            fields[key] = self._value(next(self._events), (*path, key))
            if isinstance(fields[key], dict | list):
                self._places[*path, key] = Place(_line(event))
        return fields


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _refuse_extras(event: yaml.Event) -> None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise DocumentError(
            _line(event), "anchors and aliases (&x, *x) are not available; repeat the value or use vars"
        )
    if (tag := getattr(event, "tag", None)) is not None:
        raise DocumentError(_line(event), f"the tag {tag!r} is not available; write the plain value")


def _scalar(event: yaml.ScalarEvent) -> JsonValue:
    text = str(event.value)
    if not event.implicit[0]:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise DocumentError(_line(event), f"{text} is too large a number; put quotes around it to make it a text")
        return value
    return text
