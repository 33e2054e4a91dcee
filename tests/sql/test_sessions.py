"""What the servers themselves say: nothing is written, nothing waits, nothing goes on after its call."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from activities.sql import SqlSource
from activities.sql.mysql import MySqlSession
from activities.sql.postgres import PostgresSession
from activities.sql.sessions import open_session
from activities.sql.sqlite import SqliteSession
from boundary.errors import ErrorCode
from boundary.tools import ToolContext, ToolFailure
from tests.sql.conftest import Place
from tests.sql.support import Sql, mysql_connection, mysql_rows, postgres_connection, sql

SLOW = {
    "mysql": "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, "
    "information_schema.columns c WHERE CONCAT(a.column_name, b.column_name, c.column_name) REGEXP 'q+z$'",
    "postgresql": "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    "sqlite": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
}
"""Runs for hours, if nobody ends it."""


def source_of(url: str, **declared: Any) -> SqlSource:
    return SqlSource.model_validate({"name": "db", "url": url, **declared})


def eventually(fact: Callable[[], bool]) -> bool:
    """Tell whether something comes true within a few seconds."""
    end = time.monotonic() + 10
    while not fact():
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.02)
    return True


def run(url: str, statement: str, **declared: Any) -> list[list[Any]]:
    """Send a statement past the guard, as if it had let it through."""
    with open_session(source_of(url, **declared)) as session:
        return session.run(statement, 10, 100_000, ToolContext(stop=threading.Event())).rows


@pytest.fixture
def counted(maria: Place, postgres: Place, shop_file: Path) -> tuple[Place, Place, Path]:
    """A table of one row in each database."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(admin, "CREATE TABLE t (a INT PRIMARY KEY, b INT)")
        mysql_rows(admin, "INSERT INTO t VALUES (1, 1)")
        mysql_rows(admin, "CREATE SEQUENCE s")
    with closing(postgres_connection(postgres.admin_url)) as admin:
        admin.execute(f"CREATE TABLE {postgres.name}.t (a INT PRIMARY KEY, b INT)".encode())
        admin.execute(f"INSERT INTO {postgres.name}.t VALUES (1, 1)".encode())
        admin.execute(f"CREATE SEQUENCE {postgres.name}.s".encode())
    return maria, postgres, shop_file


WRITES = (
    "INSERT INTO {t} VALUES (2, 2)",
    "UPDATE {t} SET b = 2",
    "DELETE FROM {t}",
    "DROP TABLE {t}",
    "CREATE TABLE {t}2 (a INT)",
    "ALTER TABLE {t} ADD COLUMN c INT",
)


@pytest.mark.parametrize("write", WRITES)
def test_the_session_alone_refuses_a_write(counted: tuple[Place, Place, Path], write: str) -> None:
    """Were the guard to fail: an account with every privilege still changes nothing."""
    maria, postgres, file = counted
    for url, table in (
        (maria.admin_url, "t"),
        (postgres.admin_url, f"{postgres.name}.t"),
        (f"sqlite:///{file}", "orders"),
    ):
        with pytest.raises(ToolFailure) as caught:
            run(url, write.format(t=table))
        assert caught.value.code in (ErrorCode.NOT_READ_ONLY, ErrorCode.INVALID_ARGUMENTS)
    with closing(mysql_connection(maria.admin_url)) as admin:
        assert mysql_rows(admin, "SELECT * FROM t") == [(1, 1)]
    with closing(postgres_connection(postgres.admin_url)) as admin:
        assert admin.execute(f"SELECT * FROM {postgres.name}.t".encode()).fetchall() == [(1, 1)]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone() == (3,)


def test_no_driver_takes_two_statements(mariadb_url: str, postgres_url: str, shop_file: Path) -> None:
    """Several drivers do by default."""
    for url in (mariadb_url, postgres_url, f"sqlite:///{shop_file}"):
        with pytest.raises(ToolFailure):
            run(url, "SELECT 1; SELECT 2")


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("mysql", "SET SESSION TRANSACTION READ WRITE"),
        ("mysql", "SET SESSION max_statement_time = 0"),
        ("mysql", "SET SESSION sql_mode = 'ANSI_QUOTES'"),
        ("mysql", "SET SESSION lock_wait_timeout = 100"),
    ],
)
def test_a_session_whose_settings_are_not_in_force_is_not_used(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch, kind: str, setting: str
) -> None:
    """They are read back, as a proxy may swallow them."""

    def swallowed(session: Any, statement: str) -> None:
        session._connection.query(statement)

    original = MySqlSession.select

    def select(session: MySqlSession, statement: str, parameters: Any = ()) -> Any:
        if "@@session" in statement:
            swallowed(session, setting)
        return original(session, statement, parameters)

    monkeypatch.setattr(MySqlSession, "select", select)
    with pytest.raises(ToolFailure, match="nothing was asked") as caught:
        run(mariadb_url, "SELECT 1")
    assert caught.value.code is ErrorCode.UPSTREAM_UNAVAILABLE


