"""A read-only session on MariaDB or MySQL, over pymysql.

Above: `sessions`. Below: pymysql's protocol, used without its cursors: rows come one by one as bytes and
`mysql_values` reads them; an abandoned result is not read to its end, its statement is killed on the server.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pymysql
from pymysql.converters import escape_string

from activities.logs.cutting import json_size
from activities.sql.failures import mysql_failure, unreachable
from activities.sql.lengths import GROUP_CONCAT_MAX
from activities.sql.mysql_values import Reader, readers
from activities.sql.session import (
    CONNECT_TIMEOUT_S,
    GRACE_S,
    LOCK_WAIT_S,
    Collector,
    Rows,
    Watch,
    not_protected,
)
from activities.sql.source import SqlSource
from boundary.contracts import JsonValue
from boundary.tools import ToolContext, ToolFailure

_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""No ANSI_QUOTES and no NO_BACKSLASH_ESCAPES: the server reads a literal as it was written here."""

_READING = frozenset(
    {
        "USAGE",
        "SELECT",
        "SHOW VIEW",
        "SHOW DATABASES",
        "PROCESS",
        "REPLICATION CLIENT",
        "REPLICATION SLAVE",
        "BINLOG MONITOR",
        "SLAVE MONITOR",
        "REPLICA MONITOR",
    }
)
_UNREACHABLE = {
    1045: (
        "the server refused the login: check the url's user and password, and that the user may come from here",
        False,
    ),
    1698: ("the server refused the login: the user cannot log in with a password; check the url", False),
    1049: ("the server has no database of the url's name: check it", False),
    1044: ("the account may not use the url's database: grant SELECT on it", False),
    1040: ("the server takes no more connections; try again later", True),
    1226: ("the account has used up its connections; try again later", True),
}


class MySqlSession:
    """One connection; its statements are in one read-only transaction."""

    def __init__(self, source: SqlSource) -> None:
        """Connect and protect the session.

        Raises:
            ToolFailure: UPSTREAM_UNAVAILABLE; nothing was asked.
        """
        self._source = source
        self._connection = _connect(source)
        try:
            self._protect()
        except BaseException:
            self.close()
            raise

    def select(self, sql: str, parameters: Sequence[str] = ()) -> list[dict[str, JsonValue]]:
        """Run a statement of our own, `%s` for each parameter, and return its rows by column in lower case."""
        literals = tuple(f"'{escape_string(value)}'" for value in parameters)
        with self._errors():
            self._connection.query(sql % literals if literals else sql)
            result = self._connection._result
            names = [str(field.name).lower() for field in result.fields]
            reading = readers(result.fields)
            return [dict(zip(names, _row(reading, row), strict=True)) for row in result.rows]

    def run(self, sql: str, max_rows: int, max_bytes: int, context: ToolContext) -> Rows:
        """Run the agent's statement and read rows up to the caps.

        Raises:
            ToolFailure: with the code for what went wrong.
        """
        watch = self.watch(context)
        try:
            with watch.over(), self._errors():
                return self._read(sql, max_rows, max_bytes, watch)
        except ToolFailure as failure:
            raise watch.failure() or failure from None

    def watch(self, context: ToolContext) -> Watch:
        """Make what ends a statement of this session when it is not wanted any more."""
        return Watch(context, self._source.statement_timeout_s, self._kill, self._cut_off)

    def can_write(self) -> str | None:
        """Say by which privileges the account, with its default role, can write, None: it can only read."""
        writing: set[str] = set()
        for grant in self.select("SHOW GRANTS"):
            match = re.match(r"GRANT (.+?) ON ", str(next(iter(grant.values()))))
            if match:
                names = re.sub(r"\([^)]*\)", "", match[1]).split(",")
                writing.update(name.strip() for name in names)
        return ", ".join(sorted(writing - _READING)) or None

    def close(self) -> None:
        """Close the connection, whatever its state."""
        with suppress(pymysql.MySQLError, OSError):
            self._connection.close()

    def _protect(self) -> None:
        with self._errors():
            version = str(self.select("SELECT VERSION() AS version")[0]["version"])
            maria = "mariadb" in version.lower()
            self.server = f"{'MariaDB' if maria else 'MySQL'} {version.split('-')[0]}"
            seconds = self._source.statement_timeout_s
            limit, expected = ("max_statement_time", seconds) if maria else ("max_execution_time", int(seconds * 1000))
            prefix = "tx" if maria else "transaction"
            self._connection.query(
                f"SET SESSION sql_mode = '{_MODE}', SESSION time_zone = '+00:00', SESSION autocommit = 0, "
                f"SESSION lock_wait_timeout = {LOCK_WAIT_S}, SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}, "
                f"SESSION group_concat_max_len = {GROUP_CONCAT_MAX}, SESSION {limit} = {expected}"
            )
            self._connection.query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._connection.query("START TRANSACTION READ ONLY")
            found = self.select(
                f"SELECT @@session.{prefix}_read_only AS read_only, @@session.{prefix}_isolation AS isolation, "
                f"@@session.sql_mode AS mode, @@session.time_zone AS zone, @@session.autocommit AS autocommit, "
                f"@@session.lock_wait_timeout AS locks, @@session.innodb_lock_wait_timeout AS row_locks, "
                f"@@session.group_concat_max_len AS concat, @@session.{limit} AS seconds, "
                f"@@character_set_results AS letters"
            )[0]
        mode = set(str(found.pop("mode")).split(","))
        protected = float(str(found.pop("seconds"))) == float(expected) and mode == set(_MODE.split(","))
        if not protected or found != {
            "read_only": 1,
            "isolation": "REPEATABLE-READ",
            "zone": "+00:00",
            "autocommit": 0,
            "locks": LOCK_WAIT_S,
            "row_locks": LOCK_WAIT_S,
            "concat": GROUP_CONCAT_MAX,
            "letters": "utf8mb4",
        }:
            raise not_protected(self._source.name)

    def _read(self, sql: str, max_rows: int, max_bytes: int, watch: Watch) -> Rows:
        self._connection.query(sql, unbuffered=True)
        result = self._connection._result
        ended = False
        try:
            if not result.fields:
                return Rows()
            reading = readers(result.fields)
            collector = Collector([reader.column for reader in reading], max_rows, max_bytes)
            while True:
                values = result._read_rowdata_packet_unbuffered()
                if values is None:
                    ended = True
                    return collector.result
                row = _row(reading, values)
                if not collector.add(row, json_size(row) + 1):
                    return collector.result
                watch.rows += 1
        finally:
            if not ended:
                self._abandon(result)

    def _abandon(self, result: Any) -> None:
        """Leave a result unread: its statement ends on the server and the connection here."""
        result.unbuffered_active = False
        result.connection = None
        with suppress(Exception):  # the connection is closed next, which ends the statement as well
            self._kill()
        self._connection._force_close()

    def _kill(self) -> None:
        other = _connect(self._source)
        try:
            other.query(f"KILL QUERY {int(self._connection.thread_id())}")
        finally:
            other.close()

    def _cut_off(self) -> None:
        sock = self._connection._sock
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except pymysql.MySQLError as error:
            code, message = _parts(error)
            raise mysql_failure(self._source, code, message) from None
        except (OSError, ValueError, AttributeError, IndexError) as error:
            # What pymysql raises where a connection ends in the middle of a packet.
            if isinstance(error, OSError) or self._connection._sock is None:
                raise mysql_failure(self._source, 2013, "") from None
            raise


