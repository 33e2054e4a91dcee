"""Strict JSON: what a planner's argument text must be, and how the store's JSON is written and read.

Above: preflight parses arguments with `parse_object`; the store writes bodies with `dump` and
reads them with `load`. Below: the standard library's `json`. It never repairs: a text that is
not exactly one JSON object is refused with the place and what was expected there. It knows
nothing of schemas (`schema_gate`) and nothing of secrets (`redaction`).
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn, cast

from boundary.contracts import JsonObject, JsonValue, shorten
from boundary.errors import CaseboundError, ErrorCode
from boundary.limits import JSON_MAX_DEPTH
from boundary.redaction import looks_secret, masked_short

STORED_MAX_DEPTH = 200
"""Nesting of anything stored, far below where the standard library's encoder gives up."""

BLANK = " \t\n\r"
"""JSON's own white space."""

# One token that matters for nesting: a whole string (its end may be missing) or a bracket.
# Possessive and unambiguous: each character is looked at once, whatever the text.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<end>")?|[\[\]{}]', re.DOTALL)

# What may stand between the last complete token and the end of a text that was cut off.
_CUT_TAIL = re.compile(r"(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?)?")

_SURROGATE = re.compile("[\ud800-\udfff]")


class StrictJsonError(CaseboundError):
    """The text is not one strict JSON object; the message says where and what was expected."""

    code = ErrorCode.INVALID_ARGUMENTS


class NotJson(CaseboundError):
    """The value cannot be written as JSON, or the bytes are not JSON."""


class _Bad(NamedTuple):
    """Stands in a parsed tree where a value was that strict JSON does not have."""

    fault: str


class _Pairs(list[tuple[str, Any]]):
    """An object as parsed, its duplicate keys still there."""


class _Shape(NamedTuple):
    """What the linear pre-scan learnt of a text."""

    depth: int
    open_brackets: int
    open_string: int | None
    """Offset of a string that never ends."""


def parse_object(text: str, *, max_depth: int = JSON_MAX_DEPTH) -> JsonObject:
    """Read a text that must be one JSON object; an empty or blank text means `{}`.

    Big integers stay exact. `max_depth` counts the object itself and is at most `STORED_MAX_DEPTH`.

    Raises:
        StrictJsonError: anything else, also what `json.loads` would let pass: duplicate keys,
            NaN and Infinity, numbers that overflow, lone surrogates, too deep nesting.
    """
    if not text.strip(BLANK):
        return {}
    if (lone := _SURROGATE.search(text)) is not None:
        raise StrictJsonError(f"lone surrogate at offset {lone.start()}: expected valid Unicode text")
    shape = _scan(text)
    limit = min(max_depth, STORED_MAX_DEPTH)
    if shape.depth > limit:
        raise StrictJsonError(f"nested {shape.depth} levels deep: expected at most {limit} levels")
    try:
        parsed = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        _refuse(text, shape, error)
    if not isinstance(parsed, _Pairs):
        raise StrictJsonError(_not_an_object(parsed))
    return cast(JsonObject, _settled(parsed, ""))


