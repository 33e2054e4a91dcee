"""Words for what JSON Schema found wrong: `path: expected ..., got ...`, short enough for an agent to act on.

Above: `schema_gate`. Below: nothing. It never shows more than a few characters of a value, and
it decides nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from jsonschema.exceptions import ValidationError

from boundary.contracts import JsonObject, shorten
from boundary.redaction import MASK, masked_short
from boundary.secret_patterns import is_secret_name

SHOWN_MAX = 40
"""Characters of a value that a message shows; a longer one is only measured."""

FAULT_MAX = 300
"""Characters of one fault."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,60}")

_EXPECTED = {
    "minimum": "a number >= {}",
    "maximum": "a number <= {}",
    "exclusiveMinimum": "a number > {}",
    "exclusiveMaximum": "a number < {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} properties",
    "maxProperties": "at most {} properties",
    "pattern": "text that matches {}",
    "const": "{}",
    "uniqueItems": "items that all differ",
    "contains": "at least one item of the kind the schema names",
    "not": "something the schema does not rule out",
}


def describe(error: ValidationError) -> str:
    """Say where, what was expected and what was there."""
    path: list[str | int] = list(cast(Any, error.absolute_path))
    fault = shorten(f"{_place(path)}: {_expected_and_got(error, _of_a_secret(path))}", FAULT_MAX)
    # A schema may hold a lone surrogate, which no message can carry.
    return fault.encode("utf-8", "replace").decode()


def _of_a_secret(path: list[str | int]) -> bool:
    return any(isinstance(step, str) and is_secret_name(step) for step in path)


def _place(path: list[str | int]) -> str:
    text = "arguments"
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}"
        else:
            text += f"[{masked_short(step, 40)!r}]"
    return text if len(text) <= 120 else "…" + text[-119:]


def _expected_and_got(error: ValidationError, secret: bool) -> str:
    keyword, wanted, got = str(error.validator), cast(Any, error.validator_value), cast(Any, error.instance)
    schema: JsonObject = error.schema if isinstance(error.schema, dict) else {}
    if keyword == "required":
        missing = [name for name in wanted if name not in got]
        return f"expected the required {_names(missing)}, got {_names(list(got))}"
    if keyword == "additionalProperties" and wanted is False:
        known = list(schema.get("properties", {}))
        extra = [name for name in got if name not in known]
        return f"expected only {_names(known)}, got also {_names(extra)}"
    return f"expected {_expected(keyword, wanted, schema)}, got {MASK if secret else shown(got)}"


def _expected(keyword: str, wanted: Any, schema: JsonObject) -> str:
    match keyword:
        case "type":
            return " or ".join([wanted] if isinstance(wanted, str) else wanted)
        case "enum":
            return "one of " + shorten(", ".join(_literal(item) for item in wanted), 120)
        case "anyOf" | "oneOf":
            return _alternatives(keyword, wanted)
        case "additionalProperties":
            return f"only {_names(list(schema.get('properties', {})))}"
        case _ if keyword in _EXPECTED:
            return _EXPECTED[keyword].format(_literal(wanted))
        case _:
            return "nothing here" if keyword == "None" else f"what the schema's {shorten(keyword, 40)} says"


def _alternatives(keyword: str, branches: list[Any]) -> str:
    kinds = [cast(JsonObject, branch).get("type") if isinstance(branch, dict) else None for branch in branches]
    if all(isinstance(kind, str) for kind in kinds):
        return shorten(" or ".join(cast(list[str], kinds)), 120)
    count = "exactly one" if keyword == "oneOf" else "one"
    return f"{count} of the schema's {len(branches)} alternatives"


def _names(names: list[Any]) -> str:
    if not names:
        return "nothing"
    return shorten(", ".join(repr(masked_short(str(name), 40)) for name in names), 120)


def _literal(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 80)


def shown(value: Any) -> str:
    """Show a value of the arguments: itself when short, otherwise its type and size."""
    match value:
        case str() if len(value) > SHOWN_MAX:
            return f"a string of {len(value)} characters"
        case list():
            return f"an array of {len(cast(list[Any], value))} items"
        case dict():
            return f"an object of {len(cast(JsonObject, value))} properties"
        case int() if not isinstance(value, bool) and abs(value) >= 10**SHOWN_MAX:
            return f"an integer of {value.bit_length()} bits"
        case _:
            return masked_short(json.dumps(value, ensure_ascii=False), SHOWN_MAX + 2)
