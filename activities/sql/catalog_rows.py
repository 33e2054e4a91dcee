"""Puts rows of a catalog together, one table at a time.

Above: the catalogs. Below: `results`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, cast

from activities.sql.results import ListedForeignKey, ListedIndex, ListedTable

Place = tuple[str, str]
"""Schema and name of a table."""

CatalogRow = dict[str, Any]


def by_table(rows: Iterable[CatalogRow]) -> dict[Place, list[CatalogRow]]:
    """Group rows by their `schema` and `tbl`, in order."""
    grouped: defaultdict[Place, list[CatalogRow]] = defaultdict(list)
    for row in rows:
        grouped[text(row["schema"]), text(row["tbl"])].append(row)
    return grouped


def indexes(rows: Iterable[CatalogRow]) -> list[ListedIndex] | None:
    """Put `name`, `col`, `uniq` rows together, one index after the other; None where there is none."""
    grouped: dict[str, ListedIndex] = {}
    for row in rows:
        name = text(row["name"])
        index = grouped.setdefault(name, ListedIndex(name=name, columns=[], unique=bool(row["uniq"])))
        index.columns.append(text(row["col"]) or "(expression)")
    return list(grouped.values()) or None


def foreign_keys(rows: Iterable[CatalogRow]) -> list[ListedForeignKey] | None:
    """Put `name`, `col`, `other`, `other_col` rows together; None where there is none."""
    grouped: dict[str, ListedForeignKey] = {}
    for row in rows:
        name = text(row["name"])
        key = grouped.setdefault(
            name,
            ListedForeignKey(
                name=optional(row.get("shown", name)), columns=[], references=text(row["other"]), referenced_columns=[]
            ),
        )
        key.columns.append(text(row["col"]))
        if row["other_col"] is not None:
            key.referenced_columns.append(text(row["other_col"]))
    return list(grouped.values()) or None


def places(tables: Iterable[ListedTable]) -> list[str]:
    """List schema and name of each table, one after the other, for a statement's parameters."""
    return [part for table in tables for part in (table.schema_name, table.name)]


def text(value: Any) -> str:
    """Return a cell's text; names and comments come as text or, on some servers, as bytes."""
    if isinstance(value, dict):
        cell = cast("dict[str, Any]", value)
        return str(cell.get("text") or cell.get("hex", ""))
    return "" if value is None else str(value)


def optional(value: Any) -> str | None:
    """Return a cell's text, None where there is none."""
    return text(value) or None
