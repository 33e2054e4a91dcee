"""The catalog of MariaDB and MySQL: information_schema.

Above: `catalogs`. Below: a session.
"""

from __future__ import annotations

from activities.sql.catalog_rows import by_table, foreign_keys, indexes, optional, places, text
from activities.sql.results import ListedColumn, ListedTable
from activities.sql.session import Watched

_OWN = "('information_schema', 'mysql', 'performance_schema', 'sys')"
_KEYS = {"PRI": "primary", "UNI": "unique", "MUL": "index"}
_KINDS = {"BASE TABLE": "table", "SYSTEM VIEW": "view"}

_TABLES = (
    "SELECT table_schema AS `schema`, table_name AS name, table_type AS kind, table_rows AS num, "
    "table_comment AS remark FROM information_schema.tables WHERE "
)
_COLUMNS = (
    "SELECT table_schema AS `schema`, table_name AS tbl, column_name AS name, column_type AS type, "
    "is_nullable AS nullable, column_key AS ckey, column_default AS dflt, column_comment AS remark "
    "FROM information_schema.columns WHERE (table_schema, table_name) IN ({}) "
    "ORDER BY table_schema, table_name, ordinal_position"
)
_INDEXES = (
    "SELECT table_schema AS `schema`, table_name AS tbl, index_name AS name, column_name AS col, "
    "non_unique = 0 AS uniq FROM information_schema.statistics WHERE (table_schema, table_name) IN ({}) "
    "ORDER BY table_schema, table_name, index_name <> 'PRIMARY', index_name, seq_in_index"
)
_FOREIGN_KEYS = (
    "SELECT table_schema AS `schema`, table_name AS tbl, constraint_name AS name, column_name AS col, "
    "CONCAT(referenced_table_schema, '.', referenced_table_name) AS other, referenced_column_name AS other_col "
    "FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL "
    "AND (table_schema, table_name) IN ({}) ORDER BY table_schema, table_name, constraint_name, ordinal_position"
)


class MySqlCatalog:
    """Asks information_schema."""

    def __init__(self, session: Watched) -> None:
        self._session = session

    def tables(self, schema: str | None) -> list[ListedTable]:
        """List tables and views, without columns; None: of the connection's database, else of all."""
        if schema is not None:
            rows = self._session.select(f"{_TABLES} table_schema = %s", [schema])
        else:
            own = f"table_schema NOT IN {_OWN}"
            rows = self._session.select(f"{_TABLES} IF(DATABASE() IS NULL, {own}, table_schema = DATABASE())")
        return [
            ListedTable(
                schema=text(row["schema"]),
                name=text(row["name"]),
                kind=_KINDS.get(text(row["kind"]), text(row["kind"]).lower()),
                rows=row["num"],
                comment=optional(row["remark"]) if row["kind"] != "VIEW" else None,
            )
            for row in rows
        ]

    def detailed(self, tables: list[ListedTable]) -> list[ListedTable]:
        """Return the tables with columns, indexes and foreign keys."""
        wanted, slots = places(tables), ", ".join(["(%s, %s)"] * len(tables))
        columns, found, keys = (
            by_table(self._session.select(statement.format(slots), wanted))
            for statement in (_COLUMNS, _INDEXES, _FOREIGN_KEYS)
        )
        return [
            table.model_copy(
                update={
                    "columns": [
                        ListedColumn(
                            name=text(row["name"]),
                            type=text(row["type"]),
                            nullable=row["nullable"] == "YES",
                            key=_KEYS.get(text(row["ckey"])),
                            default=None if row["dflt"] in (None, "NULL") else text(row["dflt"]),
                            comment=optional(row["remark"]),
                        )
                        for row in columns.get((table.schema_name, table.name), [])
                    ],
                    "indexes": indexes(found.get((table.schema_name, table.name), [])),
                    "foreign_keys": foreign_keys(keys.get((table.schema_name, table.name), [])),
                }
            )
            for table in tables
        ]
