"""Reads the text of PostgreSQL's values by the type they have.

Above: `postgres`. Below: `cells`. Whatever JSON cannot hold exactly (numeric, dates, intervals, arrays, ranges,
json, uuid, inet, and types of extensions) stays the text that the server writes.
"""

from __future__ import annotations

from collections.abc import Callable

from activities.sql.cells import bytes_cell, float_cell, text_cell
from boundary.contracts import JsonValue

_BOOL, _BYTEA, _OID = 16, 17, 26
_INTEGERS = (20, 21, 23)
_FLOATS = (700, 701)


def cell(value: bytes | None, oid: int) -> JsonValue:
    """Return the cell; None is NULL."""
    return None if value is None else _CONVERT.get(oid, text_cell)(value)


def _bytes(value: bytes) -> JsonValue:
    return bytes_cell(bytes.fromhex(value[2:].decode()))


_CONVERT: dict[int, Callable[[bytes], JsonValue]] = {
    _BOOL: lambda value: value == b"t",
    _BYTEA: _bytes,
    _OID: int,
    **dict.fromkeys(_INTEGERS, int),
    **dict.fromkeys(_FLOATS, lambda value: float_cell(float(value))),
}
