"""A read-only session on an SQLite file, over the standard library.

Above: `sessions`. Below: sqlite3. The file is opened read-only, the connection refuses writes, and an authorizer
allows reading and nothing else, whatever the statement says.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import quote

from activities.logs.cutting import json_size
from activities.sql.cells import bytes_cell, float_cell, text_cell
from activities.sql.failures import sqlite_failure, unreachable
from activities.sql.functions import ALLOWED
from activities.sql.session import LOCK_WAIT_S, Collector, Column, Row, Rows, Stopped, Watch, not_protected
from activities.sql.source import SqlSource
from boundary.contracts import JsonValue
from boundary.tools import ToolContext

_STEPS = 10_000
"""Instructions of SQLite's machine between two looks at the clock: well under 10 ms."""

_VALUE_MAX = 16 * 1024 * 1024
"""Bytes of one value, so that no function makes a huge one."""

_PATTERN_MAX = 1000

_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
_OWN_PRAGMAS = frozenset({"data_version", "page_size"})
"""What full-text tables ask for."""

_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})


class SqliteSession:
    """One connection; its statements are in one transaction."""

    def __init__(self, source: SqlSource) -> None:
        """Open the file and protect the session.

        Raises:
            ToolFailure: UPSTREAM_UNAVAILABLE; nothing was asked.
        """
        self._source = source
        self.server = f"SQLite {sqlite3.sqlite_version}"
        self._connection = _open(source)
        try:
            self._protect()
        except sqlite3.Error as error:
            self.close()
            raise sqlite_failure(source, str(error)) from None
        except BaseException:
            self.close()
            raise

    def select(self, sql: str, parameters: Sequence[str] = ()) -> list[dict[str, JsonValue]]:
        """Run a statement of our own, `?` for each parameter, and return its rows by column."""
        try:
            cursor = self._connection.execute(sql, tuple(parameters))
            names = [str(part[0]) for part in cursor.description or ()]
            return [dict(zip(names, _row(row), strict=True)) for row in cursor]
        except sqlite3.Error as error:
            raise sqlite_failure(self._source, str(error)) from None

    def run(self, sql: str, max_rows: int, max_bytes: int, context: ToolContext) -> Rows:
        """Run the agent's statement and read rows up to the caps.

        Raises:
            ToolFailure: with the code for what went wrong.
        """
        watch = self.watch(context)
        end = time.monotonic() + self._source.statement_timeout_s
        self._connection.set_progress_handler(lambda: int(context.stop.is_set() or time.monotonic() > end), _STEPS)
        try:
            with watch.over():
                return self._read(sql, max_rows, max_bytes, watch)
        except sqlite3.Error as error:
            if context.stop.is_set():
                raise Stopped from None
            raise watch.failure() or sqlite_failure(self._source, str(error)) from None
        finally:
            self._connection.set_progress_handler(None, 0)

    def watch(self, context: ToolContext) -> Watch:
        """Make what ends a statement of this session when it is not wanted any more."""
        return Watch(context, self._source.statement_timeout_s, self._connection.interrupt, lambda: None)

    def can_write(self) -> str | None:
        """Return None: the file is opened for reading, whatever its permissions."""
        return None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _protect(self) -> None:
        connection = self._connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_MAX)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _PATTERN_MAX)
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA trusted_schema = 0")
        connection.execute("PRAGMA temp_store = 2")
        connection.execute("BEGIN")
        # The first read says whether it is a database at all.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        kept = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("query_only", "trusted_schema")]
        if kept != [(1,), (0,)]:
            raise not_protected(self._source.name)
        connection.set_authorizer(_authorize)

    def _read(self, sql: str, max_rows: int, max_bytes: int, watch: Watch) -> Rows:
        cursor = self._connection.execute(sql)
        columns = [Column(str(part[0]), None) for part in cursor.description or ()]
        collector = Collector(columns, max_rows, max_bytes)
        for values in cursor:
            row = _row(values)
            if not collector.add(row, json_size(row) + 1):
                break
            watch.rows += 1
        cursor.close()
        return collector.result


def _authorize(action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
    allowed = (
        action in _READING
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in ALLOWED["sqlite"] | {"->", "->>"})
        or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS)
        or (action == sqlite3.SQLITE_PRAGMA and first in _OWN_PRAGMAS and second is None)
        or _is_of_virtual_tables(action, first or "")
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _is_of_virtual_tables(action: int, table: str) -> bool:
    """Tell whether virtual tables prepare this at the first look; a real change meets a file opened for reading.

    They declare their columns as if in sqlite_master, and R-trees prepare the changes of their own tables.
    """
    if action == sqlite3.SQLITE_UPDATE:
        return table == "sqlite_master"
    return action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE) and table.endswith(("_node", "_parent", "_rowid"))


def _row(values: Sequence[Any]) -> Row:
    return [_cell(value) for value in values]


def _cell(value: Any) -> JsonValue:
    if isinstance(value, _Text):
        return text_cell(value.data)
    if isinstance(value, bytes):
        return bytes_cell(value)
    return float_cell(value) if isinstance(value, float) else value


class _Text:
    """Text as the file holds it; it may not be UTF-8."""

    def __init__(self, data: bytes) -> None:
        self.data = data


def _open(source: SqlSource) -> sqlite3.Connection:
    path = source.path
    if not path.is_file():
        raise unreachable(source, "there is no file at the url's path: check it", retryable=False)
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro",
            uri=True,
            timeout=LOCK_WAIT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=0,
        )
    except sqlite3.Error:
        raise unreachable(
            source, "the file cannot be opened: check that the worker may read it", retryable=False
        ) from None
    connection.text_factory = cast("type[Any]", _Text)
    return connection
