"""What expressions work on: JSON values and views of steps, looked up without touching Python objects.

Above: `evaluation` and `functions`. A lookup reads a field, an index or nothing at all; no attribute
or method of a Python object is reachable from a runbook. Every construction is bounded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from boundary.contracts import JsonValue
from boundary.errors import CaseboundError

TEXT_MAX = 64 * 1024
"""Characters of a text an expression may build: four times what one call's arguments may hold."""

INTEGER_MAX_BITS = 4096
"""Of a computed integer; Python refuses to print one of more than 4,300 digits."""

WORK_MAX = 4_000_000
"""Units of work of one turn: some seconds, far above what a runbook over real results needs."""


class CannotEvaluate(CaseboundError):
    """The expression has no value for the data at hand; the step is skipped, the claim left out."""


class Missing(CannotEvaluate):
    """The expression reads something that is not there; `default` and `is defined` catch it."""


class TooMuchWork(CaseboundError):
    """The runbook's expressions ask for more work than a turn may do."""


class Meter:
    """Counts the work of one turn, so that no expression can hold a worker; the count is deterministic."""

    def __init__(self, limit: int = WORK_MAX) -> None:
        self._limit = limit
        self._left = limit

    def spend(self, units: int = 1) -> None:
        """Take units of work.

        Raises:
            TooMuchWork: the turn's work is used up.
        """
        self._left -= units
        if self._left < 0:
            raise TooMuchWork(f"the runbook's expressions need more than {self._limit} units of work in one turn")

    def spend_on_text(self, text: str) -> None:
        """Take the work of going through a text once."""
        self.spend(1 + len(text) // 256)


@dataclass(frozen=True)
class View:
    """A step, or one call of a step, as expressions see it."""

    label: str
    """For messages: `step 'logins'`."""
    fields: Mapping[str, JsonValue]
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields that have no value, each with the reason."""

    def lookup(self, key: JsonValue) -> JsonValue:
        """Read a field.

        Raises:
            Missing: it has no value; the message says why.
        """
        if isinstance(key, str) and key in self.fields:
            return self.fields[key]
        if isinstance(key, str) and key in self.absent:
            raise Missing(f"{self.label} has no {key!r}: {self.absent[key]}")
        raise Missing(f"{self.label} has no field {key!r}")


def lookup(value: JsonValue, key: JsonValue) -> JsonValue:
    """Read a field of an object or view, or an item of a list or text.

    Raises:
        Missing: there is none.
    """
    if isinstance(value, View):
        return value.lookup(key)
    if isinstance(value, dict):
        return _field_of(cast("dict[str, JsonValue]", value), key)
    if isinstance(value, list | str) and isinstance(key, int) and not isinstance(key, bool):
        items = cast("list[JsonValue] | str", value)
        if -len(items) <= key < len(items):
            return items[key]
        raise Missing(f"there is no item {key}, only {len(items)}")
    raise Missing(f"{kind_of(value)} has no field {key!r}")


def _field_of(value: dict[str, JsonValue], key: JsonValue) -> JsonValue:
    if isinstance(key, str) and key in value:
        return value[key]
    known = ", ".join(list(value)[:12])
    raise Missing(f"there is no field {key!r}" + (f"; there are: {known}" if known else " in an empty object"))


def lookup_path(value: JsonValue, path: JsonValue) -> JsonValue:
    """Follow a dotted path such as `result.groups.0.count`; an integer is an index.

    Raises:
        Missing: the path leads nowhere.
    """
    if not isinstance(path, str):
        return lookup(value, path)
    for token in path.split("."):
        index = isinstance(value, list) and token.lstrip("-").isascii() and token.lstrip("-").isdigit()
        value = lookup(value, int(token[:20]) if index else token)
    return value


def kind_of(value: JsonValue) -> str:
    """Name the value's JSON type, for messages."""
    names: dict[Any, str] = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", View: "a step"}
    if value is None:
        return "null"
    return names.get(cast("Any", type(value)), "a number")


def is_true(value: JsonValue) -> bool:
    """Tell whether a condition holds; empty texts, lists and objects, 0 and null do not.

    Raises:
        CannotEvaluate: the value is a step.
    """
    if isinstance(value, View):
        raise CannotEvaluate(f"{value.label} is neither true nor false: write .found, .empty, .failed or .skipped")
    return bool(value)


def to_text(value: JsonValue, meter: Meter) -> str:
    """Write a value into a text: texts as they are, everything else as compact JSON.

    Raises:
        CannotEvaluate: the text would be over `TEXT_MAX`, or the value is no JSON.
    """
    if isinstance(value, str):
        return value
    chunks: list[str] = []
    size = 0
    try:
        for chunk in json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).iterencode(value):
            meter.spend()
            size += len(chunk)
            bounded_size(size)
            chunks.append(chunk)
    except (TypeError, ValueError, RecursionError):
        raise CannotEvaluate(f"{kind_of(value)} cannot be written as JSON; name a field of it") from None
    return "".join(chunks)


def bounded_size(size: int) -> int:
    """Return the size of a text that is about to be built.

    Raises:
        CannotEvaluate: it is over `TEXT_MAX`.
    """
    if size > TEXT_MAX:
        raise CannotEvaluate(f"a text of more than {TEXT_MAX} characters would be built; cut it, as in text[:2000]")
    return size


def bounded_number(value: int | float) -> int | float:
    """Return a computed number.

    Raises:
        CannotEvaluate: it is no JSON number, or longer than any real figure.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise CannotEvaluate("the number is infinite or undefined")
    if isinstance(value, int) and value.bit_length() > INTEGER_MAX_BITS:
        raise CannotEvaluate("the number is too long")
    return value


def number(value: JsonValue) -> int | float:
    """Return the value as a number.

    Raises:
        CannotEvaluate: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CannotEvaluate(f"{kind_of(value)} is not a number; use the filter int or float")
    return value


def text(value: JsonValue) -> str:
    """Return the value as a text.

    Raises:
        CannotEvaluate: it is none.
    """
    if not isinstance(value, str):
        raise CannotEvaluate(f"{kind_of(value)} is not a text; use the filter string")
    return value


def items_of(value: JsonValue, meter: Meter) -> list[JsonValue]:
    """Return the value as a list; the work of going through it once is taken.

    Raises:
        CannotEvaluate: it is none.
    """
    if not isinstance(value, list):
        raise CannotEvaluate(f"{kind_of(value)} is not a list")
    items = cast("list[JsonValue]", value)
    meter.spend(len(items) + 1)
    return items
