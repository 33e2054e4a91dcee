"""The schema gate: what it lets pass, what it says, and what it refuses to be built from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundary.contracts import MESSAGE_MAX, JsonObject
from boundary.errors import ErrorCode
from boundary.schema_gate import MAX_FAULTS, InvalidTool, SchemaGate, inspect_schema

SEARCH: JsonObject = {
    "type": "object",
    "properties": {
        "source": {"type": "string", "minLength": 1, "maxLength": 20},
        "limit": {"type": "integer", "minimum": 1, "maximum": 500},
        "order": {"enum": ["oldest", "newest"]},
        "until": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "zone": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "ids": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "maxItems": 3},
    },
    "required": ["source"],
    "additionalProperties": False,
}


def fault(arguments: JsonObject, schema: JsonObject = SEARCH) -> str:
    """The message with which arguments are refused."""
    error = SchemaGate(schema).violations(arguments)
    assert error is not None
    assert error.code is ErrorCode.SCHEMA_VIOLATION
    return error.message


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": "sshd"},
        {"source": "sshd", "limit": 500, "order": "newest", "until": None, "zone": "UTC", "ids": [1, 2]},
        {"source": "sshd", "limit": 5.0},
    ],
)
def test_arguments_that_fit_have_no_violations(arguments: JsonObject) -> None:
    """None means: go on."""
    assert SchemaGate(SEARCH).violations(arguments) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "arguments: expected the required 'source', got nothing"),
        ({"source": 5}, "arguments.source: expected string, got 5"),
        ({"source": ""}, 'arguments.source: expected at least 1 characters, got ""'),
        ({"source": "x" * 21}, 'expected at most 20 characters, got "xxxxxxxxxxxxxxxxxxxxx"'),
        ({"source": "a", "limit": 0}, "arguments.limit: expected a number >= 1, got 0"),
        ({"source": "a", "limit": True}, "arguments.limit: expected integer, got true"),
        ({"source": "a", "order": "up"}, 'arguments.order: expected one of "oldest", "newest", got "up"'),
        ({"source": "a", "until": 3}, "arguments.until: expected string or null, got 3"),
        ({"source": "a", "zone": "utc"}, 'arguments.zone: expected text that matches "^[A-Z]{3}$", got "utc"'),
        ({"source": "a", "ids": [1, "b"]}, 'arguments.ids[1]: expected integer, got "b"'),
        ({"source": "a", "ids": [1, 1]}, "arguments.ids: expected items that all differ, got an array of 2 items"),
        ({"source": "a", "ids": [1, 2, 3, 4]}, "expected at most 3 items, got an array of 4 items"),
        (
            {"source": "a", "sauce": 1},
            "expected only 'source', 'limit', 'order', 'until', 'zone', 'ids', got also 'sauce'",
        ),
    ],
)
def test_a_violation_says_where_what_was_expected_and_what_came(arguments: JsonObject, said: str) -> None:
    """The message is enough to mend the call."""
    assert said in fault(arguments)


def test_long_values_are_measured_not_shown() -> None:
    """A megabyte of argument never reaches the history by way of its refusal."""
    message = fault({"source": "a", "limit": "z" * 5000, "x" * 5000: 1})
    assert "a string of 5000 characters" in message
    assert "z" * 50 not in message
    assert len(message) <= MESSAGE_MAX


def test_at_most_five_faults_are_named() -> None:
    """More than that an agent does not mend at once."""
    properties = {f"p{index}": {"type": "string"} for index in range(20)}
    message = fault(dict.fromkeys(properties, 1), {"type": "object", "properties": properties})
    assert message.count("expected string") == MAX_FAULTS


def test_uniqueness_follows_json_schema_not_python() -> None:
    """1 and 1.0 are equal, 1 and true are not, objects compare whatever their key order."""
    gate = SchemaGate({"type": "object", "properties": {"u": {"uniqueItems": True}}})
    assert gate.violations({"u": [1, True, "1", None, {"a": 1}, [1]]}) is None
    assert gate.violations({"u": [1, 1.0]}) is not None
    assert gate.violations({"u": [{"a": 1, "b": [2]}, {"b": [2], "a": 1}]}) is not None


def test_many_different_objects_are_compared_by_hash() -> None:
    """The library compares every pair, which takes minutes here."""
    gate = SchemaGate({"type": "object", "properties": {"u": {"uniqueItems": True}}})
    assert gate.violations({"u": [{"n": n} for n in range(30_000)]}) is None


def test_a_regex_bomb_in_a_schema_is_harmless() -> None:
    """Patterns are matched in time linear in the text."""
    gate = SchemaGate({"type": "object", "properties": {"p": {"pattern": "^(a+)+$"}}})
    assert gate.violations({"p": "a" * 60_000 + "b"}) is not None
    assert gate.violations({"p": "a" * 60_000}) is None


def test_a_recursive_schema_checks_nested_arguments() -> None:
    """`$ref` into the same schema is allowed, as deep as arguments may be."""
    gate = SchemaGate({"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}})
    good, bad = {"n": 1}, {"n": "x"}
    for _ in range(60):
        good, bad = {"next": good}, {"next": bad}
    assert gate.violations(good) is None
    assert "expected integer" in str(gate.violations(bad))


def test_a_schema_that_is_exponential_in_the_nesting_ends_with_a_refusal() -> None:
    """Alternatives that both recurse double the work at each level; the count of references bounds it."""
    branches = [{"properties": {"op": {"const": op}, "x": {"$ref": "#"}}} for op in ("and", "or")]
    gate = SchemaGate({"type": "object", "anyOf": branches})
    arguments: JsonObject = {"op": "not"}
    for _ in range(60):
        arguments = {"op": "not", "x": arguments}
    assert "nested too deeply" in str(gate.violations(arguments))
    assert gate.violations({"op": "and"}) is None


def test_a_number_too_large_for_the_schema_is_a_violation() -> None:
    """An OverflowError never escapes."""
    message = fault({"k": 10**400}, {"type": "object", "properties": {"k": {"multipleOf": 0.5}}})
    assert "too large" in message


def test_a_lone_surrogate_in_a_schema_does_not_break_the_message() -> None:
    """No message may carry what is not Unicode."""
    assert fault({"a": 1}, {"type": "object", "properties": {"a": {"const": "\ud800"}}}).isprintable()


def in_property(schema: Any) -> JsonObject:
    """A schema of an object with one property."""
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, "must say"),
        ({"type": "array"}, "must say"),
        ({"type": ["object", "null"]}, "must say"),
        ({"type": "objekt"}, "not a JSON Schema"),
        (in_property({"type": "strng"}), "not a JSON Schema"),
        (in_property({"$ref": "https://example.org/a.json"}), "only #/..."),
        (in_property({"$ref": "other.json#/a"}), "only #/..."),
        (in_property({"$ref": "file:///etc/passwd"}), "only #/..."),
        (in_property({"$dynamicRef": "https://example.org/a"}), "only #/..."),
        (in_property({"$ref": "#name"}), "only #/..."),
        (in_property({"$ref": "#/$defs/missing"}), "points to no schema"),
        ({**in_property({"$ref": "#/default"}), "default": {"$ref": "http://a"}}, "points to no schema"),
        ({"type": "object", "$id": "https://example.org/a"}, "$id is not allowed"),
        (in_property({"$id": "https://example.org/a"}), "$id is not allowed"),
        (in_property({"$anchor": "x"}), "$anchor is not allowed"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "$schema must be"),
        ({"type": "object", "$ref": "#"}, "leads back to itself"),
        ({"type": "object", "allOf": [{"$ref": "#"}]}, "leads back to itself"),
        ({"type": "object", "patternProperties": {"a": {}}}, "patternProperties is not supported"),
        ({"type": "object", "unevaluatedProperties": False}, "unevaluatedProperties is not supported"),
        (in_property({"pattern": "a(?=b)"}), "no look-around"),
        (in_property({"pattern": "(a"}), "not supported"),
        (in_property({"pattern": "\ud800"}), "not supported"),
        (in_property({"pattern": "a" * 501}), "501 characters"),
        (in_property({"description": "x" * 200_000}), "bytes"),
        (in_property({"const": {1, 2}}), "not JSON"),
    ],
)
def test_a_schema_that_cannot_be_checked_safely_is_refused_when_the_tool_is_registered(
    schema: JsonObject, said: str
) -> None:
    """A tool with such a schema stops the worker's start, not a run."""
    with pytest.raises(InvalidTool) as caught:
        SchemaGate(schema)
    assert said in caught.value.message


