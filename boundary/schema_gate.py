"""The gate between parsed arguments and a tool: JSON Schema 2020-12, checked once, evaluated within bounds.

Above: `registry` builds one gate per tool, preflight asks it for violations. Below: `jsonschema`,
with two keywords replaced and one counted, because a schema may come from a third party and
arguments from a model, and neither may hang a worker:

- `pattern` runs on pydantic's Rust engine, linear in the text; it has no look-around and no back-references.
- `uniqueItems` compares hashes instead of every pair.
- `$ref` counts: a recursive schema with alternatives is exponential in the nesting of the arguments.
- `patternProperties` and the `unevaluated` keywords are refused: the library runs Python's `re`, or is quadratic.
- `$ref` must be `#` or a pointer into the same schema; nothing is ever fetched. `format` is not checked.

It is not where a tool says what JSON Schema cannot express; that is `Tool.check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from threading import Lock
from typing import Annotated, Any, cast
from urllib.parse import unquote

import jsonschema.validators
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as PatternMismatch
from pydantic_core import SchemaError as PatternError

from boundary.contracts import MESSAGE_MAX, CallError, JsonObject, JsonValue, call_error, shorten
from boundary.errors import CaseboundError, ErrorCode
from boundary.schema_faults import describe
from boundary.strict_json import NotJson, dump

SCHEMA_MAX_BYTES = 128 * 1024
"""Of one schema; it stands in the catalog the planner reads."""

PATTERN_MAX = 500
"""Characters of a `pattern`."""

MAX_FAULTS = 5
"""Violations named at once; a model mends a few at a time."""

MAX_REFERENCES = 5_000
"""`$ref` steps of one validation; honest arguments need a few per nested object."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ONE_SCHEMA = (
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_REFUSED_EVERYWHERE = ("$id", "$anchor", "$dynamicAnchor")
_REFUSED_IN_ARGUMENTS = ("patternProperties", "unevaluatedItems", "unevaluatedProperties")

_Keyword = Callable[[Any, Any, Any, JsonObject], Iterator[ValidationError]]


class InvalidTool(CaseboundError):
    """A tool cannot be registered: its name, schema or definition breaks a rule the message names."""


class _TooManyReferences(Exception):
    """The arguments would need more `$ref` steps than one validation may take."""


class SchemaGate:
    """Checks arguments against one tool's schema. Pure, bounded, safe to share between threads."""

    def __init__(self, schema: JsonObject) -> None:
        """Check the schema itself.

        Raises:
            InvalidTool: it is not a 2020-12 schema of an object, or uses what this gate refuses.
        """
        nodes = inspect_schema(schema)
        if schema.get("type") != "object":
            raise InvalidTool(f'the top level must say "type": "object", not {schema.get("type")!r}')
        self._lock = Lock()
        self._references = 0
        self._patterns = _compiled_patterns(nodes)
        keywords: dict[str, _Keyword] = {
            "$ref": self._counted("$ref"),
            "$dynamicRef": self._counted("$dynamicRef"),
            "pattern": self._pattern,
            "uniqueItems": _unique_items,
        }
        self._validator: Any = cast(Any, jsonschema.validators).extend(Draft202012Validator, keywords)(schema)
        try:
            self._faults({})
        except (RecursionError, _TooManyReferences):
            raise InvalidTool("a $ref leads back to itself without going into a property or an item") from None

    def violations(self, arguments: JsonObject) -> CallError | None:
        """Name up to `MAX_FAULTS` places where the arguments do not fit; None: they fit."""
        try:
            faults = self._faults(arguments)
        except (RecursionError, _TooManyReferences):
            faults = ["arguments: nested too deeply for this schema: expected a simpler structure"]
        except ArithmeticError:
            faults = ["arguments: a number is too large to be checked: expected one that fits a double"]
        if not faults:
            return None
        share = (MESSAGE_MAX - 2 * len(faults)) // len(faults)
        return call_error(ErrorCode.SCHEMA_VIOLATION, "; ".join(shorten(fault, share) for fault in faults))

    def _faults(self, arguments: JsonObject) -> list[str]:
        with self._lock:  # the count is one per gate, and a validation is short
            self._references = 0
            errors = cast(Iterator[ValidationError], self._validator.iter_errors(arguments))
            described = (describe(error) for error in errors)
            # Several errors can read the same (one per missing property); islice keeps the work bounded.
            return list(dict.fromkeys(islice(described, 4 * MAX_FAULTS)))[:MAX_FAULTS]

    def _counted(self, keyword: str) -> _Keyword:
        follow = cast(_Keyword, cast(Any, Draft202012Validator.VALIDATORS)[keyword])

        def reference(validator: Any, ref: Any, instance: Any, schema: JsonObject) -> Iterator[ValidationError]:
            self._references += 1
            if self._references > MAX_REFERENCES:
                raise _TooManyReferences
            yield from follow(validator, ref, instance, schema)

        return reference

    def _pattern(self, _: Any, pattern: str, instance: Any, __: JsonObject) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not _matches(self._patterns[pattern], instance):
            yield ValidationError("pattern")


