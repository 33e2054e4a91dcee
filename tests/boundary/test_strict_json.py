"""Strict JSON: one object exactly, and everything stored comes back as it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundary.contracts import JsonValue
from boundary.errors import ErrorCode
from boundary.limits import JSON_MAX_DEPTH
from boundary.strict_json import STORED_MAX_DEPTH, NotJson, StrictJsonError, dump, load, parse_object

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5), max_leaves=25
)
objects = st.dictionaries(st.text(), values, max_size=6)


def refusal(text: str) -> str:
    """The message with which a text is refused."""
    with pytest.raises(StrictJsonError) as caught:
        parse_object(text)
    return caught.value.message


@given(objects, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_a_valid_object_is_read_as_the_standard_library_reads_it(
    value: dict[str, JsonValue], escaped: bool, indent: int | str | None
) -> None:
    """Whatever the spelling, strict JSON agrees with `json.loads` on valid objects."""
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)
    assert parse_object(text) == json.loads(text) == value


@given(st.text() | st.text(alphabet='{}[]",:\\u0d8e19.-truefalsnN \n') | st.text(alphabet=st.characters()))
def test_any_text_is_read_or_refused_with_the_one_error(text: str) -> None:
    """No text makes anything escape but `StrictJsonError`, whose code is INVALID_ARGUMENTS."""
    try:
        assert isinstance(parse_object(text), dict)
    except StrictJsonError:
        assert StrictJsonError.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.proves("FIELD-CUT-ARGUMENTS")
@given(objects, st.integers(min_value=0))
def test_a_cut_object_is_never_taken_for_a_whole_one(value: dict[str, JsonValue], place: int) -> None:
    """Every proper beginning of an object is refused, and said to be cut off."""
    text = json.dumps(value)
    cut = text[: 1 + place % (len(text) - 1)]
    assert "cut off" in refusal(cut)


@pytest.mark.parametrize("text", ["", " ", "\n\t \r"])
def test_an_empty_text_means_no_arguments(text: str) -> None:
    """Providers send an empty text for a call without arguments."""
    assert parse_object(text) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a":1,"a":1}', "at the top level: duplicate key 'a'"),
        ('{"a":{"b":[{"c":1,"c":2}]}}', "at '/a/b/0': duplicate key 'c'"),
        ('{"a":NaN}', "at '/a': NaN is not JSON"),
        ('{"a":[1,Infinity]}', "at '/a/1': Infinity is not JSON"),
        ('{"a":-Infinity}', "-Infinity is not JSON"),
        ('{"a":1e999}', "too large"),
        ('{"a":-1e999}', "too large"),
        ('{"a":"\ud800"}', "lone surrogate at offset 6"),
        (r'{"a":"\ud800"}', "without its partner"),
        (r'{"\udc00":1}', "without its partner"),
        (r'{"a":"\ude00\ud83d"}', "without its partner"),
        ("{} {}", "nothing after it, found '{}' at offset 3"),
        ('{"a":1}}', "nothing after it"),
        ('{"a":1,}', "at offset 7"),
        ("{'a':1}", "at offset 1"),
        ('{"a": nope', "found 'nope' at offset 6"),
        ('{"a":"\n"}', "control character"),
        ("[1]", "got an array"),
        ("null", "got null"),
        ("12", "got a number"),
        ('"{}"', "not JSON inside a string"),
        ("NaN", "NaN is not JSON"),
        ("\ufeff{}", "at offset 0"),
        ('{"pattern": "err', "cut off"),
        ('{"a": "x\\', "cut off"),
        ('{"a": tru', "cut off"),
        ('{"a": [1, {"b": 2.', "cut off"),
    ],
)
def test_what_is_not_one_strict_object_is_refused_with_its_place(text: str, said: str) -> None:
    """The message says where the text goes wrong, so that the agent can mend it."""
    assert said in refusal(text)


def test_an_escaped_pair_of_surrogates_is_one_character() -> None:
    """Only a surrogate without its partner is refused."""
    assert parse_object(r'{"a":"\ud83d\ude00"}') == {"a": "\U0001f600"}


def test_big_integers_stay_exact() -> None:
    """An id of twenty digits is not rounded to a double."""
    assert parse_object('{"id": 18446744073709551617}') == {"id": 2**64 + 1}


def test_an_integer_beyond_pythons_digit_limit_is_refused() -> None:
    """Python's own ValueError never escapes."""
    assert "5000 characters" in refusal('{"a": ' + "9" * 5000 + "}")
    assert "integer" in refusal("9" * 5000)


def test_nesting_is_allowed_up_to_the_limit_and_refused_beyond() -> None:
    """The limit counts the object itself."""
    allowed = '{"a":' * JSON_MAX_DEPTH + "1" + "}" * JSON_MAX_DEPTH
    assert parse_object(allowed)
    assert f"at most {JSON_MAX_DEPTH} levels" in refusal('{"a":' + allowed + "}")
    assert "nested 1000000 levels" in refusal("[" * 1_000_000)


def test_brackets_inside_strings_do_not_count_as_nesting() -> None:
    """The pre-scan steps over strings, escaped quotes included."""
    text = json.dumps({"a": "[" * 500 + '"\\' + "{" * 500})
    assert parse_object(text) == json.loads(text)


@given(values)
def test_any_json_value_comes_back_as_it_was(value: JsonValue) -> None:
    """Also types and key order: 1 is not 1.0, true is not 1."""
    read = load(dump(value))
    assert read == value
    assert repr(read) == repr(value)


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": ["é", "\ud83d"]}, [], 2**63 + 1, 1e300, "\x00", -0.0])
def test_odd_values_come_back_too(value: JsonValue) -> None:
    """Lone surrogates of a log line, the empty list, integers beyond 64 bits."""
    assert repr(load(dump(value))) == repr(value)


def test_text_is_stored_as_utf_8_and_compact() -> None:
    """An umlaut takes two bytes, not six."""
    assert dump({"b": "ü", "a": [1, 2]}) == '{"b":"ü","a":[1,2]}'.encode()


def test_a_tuple_is_written_as_an_array() -> None:
    """Database rows come as tuples."""
    assert dump([(1, "a")]) == b'[[1,"a"]]'


def nested(levels: int) -> JsonValue:
    """An array in an array, `levels` deep."""
    value: JsonValue = []
    for _ in range(levels - 1):
        value = [value]
    return value


def circular() -> JsonValue:
    """A list that holds itself, twice."""
    value: list[JsonValue] = []
    value.extend((value, value))
    return value


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        {1, 2},
        object(),
        float("nan"),
        [float("inf")],
        {1: "a"},
        {"a": {None: 1}},
        [{True: 1}],
        10**5000,
        circular(),
        nested(STORED_MAX_DEPTH + 1),
        nested(50_000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_is_never_written(value: object) -> None:
    """Nothing is coerced: a key 1 does not become the key "1"."""
    with pytest.raises(NotJson):
        dump(value)


def test_the_deepest_allowed_value_comes_back() -> None:
    """What may be written can be read."""
    value = nested(STORED_MAX_DEPTH)
    assert load(dump(value)) == value


@pytest.mark.parametrize("data", [b"", b"{", b"NaN", b"\xff", b"[" * 100_000])
def test_bytes_that_are_not_json_are_refused(data: bytes) -> None:
    """A damaged body is an error, not a value."""
    with pytest.raises(NotJson):
        load(data)
