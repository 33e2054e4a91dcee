"""A read-only session on PostgreSQL, over psycopg's connection and libpq's single-row mode.

Above: `sessions`. Below: psycopg. Settings hold for the transaction only, so a pooler between here and the server
hands none of them on. The extended protocol takes one statement at a time, whatever the guard thinks.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import LiteralString, cast

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGresult

from activities.logs.cutting import json_size
from activities.sql.failures import postgres_failure, unreachable
from activities.sql.postgres_values import cell
from activities.sql.session import (
    CONNECT_TIMEOUT_S,
    GRACE_S,
    LOCK_WAIT_S,
    Collector,
    Column,
    Row,
    Rows,
    Watch,
    not_protected,
)
from activities.sql.source import SqlSource
from boundary.contracts import JsonValue
from boundary.tools import ToolContext, ToolFailure

_WAIT_S = 0.2

_CAN_WRITE = """
SELECT CASE
  WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN 'superuser'
  WHEN pg_has_role(current_user, 'pg_write_all_data', 'USAGE') THEN 'role pg_write_all_data'
  WHEN pg_has_role(current_user, 'pg_write_server_files', 'USAGE') THEN 'role pg_write_server_files'
  WHEN pg_has_role(current_user, 'pg_execute_server_program', 'USAGE') THEN 'role pg_execute_server_program'
  WHEN has_database_privilege(current_database(), 'CREATE') THEN 'CREATE on the database'
  WHEN EXISTS (SELECT 1 FROM pg_namespace n WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
    AND has_schema_privilege(n.oid, 'CREATE')) THEN 'CREATE on a schema'
  WHEN EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')) THEN 'changing rows of a table'