def inspect_schema(schema: JsonValue) -> list[JsonObject]:
    """Check a schema without evaluating it and return its object nodes.

    Raises:
        InvalidTool: not JSON, too large, not a 2020-12 schema, or a reference that is not local.
    """
    try:
        size = len(dump(schema))
    except NotJson as error:
        raise InvalidTool(f"the schema is not JSON: {error.message}") from None
    if size > SCHEMA_MAX_BYTES:
        raise InvalidTool(f"the schema has {size} bytes: at most {SCHEMA_MAX_BYTES} are allowed")
    try:
        # Without a format checker: it would want patterns to be Python's, which they are not.
        Draft202012Validator.check_schema(schema, format_checker=cast(Any, None))
    except SchemaError as error:
        place = "/".join(str(step) for step in error.absolute_path) or "top level"
        reason = shorten(error.message, 200)
        raise InvalidTool(f"not a JSON Schema 2020-12, at {shorten(place, 100)}: {reason}") from None
    except RecursionError:
        raise InvalidTool("the schema is nested too deeply") from None
    nodes = _nodes(schema)
    for pointer, node in nodes.items():
        _check_node(pointer, node, nodes)
    return [node for node in nodes.values() if isinstance(node, dict)]


def _nodes(schema: JsonValue) -> dict[str, JsonValue]:
    """Map the pointer of each place where a schema stands to that schema; data such as `enum` is none."""
    found: dict[str, JsonValue] = {}
    waiting: list[tuple[str, JsonValue]] = [("", schema)]
    while waiting:
        pointer, node = waiting.pop()
        found[pointer] = node
        if not isinstance(node, dict):
            continue
        schema_node = cast(JsonObject, node)
        for keyword in schema_node.keys() & set(_ONE_SCHEMA):
            waiting.append((f"{pointer}/{keyword}", schema_node[keyword]))
        for keyword in schema_node.keys() & set(_SCHEMA_LISTS):
            waiting.extend((f"{pointer}/{keyword}/{i}", item) for i, item in enumerate(schema_node[keyword]))
        for keyword in schema_node.keys() & set(_SCHEMA_MAPS):
            members = cast(JsonObject, schema_node[keyword])
            waiting.extend((f"{pointer}/{keyword}/{_escaped(name)}", item) for name, item in members.items())
    return found


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _check_node(pointer: str, node: JsonValue, nodes: dict[str, JsonValue]) -> None:
    if not isinstance(node, dict):
        return
    schema_node = cast(JsonObject, node)
    place = shorten(pointer, 100) or "top level"
    if str(schema_node.get("$schema", DIALECT)).rstrip("#") != DIALECT:
        raise InvalidTool(f"at {place}: $schema must be {DIALECT}, or left out")
    for keyword in _REFUSED_EVERYWHERE:
        if keyword in schema_node:
            raise InvalidTool(f"at {place}: {keyword} is not allowed: name parts with $defs and point to them")
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema_node:
            _check_reference(place, keyword, str(schema_node[keyword]), nodes)


def _check_reference(place: str, keyword: str, target: str, nodes: dict[str, JsonValue]) -> None:
    shown = repr(shorten(target, 100))
    if target != "#" and not target.startswith("#/"):
        raise InvalidTool(f"at {place}: {keyword} {shown} is not allowed: only #/... into this same schema is")
    if unquote(target[1:]) not in nodes:
        raise InvalidTool(f"at {place}: {keyword} {shown} points to no schema")


def _compiled_patterns(nodes: list[JsonObject]) -> dict[str, TypeAdapter[str]]:
    compiled: dict[str, TypeAdapter[str]] = {}
    for node in nodes:
        for keyword in _REFUSED_IN_ARGUMENTS:
            if keyword in node:
                raise InvalidTool(f"{keyword} is not supported: use properties, additionalProperties or propertyNames")
        if "pattern" in node:
            compiled[node["pattern"]] = _compiled(node["pattern"])
    return compiled


def _compiled(pattern: str) -> TypeAdapter[str]:
    if len(pattern) > PATTERN_MAX:
        raise InvalidTool(f"a pattern has {len(pattern)} characters: at most {PATTERN_MAX} are allowed")
    try:
        pattern.encode()  # a lone surrogate would only fail when the pattern is used
        return TypeAdapter(Annotated[str, StringConstraints(strict=True, pattern=pattern)])
    except (PatternError, UnicodeEncodeError) as error:
        reason = shorten(" ".join(str(error).split()), 250)
        raise InvalidTool(f"pattern {shorten(pattern, 100)!r} is not supported (no look-around): {reason}") from None


def _matches(compiled: TypeAdapter[str], text: str) -> bool:
    try:
        compiled.validate_python(text)
    except PatternMismatch:
        return False
    return True


def _unique_items(_: Any, wanted: bool, instance: Any, __: JsonObject) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list):
        items = cast(list[Any], instance)
        if len({_frozen(item) for item in items}) < len(items):
            yield ValidationError("uniqueItems")


def _frozen(value: JsonValue) -> object:
    """Make a hashable stand-in: equal exactly where JSON Schema calls two values equal (1 and 1.0, not 1 and true)."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", tuple(_frozen(item) for item in cast(list[Any], value)))
        case dict():
            members = cast(JsonObject, value)
            return ("object", frozenset((name, _frozen(item)) for name, item in members.items()))
        case _:
            return value
