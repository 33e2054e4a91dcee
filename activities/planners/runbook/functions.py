"""The functions of the expression language, and the check of what any filter, test or function is given.

Above: `evaluation` calls them, `expressions` checks their names and arguments beforehand.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

from activities.planners.runbook.filters import pointer_token
from activities.planners.runbook.predicates import TESTS, Function
from activities.planners.runbook.values import CannotEvaluate, Meter, Missing, items_of, lookup_path, number, to_text
from boundary.contracts import JsonValue

RANGE_MAX = 1000
"""Items of `range`."""


def signature_fault(
    label: str, function: Function, args: int, kwargs: Sequence[str], starred: bool, given: int
) -> Iterator[str]:
    """Say what is wrong with the number and names of a call's arguments; `given` of them come from the evaluator."""
    if starred:
        yield f"{label}: *args and **kwargs are not available"
        return
    try:
        inspect.signature(function).bind(*[None] * (given + args), **dict.fromkeys(kwargs))
    except TypeError as error:
        yield f"{label}: {error}"


def _range(meter: Meter, start: JsonValue, stop: JsonValue = None) -> list[JsonValue]:
    low, high = (0, number(start)) if stop is None else (number(start), number(stop))
    if high - low > RANGE_MAX:
        raise CannotEvaluate(f"range of more than {RANGE_MAX} items")
    return list(range(int(low), int(high)))


def _find_index(meter: Meter, value: JsonValue, key: JsonValue, wanted: JsonValue, test: JsonValue = "==") -> int:
    if not isinstance(test, str) or test not in TESTS:
        raise CannotEvaluate(f"find_index does not know the test {test!r}")
    for index, item in enumerate(items_of(value, meter)):
        try:
            candidate = item if key is None else lookup_path(item, key)
        except Missing:
            continue
        if TESTS[test](meter, candidate, wanted):
            return index
    raise Missing(f"find_index found no item whose {key or 'value'} {test} {to_text(wanted, meter)[:80]}")


def _pointer(meter: Meter, *tokens: JsonValue) -> str:
    return "".join(f"/{pointer_token(meter, token)}" for token in tokens)


FUNCTIONS: dict[str, Function] = {"find_index": _find_index, "pointer": _pointer, "range": _range}
