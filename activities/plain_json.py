"""Copies a value of unknown make into plain JSON values, within a size, or says where it is none.

Above: `turns`, for what planners produce. It survives cycles, subclasses, deep nesting and shared
parts that would write out larger than memory: every step is counted before it is taken.
"""

from __future__ import annotations

import json
import math
from typing import Any, cast

from boundary.contracts import JsonValue
from boundary.limits import JSON_MAX_DEPTH

_INTEGER_MAX_BITS = 14_000
"""Python neither writes nor reads an integer of more than 4,300 digits."""

Path = tuple[str | int, ...]


class NotPlain(Exception):
    """The value is no JSON, or too much of it.

    Attributes:
        path: keys and indexes that lead there; empty for the whole.
        fault: what is wrong there, and the limit.
        oversized: it is JSON as far as it was read, but over the size.
    """

    def __init__(self, path: Path, fault: str, *, oversized: bool = False) -> None:
        super().__init__(fault)
        self.path = path
        self.fault = fault
        self.oversized = oversized


def plain(value: object, max_bytes: int, *, strict: bool = True) -> JsonValue:
    """Copy a value into plain JSON values whose compact UTF-8 form has at most `max_bytes`.

    Args:
        value: anything at all.
        max_bytes: of the JSON text.
        strict: NaN, infinities and lone surrogates are faults; otherwise they pass through.

    Raises:
        NotPlain: it is none.
    """
    return _Copier(max_bytes, strict).copy(value, ())


def escaped_bytes(text: str) -> int:
    """Size of a text within JSON: UTF-8 with escapes, without the quotes; lone surrogates as three bytes."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")) - 2


class _Copier:
    def __init__(self, max_bytes: int, strict: bool) -> None:
        self._limit = max_bytes
        self._left = max_bytes
        self._strict = strict

    def copy(self, value: object, path: Path) -> JsonValue:
        kind: Any = type(value)
        if value is None or kind is bool:
            self._spend(5)
            return value
        if issubclass(kind, str):
            return self._text(str.__str__(cast(str, value)), path)
        if issubclass(kind, int | float):
            return self._number(value, path)
        if not issubclass(kind, dict | list | tuple):
            raise NotPlain(path, "expected a JSON value")
        if len(path) == JSON_MAX_DEPTH:
            raise NotPlain(path, f"nested deeper than {JSON_MAX_DEPTH} levels")
        copy = self._object if issubclass(kind, dict) else self._list
        return copy(value, path)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise NotPlain((), f"more than {self._limit} bytes of JSON; at most {self._limit}", oversized=True)

    def _text(self, text: str, path: Path) -> str:
        self._spend(len(text) + 2)
        self._spend(escaped_bytes(text) - len(text))
        if self._strict and not is_unicode(text):
            raise NotPlain(path, "expected valid Unicode, found a lone surrogate")
        return text

    def _number(self, value: Any, path: Path) -> int | float:
        if issubclass(type(value), float):
            number = float.__float__(value)
            if self._strict and not math.isfinite(number):
                raise NotPlain(path, "expected a finite number")
        else:
            number = int.__int__(value)
            if number.bit_length() > _INTEGER_MAX_BITS:
                raise NotPlain(path, "the number has more than 4,000 digits")
        self._spend(len(repr(number)) + 1)
        return number

    def _list(self, value: Any, path: Path) -> list[JsonValue]:
        self._spend(2)
        copied: list[JsonValue] = []
        kind: Any = list if issubclass(type(value), list) else tuple
        self._spend(kind.__len__(value))
        for index, item in enumerate(kind.__iter__(value)):
            copied.append(self.copy(item, (*path, index)))
        return copied

    def _object(self, value: Any, path: Path) -> dict[str, JsonValue]:
        self._spend(2)
        copied: dict[str, JsonValue] = {}
        items: Any = dict[Any, Any].items(value)
        for key, item in items:
            if not issubclass(type(key), str):
                raise NotPlain(path, "expected texts as keys")
            name = self._text(str.__str__(key), path)
            self._spend(2)
            copied[name] = self.copy(item, (*path, name))
        return copied


def is_unicode(text: str) -> bool:
    """Tell whether the text can be written as UTF-8: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