def _row(reading: Sequence[Reader], values: Sequence[bytes | None]) -> list[JsonValue]:
    return [reader.read(value) for reader, value in zip(reading, values, strict=True)]


def _parts(error: pymysql.MySQLError) -> tuple[int, str]:
    args = error.args
    return (args[0] if args and isinstance(args[0], int) else 0), str(args[1] if len(args) > 1 else "")


def _connect(source: SqlSource) -> Any:
    address = source.address
    try:
        return pymysql.connect(
            host=address.host,
            port=address.port,
            user=address.user,
            password=address.password.encode(),
            database=address.database or None,
            charset="utf8mb4",
            use_unicode=False,
            conv={},
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=max(CONNECT_TIMEOUT_S, source.statement_timeout_s + 2 * GRACE_S),
            write_timeout=CONNECT_TIMEOUT_S,
            local_infile=False,
            autocommit=None,
            program_name="casebound",
            **_encryption(source),
        )
    except pymysql.MySQLError as error:
        code, _ = _parts(error)
        why, retryable = _UNREACHABLE.get(code, ("no connection to the server: check the url's host and port", True))
        raise unreachable(source, why, retryable=retryable) from None
    except RuntimeError:  # caching_sha2_password without TLS
        raise unreachable(
            source, "the server's login needs TLS, or the package `cryptography`: add ?sslmode=require", retryable=False
        ) from None
    except OSError:
        raise unreachable(source, "no encrypted connection: check the url's sslmode and sslrootcert") from None


def _encryption(source: SqlSource) -> dict[str, Any]:
    address = source.address
    if address.ssl_mode == "prefer":
        return {}
    if address.ssl_mode == "disable":
        return {"ssl_disabled": True}
    context = ssl.create_default_context(cafile=address.ssl_root_certificate)
    context.check_hostname = address.ssl_mode == "verify-full"
    context.verify_mode = ssl.CERT_NONE if address.ssl_mode == "require" else ssl.CERT_REQUIRED
    return {"ssl": context}
