"""Reads the bytes of MariaDB and MySQL by the type their column has.

Above: `mysql`. Below: `cells`. Times over 24 hours, negative ones, zero dates and YEAR stay as the server writes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pymysql.constants import FIELD_TYPE

from activities.sql.cells import bytes_cell, float_cell, text_cell
from activities.sql.session import Column
from boundary.contracts import JsonValue

_BINARY = 63
"""The character set of bytes."""

_UNSIGNED = 32
_ENUM = 256
_SET = 2048

_INTEGERS = {
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.YEAR: "year",
}
_FLOATS = {FIELD_TYPE.FLOAT: "float", FIELD_TYPE.DOUBLE: "double"}
_PLAIN = {
    FIELD_TYPE.DECIMAL: "decimal",
    FIELD_TYPE.NEWDECIMAL: "decimal",
    FIELD_TYPE.DATE: "date",
    FIELD_TYPE.NEWDATE: "date",
    FIELD_TYPE.TIME: "time",
    FIELD_TYPE.DATETIME: "datetime",
    FIELD_TYPE.TIMESTAMP: "timestamp",
    FIELD_TYPE.JSON: "json",
    FIELD_TYPE.NULL: "null",
}
_TEXTS = {
    FIELD_TYPE.VAR_STRING: ("varchar", "varbinary"),
    FIELD_TYPE.VARCHAR: ("varchar", "varbinary"),
    FIELD_TYPE.STRING: ("char", "binary"),
    FIELD_TYPE.TINY_BLOB: ("tinytext", "tinyblob"),
    FIELD_TYPE.BLOB: ("text", "blob"),
    FIELD_TYPE.MEDIUM_BLOB: ("mediumtext", "mediumblob"),
    FIELD_TYPE.LONG_BLOB: ("longtext", "longblob"),
}


@dataclass(frozen=True)
class Reader:
    """Reads one column."""

    column: Column
    convert: Callable[[bytes], JsonValue]

    def read(self, value: bytes | None) -> JsonValue:
        """Return the cell; None is NULL."""
        return None if value is None else self.convert(value)


def readers(fields: Sequence[Any]) -> list[Reader]:
    """Make a reader for each field that pymysql describes."""
    return [_reader(field) for field in fields]


def _reader(field: Any) -> Reader:
    kind, flags, name = int(field.type_code), int(field.flags), str(field.name)
    if kind in _INTEGERS:
        unsigned = " unsigned" if flags & _UNSIGNED and kind != FIELD_TYPE.YEAR else ""
        return Reader(Column(name, f"{_INTEGERS[kind]}{unsigned}"), int)
    if kind in _FLOATS:
        return Reader(Column(name, _FLOATS[kind]), lambda value: float_cell(float(value)))
    if kind in _PLAIN:
        return Reader(Column(name, _PLAIN[kind]), text_cell)
    if kind == FIELD_TYPE.BIT:
        return Reader(Column(name, "bit"), lambda value: int.from_bytes(value, "big"))
    if kind == FIELD_TYPE.GEOMETRY:
        return Reader(Column(name, "geometry"), bytes_cell)
    text, binary = _TEXTS.get(kind, ("char", "binary"))
    if flags & _ENUM or flags & _SET:
        return Reader(Column(name, "enum" if flags & _ENUM else "set"), text_cell)
    if field.charsetnr == _BINARY:
        return Reader(Column(name, binary), bytes_cell)
    return Reader(Column(name, text), text_cell)
