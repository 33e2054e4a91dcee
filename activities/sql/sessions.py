"""Opens the session that a source's dialect needs.

Above: the tools and `probing`. Below: `mysql`, `postgres`, `sqlite`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from activities.sql.lexing import Dialect
from activities.sql.mysql import MySqlSession
from activities.sql.postgres import PostgresSession
from activities.sql.session import Session
from activities.sql.source import SqlSource
from activities.sql.sqlite import SqliteSession

_KINDS: dict[Dialect, Callable[[SqlSource], Session]] = {
    "mysql": MySqlSession,
    "postgres": PostgresSession,
    "sqlite": SqliteSession,
}


@contextmanager
def open_session(source: SqlSource) -> Generator[Session]:
    """Connect, and close the connection whatever happens.

    Raises:
        ToolFailure: UPSTREAM_UNAVAILABLE, there is no connection or it is not protected.
    """
    session = _KINDS[source.dialect](source)
    try:
        yield session
    finally:
        session.close()