def dump(value: JsonValue) -> bytes:
    """Write a JSON value as compact UTF-8, key order kept; tuples are written as arrays.

    Where a lone surrogate makes UTF-8 impossible, the whole text is ASCII with escapes, so that
    `load` still gives back the same value.

    Raises:
        NotJson: bytes, sets, NaN, cycles, keys that are not strings, integers beyond Python's
            digit limit, nesting beyond `STORED_MAX_DEPTH`.
    """
    try:
        text = _WRITER.encode(value)
    except (TypeError, ValueError) as error:  # these messages name types, never values
        raise NotJson(f"not a JSON value: {shorten(str(error), 200)}") from None
    except RecursionError:
        raise NotJson(f"nested deeper than {STORED_MAX_DEPTH} levels") from None
    # Only now: a value that could be written is finite and has no cycle, so this walk ends.
    _check_keys_and_depth(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _ASCII_WRITER.encode(value).encode("ascii")


def load(data: bytes) -> JsonValue:
    """Read back what `dump` wrote.

    Raises:
        NotJson: the bytes are not JSON, or hold NaN or Infinity.
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"stored bytes are not JSON: {type(error).__name__}") from None


def _scan(text: str) -> _Shape:
    depth = deepest = 0
    open_string: int | None = None
    for token in _STRING_OR_BRACKET.finditer(text):
        match text[token.start()]:
            case "{" | "[":
                depth += 1
                deepest = max(deepest, depth)
            case "}" | "]":
                depth -= 1
            case _ if token["end"] is None:
                open_string = token.start()
            case _:
                pass
    return _Shape(deepest, depth, open_string)


def _refuse(text: str, shape: _Shape, error: json.JSONDecodeError) -> NoReturn:
    offset = error.pos
    if shape.open_string is not None and offset >= shape.open_string:
        raise StrictJsonError(
            f"the text ends inside the string that starts at offset {shape.open_string}: it was cut off, "
            "or a quote is missing; send the whole object, shorter if need be"
        ) from None
    if shape.open_brackets > 0 and _CUT_TAIL.fullmatch(text[offset:].rstrip(BLANK)):
        raise StrictJsonError(
            f"the text ends at offset {len(text)} with {shape.open_brackets} bracket(s) still open: "
            "it was cut off; send the whole object, shorter if need be"
        ) from None
    if error.msg == "Extra data":
        raise StrictJsonError(f"expected one JSON object and nothing after it, {_found(text, offset)}") from None
    raise StrictJsonError(f"not valid JSON: {error.msg.removesuffix(' at')}, {_found(text, offset)}") from None


def _found(text: str, offset: int) -> str:
    if offset >= len(text):
        return f"found the end of the text at offset {offset}"
    # A few characters of a secret would not be recognised as one.
    what = "something else" if looks_secret(text) else repr(text[offset : offset + 12])
    return f"found {what} at offset {offset}"


def _not_an_object(parsed: object) -> str:
    if isinstance(parsed, str):
        return "expected one JSON object, got a string: send the object itself, not JSON inside a string"
    if isinstance(parsed, _Bad):
        return parsed.fault
    return f"expected one JSON object, got {type_name(parsed)}"


def type_name(value: object) -> str:
    """Name a JSON value's type with its article, as messages to the agent do."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "an array"
        case _:
            return "an object"


def _settled(node: object, path: str) -> JsonValue:
    """Turn a parsed tree into plain JSON values, refusing the first fault; depth was checked before."""
    if isinstance(node, _Pairs):
        return _object(node, path)
    if isinstance(node, list):
        return [_settled(item, f"{path}/{index}") for index, item in enumerate(cast(list[object], node))]
    if isinstance(node, str):
        return _text(node, path)
    if isinstance(node, _Bad):
        raise StrictJsonError(f"{_at(path)}: {node.fault}")
    if isinstance(node, float) and math.isinf(node):
        raise StrictJsonError(f"{_at(path)}: the number is too large: expected one that fits a double")
    return node


def _object(pairs: _Pairs, path: str) -> JsonObject:
    found: JsonObject = {}
    for key, value in pairs:
        _text(key, path)
        if key in found:
            raise StrictJsonError(f"{_at(path)}: duplicate key {masked_short(repr(key), 80)}: expected each key once")
        found[key] = _settled(value, f"{path}/{key}")
    return found


def _text(text: str, path: str) -> str:
    # The text itself had none, so a surrogate can only come from an escape without its partner.
    if _SURROGATE.search(text) is not None:
        raise StrictJsonError(f"{_at(path)}: an escape such as \\ud800 without its partner: expected valid Unicode")
    return text


def _at(path: str) -> str:
    return f"at {masked_short(path, 120)!r}" if path else "at the top level"


def _whole_number(literal: str) -> int | _Bad:
    try:
        return int(literal)
    except ValueError:  # Python's limit on the digits of an integer
        return _Bad(f"an integer of {len(literal)} characters: expected at most {sys.get_int_max_str_digits()} digits")


def _constant(literal: str) -> _Bad:
    return _Bad(f"{literal} is not JSON: expected a number, a string or null")


def _refuse_constant(literal: str) -> NoReturn:
    raise ValueError(literal)


def _check_keys_and_depth(value: JsonValue) -> None:
    level = _containers([value])
    for _ in range(STORED_MAX_DEPTH):
        if not level:
            return
        level = [child for container in level for child in _containers(_members(container))]
    if level:
        raise NotJson(f"nested deeper than {STORED_MAX_DEPTH} levels")


def _containers(items: Iterable[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, (dict, list, tuple))]


def _members(container: Any) -> Iterable[Any]:
    if not isinstance(container, dict):
        return cast(Iterable[Any], container)
    mapping = cast(dict[object, Any], container)
    for key in mapping:
        if not isinstance(key, str):
            raise NotJson(f"not a JSON value: an object key is {type(key).__name__}, not str")
    return mapping.values()


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, parse_int=_whole_number, parse_constant=_constant)
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII_WRITER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
