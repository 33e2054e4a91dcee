"""Cuts a result to a budget of JSON bytes: whole items, and their number said.

Above: the tools' projectors. Below: `boundary.strict_json`, which writes what is measured here.
"""

from __future__ import annotations

from boundary.contracts import JsonObject, JsonValue
from boundary.strict_json import dump

SHOWN_TEXT_MAX = 2000
"""Characters of a line an agent is shown; a longer one is flagged `cut`, the raw response has it whole."""

EDGE_TEXT_MIN = 200
"""Characters of the first and last line when the budget is very small."""


def json_size(value: JsonValue) -> int:
    """Bytes of the value as JSON."""
    return len(dump(value))


def fitting(items: list[JsonValue], room: int) -> int:
    """How many of the items, from the first on, fit into `room` bytes as part of an array."""
    used = 0
    for number, item in enumerate(items):
        used += json_size(item) + 1
        if used > room:
            return number
    return len(items)


def shortened(line: JsonObject, limit: int = SHOWN_TEXT_MAX) -> JsonObject:
    """Return a line whose text has at most `limit` characters, flagged where it was cut."""
    text: str = line["text"]
    return line if len(text) <= limit else {**line, "text": text[:limit], "cut": True}


def shorten_edges(result: JsonObject, budget: int) -> None:
    """Shorten `first` and `last` of a result, more when even they would use up the budget."""
    for limit in (SHOWN_TEXT_MAX, EDGE_TEXT_MIN):
        for name in ("first", "last"):
            if name in result:
                result[name] = shortened(result[name], limit)
        if json_size(result) <= budget // 2:
            return