@pytest.mark.parametrize("levels", [101, 5000])
def test_a_deeply_nested_schema_is_refused(levels: int) -> None:
    """Neither the check of the schema nor its walk may exhaust the stack."""
    schema: JsonObject = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(InvalidTool):
        SchemaGate(schema)


def test_data_in_a_schema_is_not_taken_for_a_schema() -> None:
    """A default value, or a property, may be called `$ref`."""
    schema: JsonObject = {
        "type": "object",
        "default": {"$ref": "http://a"},
        "properties": {"$ref": {"type": "string"}, "patternProperties": {"enum": [{"$id": "x"}]}},
    }
    assert SchemaGate(schema).violations({"$ref": "x"}) is None


def test_local_definitions_are_resolved() -> None:
    """What pydantic writes for nested models."""
    schema: JsonObject = {
        "type": "object",
        "$defs": {"a/b~c d": {"type": "integer"}},
        "properties": {"x": {"$ref": "#/$defs/a~1b~0c%20d"}},
    }
    assert "expected integer" in fault({"x": "y"}, schema)


def test_a_result_schema_may_be_any_local_schema() -> None:
    """It is shown to planners and never evaluated."""
    assert inspect_schema({"type": "array", "items": {"patternProperties": {"a": {}}}})
    assert inspect_schema(True) == []


@given(st.dictionaries(st.sampled_from([*SEARCH["properties"], "x"]), st.none() | st.integers() | st.text()))
def test_the_gate_agrees_with_itself_and_never_raises(arguments: JsonObject) -> None:
    """Checking twice gives the same answer: nothing is left over from the call before."""
    gate = SchemaGate(SEARCH)
    assert gate.violations(arguments) == gate.violations(arguments)
