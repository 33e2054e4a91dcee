"""Fields of JSON lines, as text.

Above: `lines`. Below: nothing. A number is kept as it is written, unless an object or array around it is asked for.
"""

from __future__ import annotations

import json
from typing import Any, cast

_as_written = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class JsonLine:
    """The JSON object of a line."""

    def __init__(self, line: bytes) -> None:
        """Read the line; one that is no JSON object has no fields."""
        self._line = line
        found = _read(_as_written, line)
        self._object: dict[str, Any] | None = cast("dict[str, Any]", found) if isinstance(found, dict) else None

    def text(self, path: str) -> bytes | None:
        """The value at a path such as `http.status` or `hosts.0`: keys, which may hold dots, and places in arrays.

        Text as it is, a number as it is written, else JSON; None: there is none.
        """
        if self._object is None:
            return None
        found = _values(self._object, path)
        if not found:
            return None
        value = found[0]
        if isinstance(value, dict | list):
            # Read again, for here numbers are to stand without quotes.
            plain = _values(_read(json.JSONDecoder(), self._line), path)
            return _written(plain[0]) if plain else None
        return value.encode(errors="replace") if isinstance(value, str) else _written(value)


def _written(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _read(decoder: json.JSONDecoder, line: bytes) -> object:
    try:
        return decoder.decode(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _values(holder: object, path: str) -> list[Any]:
    """The value at the path in a list, or nothing: null is a value."""
    if isinstance(holder, dict):
        members = cast("dict[str, Any]", holder)
        if path in members:
            return [members[path]]
        for place in (place for place, letter in enumerate(path) if letter == "."):
            if path[:place] in members and (found := _values(members[path[:place]], path[place + 1 :])):
                return found
    elif isinstance(holder, list):
        items = cast("list[Any]", holder)
        first, _, rest = path.partition(".")
        if first.isascii() and first.isdigit() and len(first) < 10 and int(first) < len(items):
            return [items[int(first)]] if not rest else _values(items[int(first)], rest)
    return []
