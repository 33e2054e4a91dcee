"""Which catalog belongs to which kind of server.

Above: `describe`. Below: one module per server; each lists tables, and then adds what is known of those on a page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from activities.sql.catalog_mysql import MySqlCatalog
from activities.sql.catalog_postgres import PostgresCatalog
from activities.sql.catalog_sqlite import SqliteCatalog
from activities.sql.lexing import Dialect
from activities.sql.results import ListedTable
from activities.sql.session import Watched


class Catalog(Protocol):
    """What a server knows of its tables."""

    def tables(self, schema: str | None) -> list[ListedTable]:
        """List tables and views, without columns; None: of every schema but the server's own."""
        ...

    def detailed(self, tables: list[ListedTable]) -> list[ListedTable]:
        """Return the tables with columns, indexes and foreign keys."""
        ...


CATALOGS: dict[Dialect, Callable[[Watched], Catalog]] = {
    "mysql": MySqlCatalog,
    "postgres": PostgresCatalog,
    "sqlite": SqliteCatalog,
}
