"""The catalog of SQLite: sqlite_schema and its table-valued pragmas.

Above: `catalogs`. Below: a session.
"""

from __future__ import annotations

from activities.sql.catalog_rows import CatalogRow, foreign_keys, indexes, optional, text
from activities.sql.results import ListedColumn, ListedTable
from activities.sql.session import Watched

_TABLES = (
    "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
_COLUMNS = 'SELECT name, type, "notnull" AS needed, dflt_value AS dflt, pk FROM pragma_table_info(?)'
_INDEXES = (
    'SELECT l.name AS name, i.name AS col, l."unique" AS uniq FROM pragma_index_list(?) l, pragma_index_info(l.name) i '
    "ORDER BY l.name, i.seqno"
)
_FOREIGN_KEYS = (
    'SELECT id AS name, NULL AS shown, "from" AS col, \'main.\' || "table" AS other, "to" AS other_col '
    "FROM pragma_foreign_key_list(?) ORDER BY id, seq"
)


class SqliteCatalog:
    """Asks sqlite_schema."""

    def __init__(self, session: Watched) -> None:
        self._session = session

    def tables(self, schema: str | None) -> list[ListedTable]:
        """List tables and views, without columns; the one schema is `main`."""
        if schema not in (None, "main"):
            return []
        return [
            ListedTable(schema="main", name=text(row["name"]), kind=text(row["type"]))
            for row in self._session.select(_TABLES)
        ]

    def detailed(self, tables: list[ListedTable]) -> list[ListedTable]:
        """Return the tables with columns, indexes and foreign keys."""
        return [table.model_copy(update=self._details(table.name)) for table in tables]

    def _details(self, name: str) -> CatalogRow:
        found = indexes(self._session.select(_INDEXES, [name]))
        single = {index.columns[0]: index.unique for index in found or [] if len(index.columns) == 1}
        return {
            "columns": [
                ListedColumn(
                    name=text(row["name"]),
                    type=text(row["type"]),
                    nullable=not row["needed"] and not row["pk"],
                    key=_key(bool(row["pk"]), single.get(text(row["name"]))),
                    default=optional(row["dflt"]),
                )
                for row in self._session.select(_COLUMNS, [name])
            ],
            "indexes": found,
            "foreign_keys": foreign_keys(self._session.select(_FOREIGN_KEYS, [name])),
        }


def _key(primary: bool, unique: bool | None) -> str | None:
    if primary:
        return "primary"
    return None if unique is None else "unique" if unique else "index"
