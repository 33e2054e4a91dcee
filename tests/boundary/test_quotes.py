"""Quotes and pointers in one agent result: exact, and never across values."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundary.contracts import JsonObject, JsonValue
from boundary.quotes import SHOWN_QUOTE_MAX, Found, NoSuchValue, NotFound, Number, Quotable, load_literal, resolve
from boundary.report import QUOTE_MIN
from boundary.strict_json import NotJson, dump
from tests.boundary.test_strict_json import values

STORED = (
    b'{"total":286,"price":1.50,"big":18446744073709551617,"exp":1E+2,"ok":true,"off":false,"none":null,'
    b'"lines":["Failed password for root","Accepted key for app"],"":{"":"empty key"},"a/b":{"m~n":"slash and tilde"},'
    b'"rows":[[1,2],[3,4]],"short":"tiny","Failed as a key only":1,"blank":"            x"}'
)


def find(pointer: str | None, quote: str | None) -> Found | NotFound:
    """Look a citation up in the stored result."""
    return Quotable(STORED).find(pointer, quote)


@pytest.mark.parametrize(
    ("pointer", "quote"),
    [
        ("/total", "286"),
        ("/price", "1.50"),
        ("/big", "18446744073709551617"),
        ("/exp", "1E+2"),
        ("/ok", "true"),
        ("/off", "false"),
        ("/none", "null"),
        ("/short", "tiny"),
        ("/lines/0", "Failed password for root"),
        ("/lines/0", "password for"),
        ("/rows/1/0", "3"),
        ("//", "empty key"),
        ("/a~1b/m~0n", "slash and tilde"),
        (None, "Failed password"),
        (None, "empty ke"),
        (None, None),
    ],
)
def test_evidence_that_is_there_is_found(pointer: str | None, quote: str | None) -> None:
    """A scalar as JSON writes it, a part of a text, or a text anywhere."""
    assert find(pointer, quote) == Found()


@pytest.mark.parametrize(
    ("pointer", "quote", "reason"),
    [
        ("/total", "28", "digit by digit"),
        ("/total", "286.0", "digit by digit"),
        ("/price", "1.5", "digit by digit"),
        ("/exp", "100", "digit by digit"),
        ("/big", "18446744073709551616", "digit by digit"),
        ("/ok", "True", "digit by digit"),
        ("/none", "None", "digit by digit"),
        ("/short", "tin", "or more characters of it"),
        ("/lines/0", "root", "or more characters of it"),
        ("/lines/0", "Accepted key for app", "copy it exactly"),
        ("/lines/0", "failed password for root", "copy it exactly"),
        ("/lines", "Failed password for root", "an array or object"),
        ("/rows", "[[1,2],[3,4]]", "an array or object"),
        ("", "286", "an array or object"),
        ("", None, "the empty pointer"),
        ("/missing", None, "leads to nothing"),
        ("/total/0", None, "leads to nothing"),
        ("/lines/2", None, "leads to nothing"),
        ("/lines/-", None, "no index"),
        ("/lines/01", None, "no index"),
        ("/lines/-1", None, "no index"),
        ("/lines/+1", None, "no index"),
        ("/lines/1 ", None, "no index"),
        ("/lines/\u0661", None, "no index"),
        ("/lines/" + "9" * 400, None, "leads to nothing"),
        ("total", None, "begins with /"),
        ("#/total", None, "begins with /"),
        ("/a~2b", None, "write ~ as ~0"),
        ("/a~", None, "write ~ as ~0"),
        (None, "", "needs 8 characters"),
        (None, "Failed", "needs 8 characters"),
        (None, " " * 12, "needs 8 characters"),
        (None, "Failed as a key only", "no text value"),
        (None, "for rootAccepted", "no text value"),
        (None, "root\udfffAccepted", "no text value"),
        (None, "root\x00Accepted", "no text value"),
        (None, '["Failed password', "no text value"),
        (None, "18446744073709551617", "no text value"),
    ],
)
def test_evidence_that_is_not_there_as_cited_is_not_found(pointer: str | None, quote: str | None, reason: str) -> None:
    """The reason says what to change."""
    found = find(pointer, quote)
    assert isinstance(found, NotFound)
    assert reason in found.reason


def test_a_reason_shows_nothing_of_the_result() -> None:
    """It travels into the history, where agent-result text has no place."""
    for pointer in ("/lines/0", "/total"):
        found = find(pointer, "something else entirely")
        assert isinstance(found, NotFound)
        assert "Failed" not in found.reason
        assert "286" not in found.reason


@pytest.mark.parametrize(
    ("pointer", "scalar"),
    [("/total", "286"), ("/price", "1.50"), ("/short", "tiny"), ("/none", "null"), ("/rows", None), ("/lines", None)],
)
def test_a_pointer_alone_gives_the_scalar_it_leads_to(pointer: str, scalar: str | None) -> None:
    """So that a reader of the report sees it."""
    assert find(pointer, None) == Found(scalar)


def test_a_long_scalar_is_shown_by_a_beginning_that_is_itself_a_quote() -> None:
    """Checking the checked citation again gives the same answer."""
    quotable = Quotable(dump({"text": "x" * 1000, "digits": 10**400, "blank": " " * 1000}))
    found = quotable.find("/text", None)
    assert found == Found("x" * SHOWN_QUOTE_MAX)
    assert quotable.find("/text", "x" * SHOWN_QUOTE_MAX) == Found()
    assert quotable.find("/digits", None) == Found(None)
    assert quotable.find("/blank", None) == Found(None)


def test_a_text_that_is_not_unicode_is_not_shown() -> None:
    """Nothing that crosses a line may hold a lone surrogate."""
    assert Quotable(dump(["\ud800"])).find("/0", None) == Found(None)


@pytest.mark.parametrize("data", [b"", b"{", b"[NaN]", b"[" * 100_000])
def test_bytes_that_are_not_json_are_refused(data: bytes) -> None:
    """The guard then trusts nothing of the record."""
    with pytest.raises(NotJson):
        Quotable(data)


def test_numbers_keep_their_text() -> None:
    """No digit is rounded, no integer too long."""
    digits = "9" * 6000
    assert load_literal(f"[1.10,-0,{digits}]".encode()) == [Number("1.10"), Number("-0"), Number(digits)]


def every_place(value: JsonValue, pointer: str = "") -> list[tuple[str, JsonValue]]:
    """All pointers of a document with their values, written down top-down."""
    places = [(pointer, value)]
    if isinstance(value, dict):
        for key, item in cast(JsonObject, value).items():
            places += every_place(item, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    if isinstance(value, list):
        for index, item in enumerate(cast(list[JsonValue], value)):
            places += every_place(item, f"{pointer}/{index}")
    return places


@given(values)
def test_every_pointer_of_a_document_leads_to_its_value(document: JsonValue) -> None:
    """Whatever the keys: empty, with slashes and tildes, looking like indices."""
    for pointer, value in every_place(document):
        assert resolve(document, pointer) is value


@given(values, st.text(alphabet="/~01-a9", max_size=8))
def test_any_other_pointer_leads_nowhere(document: JsonValue, pointer: str) -> None:
    """Exactly the pointers of the document resolve, and the rest is refused with a reason."""
    places = dict(every_place(document))
    if pointer in places:
        assert resolve(document, pointer) is places[pointer]
    else:
        with pytest.raises(NoSuchValue):
            resolve(document, pointer)


def texts_of(document: JsonValue) -> list[str]:
    """All string values."""
    return [value for _, value in every_place(document) if isinstance(value, str)]


@given(values | st.lists(st.text(alphabet="ab ", min_size=8), max_size=4), st.data())
def test_a_quote_is_found_exactly_where_a_string_value_holds_it(document: JsonValue, data: st.DataObject) -> None:
    """Agrees with asking each string value for it."""
    quotable = Quotable(dump(document))
    texts = texts_of(document)
    candidates = [text[:12] for text in texts] + ["".join(texts)[:20], json.dumps(document)[:20]]
    quote = data.draw(st.sampled_from(candidates) | st.text(alphabet="ab ", min_size=8, max_size=12))
    expected = len(quote.strip()) >= QUOTE_MIN and any(quote in text for text in texts)
    assert isinstance(quotable.find(None, quote), Found) == expected
