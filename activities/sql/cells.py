"""Makes JSON of what servers send, without losing a digit.

Above: the sessions, one per driver. Below: nothing. Integers stay integers of any size, decimals are text, bytes
are hexadecimal, and a cell over `CELL_MAX` is cut and says so.
"""

from __future__ import annotations

import math
from typing import cast

from boundary.contracts import JsonObject, JsonValue

CELL_MAX = 64 * 1024
"""Bytes of one cell that are kept; the budget of a result usually allows less."""


def text_cell(data: bytes, encoding: str = "utf-8") -> JsonValue:
    """Return text as text; as bytes where it is not valid in its encoding."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return {**bytes_cell(data), "invalid": encoding}
    return text if len(data) <= CELL_MAX else cut_text(text, CELL_MAX)


def cut_text(text: str, limit: int) -> JsonObject:
    """Return the first `limit` characters of a longer text."""
    return {"text": text[:limit], "characters": len(text), "cut": True}


def bytes_cell(data: bytes) -> JsonObject:
    """Return binary data as hexadecimal, and as text where it is readable text, too."""
    cell: JsonObject = {"hex": data[: CELL_MAX // 2].hex(), "bytes": len(data)}
    if len(data) > CELL_MAX // 2:
        return {**cell, "cut": True}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return cell
    return {**cell, "text": text} if text and text.isprintable() else cell


def float_cell(number: float) -> JsonValue:
    """Return the number; JSON has none for NaN and the infinities, which are their names."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def shown_cell(cell: JsonValue, limit: int) -> JsonValue:
    """Return a cell with at most `limit` characters, flagged where it was cut."""
    if isinstance(cell, str):
        return cell if len(cell) <= limit else cut_text(cell, limit)
    if not isinstance(cell, dict):
        return cell
    return _shown_object(cast("JsonObject", cell), limit)


def _shown_object(cell: JsonObject, limit: int) -> JsonObject:
    shown = dict(cell)
    for part in ("text", "hex"):
        if len(shown.get(part, "")) > limit:
            shown[part] = shown[part][: limit - limit % 2]
            shown["cut"] = True
    return shown
