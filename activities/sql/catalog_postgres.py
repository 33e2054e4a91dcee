"""The catalog of PostgreSQL: pg_catalog.

Above: `catalogs`. Below: a session.
"""

from __future__ import annotations

from activities.sql.catalog_rows import by_table, foreign_keys, indexes, optional, text
from activities.sql.results import ListedColumn, ListedTable
from activities.sql.session import Watched

_KINDS = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}

_TABLES = """
SELECT c.oid AS id, n.nspname AS schema, c.relname AS name, c.relkind AS kind,
  CASE WHEN c.reltuples >= 0 AND c.relkind IN ('r', 'm', 'p') THEN c.reltuples::bigint END AS num,
  obj_description(c.oid, 'pg_class') AS remark
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND
"""
_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'"

_SELECTED = "JOIN (SELECT unnest($1::text[]) AS s, unnest($2::text[]) AS t) w ON w.s = n.nspname AND w.t = c.relname"

_COLUMNS = f"""
SELECT n.nspname AS schema, c.relname AS tbl, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
  NOT a.attnotnull AS nullable, pg_get_expr(d.adbin, d.adrelid) AS dflt, col_description(c.oid, a.attnum) AS remark,
  (SELECT CASE WHEN bool_or(i.indisprimary) THEN 'primary'
    WHEN bool_or(i.indisunique AND i.indnkeyatts = 1) THEN 'unique' WHEN count(*) > 0 THEN 'index' END
    FROM pg_catalog.pg_index i
    WHERE i.indrelid = c.oid AND a.attnum = ANY (i.indkey)) AS ckey
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {_SELECTED}
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
ORDER BY n.nspname, c.relname, a.attnum
"""
_INDEXES = f"""
SELECT n.nspname AS schema, c.relname AS tbl, x.relname AS name, i.indisunique AS uniq,
  pg_get_indexdef(i.indexrelid, k.number::int, true) AS col
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {_SELECTED}
JOIN pg_catalog.pg_index i ON i.indrelid = c.oid JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
CROSS JOIN LATERAL generate_series(1, i.indnkeyatts) AS k(number)
ORDER BY n.nspname, c.relname, x.relname, k.number
"""
_FOREIGN_KEYS = f"""
SELECT n.nspname AS schema, c.relname AS tbl, o.conname AS name, a.attname AS col,
  m.nspname || '.' || f.relname AS other, b.attname AS other_col
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {_SELECTED}
JOIN pg_catalog.pg_constraint o ON o.conrelid = c.oid AND o.contype = 'f'
JOIN pg_catalog.pg_class f ON f.oid = o.confrelid JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace
CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY AS k(here, there, number)
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.here
JOIN pg_catalog.pg_attribute b ON b.attrelid = f.oid AND b.attnum = k.there
ORDER BY n.nspname, c.relname, o.conname, k.number
"""


class PostgresCatalog:
    """Asks pg_catalog."""

    def __init__(self, session: Watched) -> None:
        self._session = session

    def tables(self, schema: str | None) -> list[ListedTable]:
        """List tables and views, without columns; None: of every schema but the server's own."""
        rows = (
            self._session.select(f"{_TABLES} {_OWN}")
            if schema is None
            else self._session.select(f"{_TABLES} n.nspname = $1", [schema])
        )
        return [
            ListedTable(
                schema=text(row["schema"]),
                name=text(row["name"]),
                kind=_KINDS[text(row["kind"])],
                rows=row["num"],
                comment=optional(row["remark"]),
            )
            for row in rows
        ]

    def detailed(self, tables: list[ListedTable]) -> list[ListedTable]:
        """Return the tables with columns, indexes and foreign keys."""
        wanted = [_array([table.schema_name for table in tables]), _array([table.name for table in tables])]
        columns, found, keys = (
            by_table(self._session.select(statement, wanted)) for statement in (_COLUMNS, _INDEXES, _FOREIGN_KEYS)
        )
        return [
            table.model_copy(
                update={
                    "columns": [
                        ListedColumn(
                            name=text(row["name"]),
                            type=text(row["type"]),
                            nullable=bool(row["nullable"]),
                            key=optional(row["ckey"]),
                            default=optional(row["dflt"]),
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


def _array(names: list[str]) -> str:
    """Write names as PostgreSQL reads an array."""
    return "{" + ",".join('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in names) + "}"
