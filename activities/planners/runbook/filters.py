"""The filters of the expression language, each over JSON values only.

Above: `evaluation` calls them, `expressions` checks their names and arguments beforehand. A filter gets
the meter and the value; it takes the work it does from the meter and never builds an unbounded value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

from activities.planners.runbook.matching import all_matches, first_match
from activities.planners.runbook.predicates import TESTS, Function
from activities.planners.runbook.values import (
    CannotEvaluate,
    Meter,
    Missing,
    bounded_number,
    bounded_size,
    is_true,
    items_of,
    kind_of,
    lookup_path,
    number,
    text,
    to_text,
)
from boundary.contracts import JsonObject, JsonValue

_NO_DEFAULT: JsonValue = object()


def _default(meter: Meter, value: JsonValue, default: JsonValue = "", boolean: JsonValue = False) -> JsonValue:
    return default if boolean and not is_true(value) else value


# --- lists ---


def _length(meter: Meter, value: JsonValue) -> int:
    if not isinstance(value, list | str | dict):
        raise CannotEvaluate(f"{kind_of(value)} has no length")
    return len(cast("list[JsonValue]", value))


def _first(meter: Meter, value: JsonValue) -> JsonValue:
    return lookup_path(value if isinstance(value, str) else items_of(value, meter), 0)


def _last(meter: Meter, value: JsonValue) -> JsonValue:
    return lookup_path(value if isinstance(value, str) else items_of(value, meter), -1)


def _keyed(items: list[JsonValue], attribute: JsonValue) -> list[JsonValue]:
    return items if attribute is None else [lookup_path(item, attribute) for item in items]


def _sort(meter: Meter, value: JsonValue, reverse: JsonValue = False, attribute: JsonValue = None) -> list[JsonValue]:
    items = items_of(value, meter)
    meter.spend(4 * len(items))
    keys = _keyed(items, attribute)
    order = sorted(range(len(items)), key=lambda index: keys[index], reverse=is_true(reverse))
    return [items[index] for index in order]


def _min(meter: Meter, value: JsonValue, attribute: JsonValue = None) -> JsonValue:
    return _first(meter, _sort(meter, value, attribute=attribute))


def _max(meter: Meter, value: JsonValue, attribute: JsonValue = None) -> JsonValue:
    return _first(meter, _sort(meter, value, reverse=True, attribute=attribute))


def _sum(meter: Meter, value: JsonValue, attribute: JsonValue = None) -> int | float:
    return bounded_number(sum(number(item) for item in _keyed(items_of(value, meter), attribute)))


def _unique(meter: Meter, value: JsonValue, attribute: JsonValue = None) -> list[JsonValue]:
    items = items_of(value, meter)
    firsts: dict[str, JsonValue] = {}
    for item, key in zip(items, _keyed(items, attribute), strict=True):
        firsts.setdefault(json.dumps(key) if isinstance(key, str) else to_text(key, meter), item)
    return list(firsts.values())


def _reverse(meter: Meter, value: JsonValue) -> JsonValue:
    return value[::-1] if isinstance(value, str) else items_of(value, meter)[::-1]


def _flatten(meter: Meter, value: JsonValue) -> list[JsonValue]:
    return [item for inner in items_of(value, meter) for item in items_of(inner, meter)]


def _list(meter: Meter, value: JsonValue) -> list[JsonValue]:
    return list(cast("JsonObject | str", value)) if isinstance(value, dict | str) else items_of(value, meter)


def _items(meter: Meter, value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, dict):
        raise CannotEvaluate(f"{kind_of(value)} has no items")
    fields = cast("JsonObject", value)
    meter.spend(len(fields))
    return [[key, item] for key, item in fields.items()]


def _join(meter: Meter, value: JsonValue, separator: JsonValue = "", attribute: JsonValue = None) -> str:
    between = text(separator)
    parts: list[str] = []
    size = 0
    for item in _keyed(items_of(value, meter), attribute):
        parts.append(to_text(item, meter))
        size = bounded_size(size + len(parts[-1]) + len(between))
    return between.join(parts)


def _pluck(meter: Meter, value: JsonValue, attribute: JsonValue, default: JsonValue = _NO_DEFAULT) -> list[JsonValue]:
    return [_attribute(item, attribute, default) for item in items_of(value, meter)]


def _attribute(item: JsonValue, attribute: JsonValue, default: JsonValue) -> JsonValue:
    try:
        return lookup_path(item, attribute)
    except Missing:
        if default is _NO_DEFAULT:
            raise
        return default


def _map(
    meter: Meter,
    value: JsonValue,
    filter: str | None = None,
    /,
    *args: JsonValue,
    attribute: JsonValue = None,
    default: JsonValue = _NO_DEFAULT,
) -> list[JsonValue]:
    if filter is None:
        return _pluck(meter, value, attribute, default)
    if any(isinstance(arg, list | dict) for arg in args):
        raise CannotEvaluate(f"map({filter!r}) takes texts and numbers only")
    if filter not in FILTERS:
        raise CannotEvaluate(f"there is no filter {filter!r}")
    return [FILTERS[filter](meter, item, *args) for item in items_of(value, meter)]


def _holds(meter: Meter, value: JsonValue, test: str | None, args: tuple[JsonValue, ...]) -> bool:
    if test is None:
        return is_true(value)
    if test not in TESTS:
        raise CannotEvaluate(f"there is no test {test!r}")
    return TESTS[test](meter, value, *args)


def _select(meter: Meter, value: JsonValue, test: str | None = None, /, *args: JsonValue) -> list[JsonValue]:
    return [item for item in items_of(value, meter) if _holds(meter, item, test, args)]


def _reject(meter: Meter, value: JsonValue, test: str | None = None, /, *args: JsonValue) -> list[JsonValue]:
    return [item for item in items_of(value, meter) if not _holds(meter, item, test, args)]


def _attribute_holds(
    meter: Meter, item: JsonValue, attribute: JsonValue, test: str | None, args: tuple[JsonValue, ...]
) -> bool:
    try:
        value = lookup_path(item, attribute)
    except Missing:
        return test == "undefined"
    return test == "defined" or (test != "undefined" and _holds(meter, value, test, args))


def _selectattr(
    meter: Meter, value: JsonValue, attribute: JsonValue, test: str | None = None, /, *args: JsonValue
) -> list[JsonValue]:
    return [item for item in items_of(value, meter) if _attribute_holds(meter, item, attribute, test, args)]


def _rejectattr(
    meter: Meter, value: JsonValue, attribute: JsonValue, test: str | None = None, /, *args: JsonValue
) -> list[JsonValue]:
    return [item for item in items_of(value, meter) if not _attribute_holds(meter, item, attribute, test, args)]


# --- texts ---


def _cased(change: Callable[[str], str]) -> Function:
    def apply(meter: Meter, value: JsonValue) -> str:
        meter.spend_on_text(text(value))
        return change(text(value))

    return apply


def _replace(meter: Meter, value: JsonValue, old: JsonValue, new: JsonValue) -> str:
    source, there, here = text(value), text(old), text(new)
    meter.spend_on_text(source)
    bounded_size(len(source) + source.count(there) * max(0, len(here) - len(there)))
    return source.replace(there, here)


def _split(meter: Meter, value: JsonValue, separator: JsonValue = None) -> list[JsonValue]:
    parts = text(value).split(None if separator is None else text(separator) or None)
    meter.spend(len(parts))
    return list(parts)


def _truncate(meter: Meter, value: JsonValue, length: JsonValue = 200) -> str:
    limit = max(1, int(number(length)))
    whole = to_text(value, meter)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def _regex_first(meter: Meter, value: JsonValue, pattern: JsonValue, group: JsonValue = 0) -> str:
    return first_match(text(value), text(pattern), group, meter)


def _regex_all(meter: Meter, value: JsonValue, pattern: JsonValue, group: JsonValue = 0) -> list[str]:
    return all_matches(text(value), text(pattern), group, meter)


def pointer_token(meter: Meter, value: JsonValue) -> str:
    """Escape a key for a JSON Pointer (RFC 6901)."""
    return to_text(value, meter).replace("~", "~0").replace("/", "~1")


# --- numbers ---


def _converted(value: JsonValue, kind: type[int] | type[float]) -> int | float:
    try:
        return bounded_number(kind(value if isinstance(value, str) else number(value)))
    except (ValueError, OverflowError):
        raise CannotEvaluate(f"{kind_of(value)} is not a number") from None


def _int(meter: Meter, value: JsonValue) -> int | float:
    return _converted(value, int)


def _float(meter: Meter, value: JsonValue) -> int | float:
    return _converted(value, float)


def _round(meter: Meter, value: JsonValue, digits: JsonValue = 0) -> int | float:
    places = max(-20, min(20, int(number(digits))))
    return round(number(value), places) if places else round(number(value))


def _abs(meter: Meter, value: JsonValue) -> int | float:
    return abs(number(value))


def _string(meter: Meter, value: JsonValue) -> str:
    return to_text(value, meter)


def _tojson(meter: Meter, value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else to_text(value, meter)


FILTERS: dict[str, Function] = {
    "abs": _abs,
    "count": _length,
    "default": _default,
    "first": _first,
    "flatten": _flatten,
    "float": _float,
    "int": _int,
    "items": _items,
    "join": _join,
    "last": _last,
    "length": _length,
    "list": _list,
    "lower": _cased(str.lower),
    "map": _map,
    "max": _max,
    "min": _min,
    "pluck": _pluck,
    "pointer_token": pointer_token,
    "regex_all": _regex_all,
    "regex_first": _regex_first,
    "reject": _reject,
    "rejectattr": _rejectattr,
    "replace": _replace,
    "reverse": _reverse,
    "round": _round,
    "select": _select,
    "selectattr": _selectattr,
    "sort": _sort,
    "split": _split,
    "string": _string,
    "sum": _sum,
    "tojson": _tojson,
    "trim": _cased(str.strip),
    "truncate": _truncate,
    "unique": _unique,
    "upper": _cased(str.upper),
}
