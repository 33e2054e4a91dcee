"""A database of each kind for a test's own, with an account that may only read and one that may write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sql.support import mysql_connection, mysql_rows, own_name, postgres_connection, with_account


@dataclass(frozen=True)
class Place:
    """A database or schema of a test's own."""

    name: str
    admin_url: str
    """Of the account that owns everything."""
    reader_url: str
    """Of an account with SELECT only."""
    writer_url: str
    """Of an account that may also change rows."""


@pytest.fixture
def maria(mariadb_url: str) -> Iterator[Place]:
    """An empty database in MariaDB."""
    name = own_name()
    urls = {kind: with_account(mariadb_url, f"{name}_{kind}", "s3cret-word", name) for kind in "rw"}
    with closing(mysql_connection(mariadb_url)) as admin:
        mysql_rows(admin, f"CREATE DATABASE {name}")
        for kind, grants in {"r": "SELECT", "w": "SELECT, INSERT, UPDATE, DELETE"}.items():
            mysql_rows(admin, f"CREATE USER '{name}_{kind}'@'%' IDENTIFIED BY 's3cret-word'")
            mysql_rows(admin, f"GRANT {grants} ON {name}.* TO '{name}_{kind}'@'%'")
        yield Place(name, mariadb_url.rsplit("/", 1)[0] + f"/{name}", urls["r"], urls["w"])
        mysql_rows(admin, f"DROP DATABASE {name}")
        for kind in "rw":
            mysql_rows(admin, f"DROP USER '{name}_{kind}'@'%'")


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Place]:
    """An empty schema in PostgreSQL."""
    name = own_name()
    with closing(postgres_connection(postgres_url)) as admin:
        admin.execute(f"CREATE SCHEMA {name}".encode())
        for kind in "rw":
            admin.execute(f"CREATE ROLE {name}_{kind} LOGIN PASSWORD 's3cret-word'".encode())
            admin.execute(f"GRANT USAGE ON SCHEMA {name} TO {name}_{kind}".encode())
        yield Place(
            name,
            postgres_url,
            with_account(postgres_url, f"{name}_r", "s3cret-word"),
            with_account(postgres_url, f"{name}_w", "s3cret-word"),
        )
        admin.execute(f"DROP SCHEMA {name} CASCADE".encode())
        for kind in "rw":
            admin.execute(f"DROP OWNED BY {name}_{kind}".encode())
            admin.execute(f"DROP ROLE {name}_{kind}".encode())


@pytest.fixture
def shop_file(tmp_path: Path) -> Path:
    """An SQLite file with a table `orders` of three rows."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, price NUMERIC)")
        connection.execute("INSERT INTO orders VALUES (1, 'tea', 2.5), (2, 'DELETE', 3), (3, 'jam; DROP', 4)")
    return path
