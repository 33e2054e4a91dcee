"""Finds a quote or a pointer in one agent result, exactly as stored.

Above: `guard` asks once per citation. Below: nothing. Numbers keep the text they were stored
with, so `1.50` is not `1.5` and big integers are exact. It compares text and judges no meaning;
it says in words why something was not found, without showing anything of the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, cast

from boundary.contracts import JsonObject, JsonValue, shorten
from boundary.report import QUOTE_MIN
from boundary.strict_json import NotJson

SHOWN_QUOTE_MAX = 300
"""Characters of a scalar that stands in a checked citation where only a pointer was given."""

_ARRAY_INDEX = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_BETWEEN = "\udfff"
"""Stands between the texts of a result when they are searched as one; no valid Unicode quote holds it."""


class Number(NamedTuple):
    """A number as it is written in the stored JSON."""

    literal: str


class Found(NamedTuple):
    """The evidence is there."""

    scalar: str | None = None
    """Beginning of the scalar at the pointer, where the citation named it by pointer alone."""


class NotFound(NamedTuple):
    """The evidence is not there as cited."""

    reason: str
    """What to change; holds nothing of the result."""


class NoSuchValue(Exception):
    """The pointer is not one, or leads nowhere; the message says which."""


class Quotable:
    """One agent result, parsed once, in which citations are looked up."""

    def __init__(self, agent_result: bytes) -> None:
        """Parse the stored bytes.

        Raises:
            NotJson: they are not JSON.
        """
        self._document = load_literal(agent_result)
        self._texts: str | None = None

    def find(self, pointer: str | None, quote: str | None) -> Found | NotFound:
        """Look up a citation; with neither pointer nor quote there is nothing to find, and it is found.

        With a pointer, the quote is the whole scalar there or `QUOTE_MIN` or more characters of its
        text. A pointer alone leads to anything but the whole document. A quote alone is `QUOTE_MIN` or more
        characters, blanks at its ends not counted, of one text value; keys are not searched.
        """
        if pointer is None:
            return Found() if quote is None else self._find_quote(quote)
        try:
            value = resolve(self._document, pointer)
        except NoSuchValue as error:
            return NotFound(str(error))
        if quote is not None:
            return _compare(value, quote, pointer)
        if pointer == "":
            return NotFound("the empty pointer is the whole result: point to the value that shows it")
        return Found(_shown(value))

    def _find_quote(self, quote: str) -> Found | NotFound:
        if not _is_long_enough(quote):
            return NotFound(f"a quote without a pointer needs {QUOTE_MIN} characters: quote more, or add the pointer")
        if self._texts is None:
            self._texts = _BETWEEN.join(_texts(self._document))
        if _BETWEEN not in quote and quote in self._texts:
            return Found()
        return NotFound("the quote is in no text value of the result: copy it exactly, from one value")


def load_literal(data: bytes) -> JsonValue:
    """Read JSON with each number as the `Number` it is written as.

    Raises:
        NotJson: the bytes are not JSON.
    """
    try:
        return json.loads(data, parse_int=Number, parse_float=Number, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"stored bytes are not JSON: {type(error).__name__}") from None


def resolve(document: JsonValue, pointer: str) -> JsonValue:
    """Follow a JSON Pointer (RFC 6901); `-`, the place after an array's end, holds nothing.

    Raises:
        NoSuchValue: a syntax error, or nothing is there.
    """
    shown = repr(shorten(pointer, 100))
    if pointer and not pointer.startswith("/"):
        raise NoSuchValue(f"{shown} is not a JSON Pointer: it begins with /, as in /groups/0/count")
    if _BAD_ESCAPE.search(pointer) is not None:
        raise NoSuchValue(f"{shown} is not a JSON Pointer: write ~ as ~0 and / as ~1")
    value = document
    for token in pointer.split("/")[1:]:
        value = _child(value, token.replace("~1", "/").replace("~0", "~"), shown)
    return value


def _child(value: JsonValue, token: str, shown: str) -> JsonValue:
    if isinstance(value, dict):
        members = cast(JsonObject, value)
        if token in members:
            return members[token]
    elif isinstance(value, list):
        items = cast(list[JsonValue], value)
        if _ARRAY_INDEX.match(token) is None:
            raise NoSuchValue(f"{shown}: {shorten(token, 40)!r} is no index of the array there")
        if int(token) < len(items):
            return items[int(token)]
    raise NoSuchValue(f"{shown} leads to nothing in the result")


def _compare(value: JsonValue, quote: str, pointer: str) -> Found | NotFound:
    text = scalar_text(value)
    shown = repr(shorten(pointer, 100))
    if text is None:
        return NotFound(f"{shown} leads to an array or object: point to the one value that is quoted")
    if quote == text or (isinstance(value, str) and _is_long_enough(quote) and quote in text):
        return Found()
    part = f", or {QUOTE_MIN} or more characters of it" if isinstance(value, str) else ", digit by digit"
    return NotFound(f"the quote is not the value at {shown}: copy it exactly{part}")


def scalar_text(value: JsonValue) -> str | None:
    """Return a scalar's text as JSON writes it (a string's without quotes); None: it is no scalar."""
    match value:
        case str():
            return value
        case Number():
            return value.literal
        case bool() | None:
            return json.dumps(value)
        case _:
            return None


def _shown(value: JsonValue) -> str | None:
    """A beginning that `find` would accept as the quote, or None where there is none to show."""
    text = scalar_text(value)
    if text is None or (len(text) > SHOWN_QUOTE_MAX and not isinstance(value, str)):
        return None
    try:
        text.encode()
    except UnicodeEncodeError:  # nothing that crosses a line may hold a lone surrogate
        return None
    beginning = text[:SHOWN_QUOTE_MAX]
    return beginning if beginning == text or _is_long_enough(beginning) else None


def _is_long_enough(quote: str) -> bool:
    return len(quote.strip()) >= QUOTE_MIN


def _texts(document: JsonValue) -> Iterator[str]:
    """Yield every string value, in no order that matters; without recursion."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(cast(JsonObject, value).values())
        elif isinstance(value, list):
            waiting.extend(cast(list[Any], value))


def _refuse(literal: str) -> NoReturn:
    raise ValueError(literal)
