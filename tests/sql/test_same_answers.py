"""What is written anew from the tree answers what the agent's own text would have."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from activities.sql import SqlSource
from activities.sql.lexing import Dialect
from activities.sql.sessions import open_session
from activities.sql.statements import prepare
from boundary.tools import ToolContext, ToolFailure
from tests.sql.conftest import Place
from tests.sql.statements import allowed
from tests.sql.support import mysql_connection, mysql_rows, postgres_connection

ORDERS = "(1, 'tea', 2.5), (2, 'DELETE', 3), (3, 'jam; DROP', 4)"

CHANGING = ("CURRENT_TIMESTAMP", "PROCESSLIST", "INNODB STATUS", "GLOBAL STATUS", "CONNECTION_ID")
"""Whose answers are another one each time."""

ONLY_OURS = ("TABLE orders",)
"""What MariaDB does not know and gets as a SELECT."""


def answer(source: SqlSource, statement: str) -> list[list[object]]:
    """Rows of a statement, sent as it is."""
    with open_session(source) as session:
        return session.run(statement, 1000, 1 << 20, ToolContext(stop=threading.Event())).rows


def differing(source: SqlSource, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """Statements whose answers differ."""
    for statement in allowed(dialect):
        if any(word in statement.upper() for word in CHANGING):
            continue
        sent = prepare(statement, dialect, None, 101).sql
        try:
            got = answer(source, sent)
            if statement not in ONLY_OURS and got != answer(source, statement.rstrip("; ")):
                yield statement, sent
        except ToolFailure as failure:
            yield statement, failure.message


def test_mariadb_answers_the_same(maria: Place) -> None:
    """For every statement of the list."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(admin, "CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR(20), price DECIMAL(10,2))")
        mysql_rows(admin, f"INSERT INTO orders VALUES {ORDERS}")
    assert list(differing(SqlSource.model_validate({"name": "db", "url": maria.admin_url}), "mysql")) == []


def test_postgresql_answers_the_same(postgres: Place) -> None:
    """For every statement of the list."""
    with closing(postgres_connection(postgres.admin_url)) as admin:
        admin.execute(
            f"CREATE TABLE {postgres.name}.orders (id INT PRIMARY KEY, item VARCHAR(20), price NUMERIC(10,2))".encode()
        )
        admin.execute(f"INSERT INTO {postgres.name}.orders VALUES {ORDERS}".encode())
        admin.execute(f"GRANT SELECT ON {postgres.name}.orders TO {postgres.name}_r".encode())
        admin.execute(f"ALTER ROLE {postgres.name}_r SET search_path = {postgres.name}".encode())
    assert list(differing(SqlSource.model_validate({"name": "db", "url": postgres.reader_url}), "postgres")) == []


def test_sqlite_answers_the_same(shop_file: Path) -> None:
    """For every statement of the list."""
    source = SqlSource.model_validate({"name": "db", "url": f"sqlite:///{shop_file}"})
    assert list(differing(source, "sqlite")) == []


LITERALS = [
    "plain",
    "it's",
    'say "hi"',
    "back\\slash",
    "\\",
    "\\\\",
    "\\'",
    "%_\\%\\_",
    "new\nline\ttab",
    "-- # /* */ /*! */ ;",
    "$$ $tag$",
    "é 日本 😀",
    "\x1a\x08",
    "{0} %s :x ?",
]


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_arrives_as_it_was_meant(mariadb_url: str, postgres_url: str, tmp_path: Path, text: str) -> None:
    """Whatever a server takes for an escape."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
    doubled = text.replace("'", "''")
    slashed = doubled.replace("\\", "\\\\")
    cases: list[tuple[Dialect, str, list[str]]] = [
        ("mysql", mariadb_url, [f"'{slashed}'", '"' + slashed.replace("''", "'").replace('"', '""') + '"']),
        ("postgres", postgres_url, [f"'{doubled}'", f"E'{slashed}'", f"$x${text}$x$"]),
        ("sqlite", f"sqlite:///{tmp_path}/x.db", [f"'{doubled}'"]),
    ]
    for dialect, url, spellings in cases:
        source = SqlSource.model_validate({"name": "db", "url": url})
        for spelling in spellings:
            assert answer(source, prepare(f"SELECT {spelling} AS a", dialect, None, 2).sql) == [[text]]
