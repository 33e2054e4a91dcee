"""Checks the literal parts of a step against the tool's JSON Schemas, before a run starts.

Above: `loader` and `scope_check`. Below: the boundary's own schema gate, so that both
say the same. What a template will give is not known here; the boundary checks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from activities.planners.runbook.suggest import suggest
from boundary.contracts import JsonObject, JsonValue
from boundary.schema_gate import SchemaGate

_HOPS_MAX = 20
"""References followed for one path."""


def argument_faults(schema: JsonObject, arguments: JsonObject) -> Iterator[tuple[str | None, str]]:
    """Say what is wrong with a call's arguments: the argument's name (None: the whole) and the fault."""
    properties = _object(schema.get("properties"))
    faulty = False
    for name in _names(schema.get("required")):
        if name not in arguments:
            faulty = True
            yield None, f"the argument {name!r} is missing"
    for name, value in arguments.items():
        fault = _argument_fault(schema, properties, name, value)
        if fault:
            faulty = True
            yield name, fault
    if not faulty and not is_templated(arguments):
        violation = SchemaGate(schema).violations(arguments)
        if violation:
            yield None, violation.message


def _argument_fault(schema: JsonObject, properties: JsonObject, name: str, value: JsonValue) -> str | None:
    if name not in properties:
        return f"there is no argument {name!r}{suggest(name, properties)}" if _is_closed(schema) else None
    if is_templated(value):
        return None
    shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    violation = SchemaGate({"type": "object", "properties": properties, **shared}).violations({name: value})
    return violation.message if violation else None


def _is_closed(schema: JsonObject) -> bool:
    return schema.get("additionalProperties") is False


def is_templated(value: JsonValue) -> bool:
    """Tell whether any text in the value has an expression in it."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, dict):
        return any(is_templated(item) for item in cast("JsonObject", value).values())
    return isinstance(value, list) and any(is_templated(item) for item in cast("list[JsonValue]", value))


def path_fault(schema: JsonObject, path: Sequence[str | int | None]) -> str | None:
    """Say which key of a path the schema rules out, or None; only closed objects rule anything out."""
    here: JsonValue = schema
    for token in path:
        here = _followed(schema, here)
        if not isinstance(here, dict) or token is None:
            here = _object(here).get("items") if token is None else None
        elif isinstance(token, int):
            here = cast("JsonObject", here).get("items")
        else:
            properties = _object(cast("JsonObject", here).get("properties"))
            if token not in properties and _is_closed(cast("JsonObject", here)):
                return f"has no field {token!r}{suggest(token, properties)}"
            here = properties.get(token)
    return None


def _followed(root: JsonObject, schema: JsonValue) -> JsonValue:
    for _ in range(_HOPS_MAX):
        reference = _object(schema).get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        schema = root
        for token in reference[2:].split("/"):
            schema = _object(schema).get(token.replace("~1", "/").replace("~0", "~"))
    return None


def _object(value: JsonValue) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _names(value: JsonValue) -> list[str]:
    return [str(name) for name in cast("list[JsonValue]", value)] if isinstance(value, list) else []