@pytest.mark.parametrize("name", ["statement_timeout", "lock_timeout", "timezone"])
def test_a_postgresql_session_whose_settings_are_not_in_force_is_not_used(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """One that was not taken is enough."""
    original = PostgresSession.select

    def select(session: PostgresSession, statement: str, parameters: Any = ()) -> Any:
        return original(
            session, statement.replace(f"set_config('{name}',", "set_config('application_name',"), parameters
        )

    monkeypatch.setattr(PostgresSession, "select", select)
    with pytest.raises(ToolFailure, match="nothing was asked"):
        run(f"{postgres_url}", "SELECT 1", statement_timeout_s=7)


def test_a_statement_past_its_time_out_ends_on_the_server(mariadb_url: str, postgres_url: str, shop_file: Path) -> None:
    """And says what to do."""
    for url in (mariadb_url, postgres_url, f"sqlite:///{shop_file}"):
        tools = sql(url, statement_timeout_s=0.5)
        with pytest.raises(ToolFailure, match=r"time-out of 0\.5 s") as caught:
            tools.raw("query_database", source="db", sql=SLOW[url.split(":")[0]])
        assert caught.value.code is ErrorCode.EXECUTION_TIMEOUT


def stopped(tools: Sql, statement: str, running: Callable[[], bool]) -> ToolFailure:
    """Run a statement in a thread of its own, stop it once it runs, and return how it ended."""
    stop = threading.Event()
    ends: list[ToolFailure] = []

    def work() -> None:
        try:
            tools.raw("query_database", source="db", sql=statement, stop=stop)
        except ToolFailure as failure:
            ends.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert eventually(running)
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()
    return ends[0]


@pytest.mark.proves("FIELD-CANCEL-REACHES-THE-QUERY")
def test_a_stopped_query_is_killed_on_mariadb(maria: Place) -> None:
    """Its process list shows none of it, and the reader's account may do it."""
    tools = sql(maria.reader_url, statement_timeout_s=60)
    with closing(mysql_connection(maria.admin_url)) as admin:

        def running() -> bool:
            return any(row[1] == f"{maria.name}_r" and row[7] for row in mysql_rows(admin, "SHOW FULL PROCESSLIST"))

        failure = stopped(tools, SLOW["mysql"], running)
        assert "stopped" in failure.message
        assert eventually(lambda: not running())


@pytest.mark.proves("FIELD-CANCEL-REACHES-THE-QUERY")
def test_a_stopped_query_is_cancelled_on_postgresql(postgres: Place) -> None:
    """pg_stat_activity shows none of it."""
    tools = sql(postgres.reader_url, statement_timeout_s=60)
    with closing(postgres_connection(postgres.admin_url)) as admin:

        def running() -> bool:
            found = admin.execute(
                "SELECT 1 FROM pg_stat_activity WHERE usename = %s AND state = 'active'", (f"{postgres.name}_r",)
            )
            return found.fetchone() is not None

        failure = stopped(tools, SLOW["postgresql"], running)
        assert "stopped" in failure.message
        assert eventually(lambda: not running())


def test_a_stopped_query_ends_in_sqlite(shop_file: Path) -> None:
    """Within the thread that runs it."""
    begun = threading.Event()

    def running() -> bool:
        begun.wait(0.3)
        return True

    failure = stopped(sql(f"sqlite:///{shop_file}", statement_timeout_s=60), SLOW["sqlite"], running)
    assert "stopped" in failure.message


def test_nobody_stays_connected_after_a_call(maria: Place, postgres: Place) -> None:
    """Not after an answer, not after a mistake, not after a time-out."""
    for url, kind in ((maria.reader_url, "mysql"), (postgres.reader_url, "postgresql")):
        tools = sql(url, statement_timeout_s=0.3)
        tools.query("SELECT 1")
        for statement in ("SELECT nothing_of_this_name", SLOW[kind]):
            with pytest.raises(ToolFailure):
                tools.raw("query_database", source="db", sql=statement)
    with closing(mysql_connection(maria.admin_url)) as admin:
        assert eventually(lambda: all(row[1] != f"{maria.name}_r" for row in mysql_rows(admin, "SHOW PROCESSLIST")))
    with closing(postgres_connection(postgres.admin_url)) as owner:
        assert eventually(
            lambda: (
                owner.execute("SELECT 1 FROM pg_stat_activity WHERE usename = %s", (f"{postgres.name}_r",)).fetchone()
                is None
            )
        )


def test_a_locked_row_is_read_and_a_locked_table_is_not_waited_for(counted: tuple[Place, Place, Path]) -> None:
    """Another session's row lock is none of a reader's business; an exclusive table lock ends the call soon."""
    maria, postgres, _ = counted
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(admin, "BEGIN")
        mysql_rows(admin, "UPDATE t SET b = 5")
        assert sql(maria.admin_url).rows("SELECT b FROM t") == [[1]]
        mysql_rows(admin, "ROLLBACK")
        mysql_rows(admin, "LOCK TABLES t WRITE")
        with pytest.raises(ToolFailure, match="another session's lock") as caught:
            sql(maria.admin_url).rows("SELECT b FROM t")
        assert (caught.value.code, caught.value.retryable) == (ErrorCode.EXECUTION_TIMEOUT, True)
    table = f"{postgres.name}.t"
    with closing(postgres_connection(postgres.admin_url)) as admin, admin.transaction():
        admin.execute(f"UPDATE {table} SET b = 5".encode())
        assert sql(postgres.admin_url).rows(f"SELECT b FROM {table}") == [[1]]
        admin.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
        with pytest.raises(ToolFailure, match="another session's lock"):
            sql(postgres.admin_url).rows(f"SELECT b FROM {table}")


def test_a_lost_connection_may_be_tried_again(maria: Place, postgres: Place) -> None:
    """The server ended it, not the statement."""
    tools = {"mysql": sql(maria.reader_url), "postgresql": sql(postgres.reader_url)}
    ends: dict[str, ToolFailure] = {}

    def work(kind: str) -> None:
        try:
            tools[kind].raw("query_database", source="db", sql=SLOW[kind])
        except ToolFailure as failure:
            ends[kind] = failure

    threads = [threading.Thread(target=work, args=(kind,)) for kind in tools]
    for thread in threads:
        thread.start()
    with closing(mysql_connection(maria.admin_url)) as admin:

        def kill() -> bool:
            own = [row for row in mysql_rows(admin, "SHOW PROCESSLIST") if row[1] == f"{maria.name}_r" and row[7]]
            for row in own:
                mysql_rows(admin, f"KILL CONNECTION {row[0]}")
            return bool(own)

        assert eventually(kill)
    with closing(postgres_connection(postgres.admin_url)) as owner:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s AND state = 'active'"
        assert eventually(lambda: bool(owner.execute(ended, (f"{postgres.name}_r",)).fetchall()))
    for thread in threads:
        thread.join(20)
    assert {kind: (end.code, end.retryable) for kind, end in ends.items()} == {
        "mysql": (ErrorCode.UPSTREAM_UNAVAILABLE, True),
        "postgresql": (ErrorCode.UPSTREAM_UNAVAILABLE, True),
    }


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT nothing_like_it FROM {t}", "nothing_like_it"),
        ("SELECT * FROM nothing_like_it", "nothing_like_it"),
    ],
)
def test_a_wrong_name_is_told_with_where_to_find_the_right_one(
    counted: tuple[Place, Place, Path], statement: str, said: str
) -> None:
    """The agent's mistake, not the server's failure."""
    maria, postgres, file = counted
    for url, table in (
        (maria.admin_url, "t"),
        (postgres.admin_url, f"{postgres.name}.t"),
        (f"sqlite:///{file}", "orders"),
    ):
        with pytest.raises(ToolFailure, match=said) as caught:
            sql(url).rows(statement.format(t=table))
        assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
        assert "describe_database" in caught.value.message