END AS privilege
"""

_STATES = {
    "28P01": ("the server refused the login: check the url's user and password", False),
    "28000": (
        "the server refused the login: check the url's user, and that it may come from here (pg_hba.conf)",
        False,
    ),
    "3D000": ("the server has no database of the url's name: check it", False),
    "42501": ("the account may not use the url's database: grant CONNECT on it", False),
    "53300": ("the server takes no more connections; try again later", True),
    "57P03": ("the server is starting up; try again later", True),
}
_WORDS = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "pg_hba.conf": "28000",
    "role": "28000",
    "database": "3D000",
    "permission denied": "42501",
    "too many": "53300",
    "remaining connection slots": "53300",
    "starting up": "57P03",
}


class PostgresSession:
    """One connection; its statements are in one read-only transaction."""

    def __init__(self, source: SqlSource) -> None:
        """Connect and protect the session.

        Raises:
            ToolFailure: UPSTREAM_UNAVAILABLE; nothing was asked.
        """
        self._source = source
        self._connection = _connect(source)
        version = self._connection.pgconn.parameter_status(b"server_version") or b"?"
        self.server = f"PostgreSQL {version.decode().split()[0]}"
        try:
            self._protect()
        except BaseException:
            self.close()
            raise

    def select(self, sql: str, parameters: Sequence[str] = ()) -> list[dict[str, JsonValue]]:
        """Run a statement of our own, `$1` for the first parameter, and return its rows by column."""
        pgconn = self._connection.pgconn
        try:
            result = pgconn.exec_params(sql.encode(), [value.encode() for value in parameters])
        except psycopg.Error:
            raise postgres_failure(self._source, "", "") from None
        self._raise_for(result)
        names = [(result.fname(place) or b"").decode() for place in range(result.nfields)]
        return [dict(zip(names, _row(result, number), strict=True)) for number in range(result.ntuples)]

    def run(self, sql: str, max_rows: int, max_bytes: int, context: ToolContext) -> Rows:
        """Run the agent's statement and read rows up to the caps.

        Raises:
            ToolFailure: with the code for what went wrong.
        """
        watch = self.watch(context)
        try:
            with watch.over():
                collector, described = self._read(sql, max_rows, max_bytes, watch)
        except ToolFailure as failure:
            raise watch.failure() or failure from None
        except psycopg.Error:
            raise watch.failure() or postgres_failure(self._source, "", "") from None
        collector.result.columns = self._columns(described)
        return collector.result

    def watch(self, context: ToolContext) -> Watch:
        """Make what ends a statement of this session when it is not wanted any more."""
        return Watch(context, self._source.statement_timeout_s, self._cancel, self._cut_off)

    def can_write(self) -> str | None:
        """Say by which privileges the account can write, None: it can only read."""
        found = self.select(_CAN_WRITE)[0]["privilege"]
        return None if found is None else str(found)

    def close(self) -> None:
        """Close the connection, whatever its state."""
        with suppress(psycopg.Error, OSError):
            self._connection.close()

    def _protect(self) -> None:
        wanted = {
            "default_transaction_read_only": "on",
            "statement_timeout": f"{int(self._source.statement_timeout_s * 1000)}ms",
            "lock_timeout": f"{LOCK_WAIT_S * 1000}ms",
            "idle_in_transaction_session_timeout": "60s",
            "standard_conforming_strings": "on",
            "timezone": "UTC",
            "datestyle": "ISO, MDY",
            "intervalstyle": "postgres",
            "bytea_output": "hex",
            "extra_float_digits": "1",
        }
        self.select("BEGIN TRANSACTION READ ONLY")
        changes = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in wanted.items())
        self.select(f"SELECT {changes}")
        kept = "current_setting('transaction_read_only') = 'on' AND current_setting('client_encoding') = 'UTF8' AND "
        # An interval compares times however the server writes them.
        kept += " AND ".join(
            f"current_setting('{name}')::interval = interval '{value}'"
            if name.endswith("timeout")
            else f"current_setting('{name}') = '{value}'"
            for name, value in wanted.items()
        )
        if self.select(f"SELECT {kept} AS kept")[0]["kept"] is not True:
            raise not_protected(self._source.name)

    def _read(self, sql: str, max_rows: int, max_bytes: int, watch: Watch) -> tuple[Collector, PGresult | None]:
        pgconn = self._connection.pgconn
        pgconn.send_query_params(sql.encode(), None)
        pgconn.set_single_row_mode()
        collector = Collector([], max_rows, max_bytes)
        described: PGresult | None = None
        while (result := self._next()) is not None:
            self._raise_for(result)
            described = described or result
            for number in range(result.ntuples):
                row = _row(result, number)
                if not collector.add(row, json_size(row) + 1):
                    self._drain()
                    return collector, described
                watch.rows += 1
        return collector, described

    def _next(self) -> PGresult | None:
        pgconn = self._connection.pgconn
        while pgconn.is_busy():
            if select.select([pgconn.socket], [], [], _WAIT_S)[0]:
                pgconn.consume_input()
        return pgconn.get_result()

    def _drain(self) -> None:
        """End a statement whose rows are no longer wanted, and read what was already on its way, or give up."""
        self._cancel()
        end = time.monotonic() + GRACE_S
        while self._next() is not None:
            if time.monotonic() > end:
                self.close()
                return

    def _columns(self, described: PGresult | None) -> list[Column]:
        if described is None:
            return []
        kinds = [(described.ftype(place), described.fmod(place)) for place in range(described.nfields)]
        names = [(described.fname(place) or b"").decode("utf-8", "replace") for place in range(described.nfields)]
        if not kinds or self._connection.closed:
            return [Column(name, None) for name in names]
        with suppress(ToolFailure):
            self.select("ROLLBACK")
            values = ", ".join(f"({place}, {oid}, {modifier})" for place, (oid, modifier) in enumerate(kinds))
            found = self.select(f"SELECT format_type(b::oid, c) AS type FROM (VALUES {values}) t(a, b, c) ORDER BY a")
            return [Column(name, str(row["type"])) for name, row in zip(names, found, strict=True)]
        return [Column(name, None) for name in names]

    def _raise_for(self, result: PGresult) -> None:
        if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.COMMAND_OK):
            return
        state, message, hint = (
            (result.error_field(field) or b"").decode("utf-8", "replace")
            for field in (
                pq.DiagnosticField.SQLSTATE,
                pq.DiagnosticField.MESSAGE_PRIMARY,
                pq.DiagnosticField.MESSAGE_HINT,
            )
        )
        if state == "22P05" or not state:
            state, message = state or "08000", message or "no answer"
        raise postgres_failure(self._source, state, message, hint)

    def _cancel(self) -> None:
        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=GRACE_S)

    def _cut_off(self) -> None:
        with socket.socket(fileno=socket.dup(self._connection.pgconn.socket)) as twin:
            twin.shutdown(socket.SHUT_RDWR)


def _row(result: PGresult, number: int) -> Row:
    return [cell(result.get_value(number, place), result.ftype(place)) for place in range(result.nfields)]


def _connect(source: SqlSource) -> psycopg.Connection:
    address = source.address
    try:
        return psycopg.connect(
            cast("LiteralString", ""),
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password or None,
            dbname=address.database,
            sslmode=address.ssl_mode,
            sslrootcert=address.ssl_root_certificate,
            connect_timeout=CONNECT_TIMEOUT_S,
            client_encoding="UTF8",
            application_name="casebound",
            autocommit=True,
            prepare_threshold=None,
        )
    except psycopg.Error as error:
        text = str(error)
        state = error.sqlstate or next((state for words, state in _WORDS.items() if words in text), "")
        why, retryable = _STATES.get(
            state, ("no connection to the server: check the url's host, port and sslmode", True)
        )
        raise unreachable(source, why, retryable=retryable) from None
