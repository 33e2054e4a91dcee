"""The tests and comparisons of the expression language, each over JSON values only.

Above: `filters` (for `select` and its like), `functions` and `evaluation`. A test gets the meter, the value
and what it is compared with.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from activities.planners.runbook.matching import found
from activities.planners.runbook.values import Meter, items_of, text
from boundary.contracts import JsonValue

Function = Callable[..., Any]
"""A test, filter or function: the meter first, then values."""


def _contains(meter: Meter, whole: JsonValue, part: JsonValue) -> bool:
    if isinstance(whole, str):
        meter.spend_on_text(whole)
        return text(part) in whole
    if isinstance(whole, dict):
        return isinstance(part, str) and part in whole
    return part in items_of(whole, meter)


def _in(meter: Meter, part: JsonValue, whole: JsonValue) -> bool:
    return _contains(meter, whole, part)


def _not_in(meter: Meter, part: JsonValue, whole: JsonValue) -> bool:
    return not _contains(meter, whole, part)


def _of_any_kind(answer: bool) -> Function:
    def holds(meter: Meter, value: JsonValue) -> bool:
        return answer

    return holds


def _search(meter: Meter, value: JsonValue, pattern: JsonValue) -> bool:
    return found(text(value), text(pattern), meter)


def _of_kind(*kinds: type) -> Function:
    def holds(meter: Meter, value: JsonValue) -> bool:
        return type(value) in kinds

    return holds


def _compared(compare: Callable[[Any, Any], bool]) -> Function:
    def holds(meter: Meter, left: JsonValue, right: JsonValue) -> bool:
        return compare(left, right)

    return holds


COMPARISONS: dict[str, Function] = {
    "eq": _compared(operator.eq),
    "ne": _compared(operator.ne),
    "lt": _compared(operator.lt),
    "lteq": _compared(operator.le),
    "gt": _compared(operator.gt),
    "gteq": _compared(operator.ge),
    "in": _in,
    "notin": _not_in,
}
"""Operators by Jinja2's names."""

ATTRIBUTE_TESTS: dict[str, Function] = {
    "defined": _of_any_kind(True),
    "undefined": _of_any_kind(False),
}
"""Tests that speak of what is missing; of a value that is there the answer is always the same."""

TESTS: dict[str, Function] = {
    **ATTRIBUTE_TESTS,
    **{name: COMPARISONS[name] for name in ("eq", "ne", "lt", "gt", "in")},
    "==": COMPARISONS["eq"],
    "!=": COMPARISONS["ne"],
    "<": COMPARISONS["lt"],
    "<=": COMPARISONS["lteq"],
    ">": COMPARISONS["gt"],
    ">=": COMPARISONS["gteq"],
    "le": COMPARISONS["lteq"],
    "ge": COMPARISONS["gteq"],
    "equalto": COMPARISONS["eq"],
    "contains": _contains,
    "search": _search,
    "boolean": _of_kind(bool),
    "integer": _of_kind(int),
    "mapping": _of_kind(dict),
    "none": _of_kind(type(None)),
    "number": _of_kind(int, float),
    "sequence": _of_kind(list),
    "string": _of_kind(str),
}