def test_what_the_account_may_not_read_is_told_without_the_account(maria: Place, postgres: Place) -> None:
    """Servers name user and host; the agent never sees them."""
    with closing(postgres_connection(postgres.admin_url)) as admin:
        admin.execute(f"CREATE TABLE {postgres.name}.hidden (a INT)".encode())
    for url, table in (
        (maria.reader_url, "mysql.innodb_table_stats"),
        (postgres.reader_url, f"{postgres.name}.hidden"),
    ):
        with pytest.raises(ToolFailure, match="have SELECT granted") as caught:
            sql(url).rows(f"SELECT * FROM {table}")
        assert caught.value.code is ErrorCode.EXECUTION_ERROR
        for secret in ("s3cret-word", "_r", "127.0.0.1", "localhost"):
            assert secret not in caught.value.message


def test_sqlite_functions_that_the_guard_does_not_know_are_refused_by_the_connection(shop_file: Path) -> None:
    """Its authorizer has the same list."""
    with closing(SqliteSession(source_of(f"sqlite:///{shop_file}"))) as session:
        for statement in ("SELECT load_extension('x')", "SELECT sqlite_log(1, 'x')", "PRAGMA journal_mode"):
            with pytest.raises(ToolFailure) as caught:
                session.run(statement, 1, 1000, ToolContext(stop=threading.Event()))
            assert caught.value.code is ErrorCode.NOT_READ_ONLY
