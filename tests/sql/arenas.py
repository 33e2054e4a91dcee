"""A database to try anything on, as an account that may do anything, and what its server says of it afterwards.

Below: second connections of the test's own. They look, and hold locks that nothing but a plain read gets past; no
session of the tool has any part in them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg

from activities.sql.lexing import Dialect
from tests.sql.support import mysql_connection, mysql_rows, own_name, postgres_connection, with_account

Look = Callable[[str], list[tuple[Any, ...]]]

_LOOK_S = 0.04
_PASSWORD = "s3cret-word"

_TABLES = (
    "CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR(40), price DECIMAL(10, 2))",
    "INSERT INTO orders VALUES (1, 'tea', 2.5), (2, 'DELETE', 3), (3, 'jam; DROP', 4)",
)


class Arena(Protocol):
    """One database and what is known of it."""

    dialect: Dialect
    url: str
    """Of the account that may do anything."""
    names: dict[str, str]
    """What stands for the words HELD and CANARY."""

    def state(self) -> dict[str, Any]:
        """Everything a statement could have changed."""
        ...

    def running(self) -> list[Any]:
        """Sessions of the account that are still there."""
        ...


@dataclass
class Waiting:
    """Looks for sessions that wait or sleep until told to stop; two looks must find the same statement."""

    found: list[Any] = field(default_factory=list[Any])
    looks: int = 0

    def watch(self, look: Callable[[], list[tuple[Any, ...]]], stop: threading.Event) -> None:
        """Look again and again."""
        before: set[Any] = set()
        while not stop.wait(_LOOK_S):
            rows = look()
            self.looks += 1
            self.found += [row for row in rows if row[0] in before]
            before = {row[0] for row in rows}


@contextmanager
def _watched(waiting: Waiting, look: Callable[[], list[tuple[Any, ...]]]) -> Generator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=waiting.watch, args=(look, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


_MARIA_WAITS = """
SELECT query_id, state, info FROM information_schema.processlist WHERE user = '{user}' AND (state LIKE 'User %'
OR (state LIKE 'Waiting%' AND state NOT LIKE '%query cache%') OR id IN (SELECT trx_mysql_thread_id FROM
information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'))
"""
_MARIA_STATE = {
    "rows": "SELECT * FROM {db}.orders ORDER BY id",
    "rows without transactions": "SELECT * FROM {db}.notes ORDER BY id",
    "rows of a trigger": "SELECT * FROM {db}.log",
    "sequence": "SELECT next_not_cached_value FROM {db}.s",
    "tables": "SELECT table_name, table_type, engine, create_time FROM information_schema.tables "
    "WHERE table_schema = '{db}' ORDER BY 1",
    "routines": "SELECT db, name, type, modified FROM mysql.proc WHERE db NOT LIKE 'sql\\_%' OR db = '{db}' "
    "ORDER BY 1, 2",
    "triggers": "SELECT trigger_name, created FROM information_schema.triggers WHERE trigger_schema = '{db}'",
    "events": "SELECT name, db FROM mysql.event",
    "databases": "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT LIKE 'sql\\_%' "
    "OR schema_name LIKE '{db}%' ORDER BY 1",
    "accounts": "SELECT host, user, priv FROM mysql.global_priv WHERE user NOT LIKE 'sql\\_%' OR user LIKE '{db}%' "
    "ORDER BY 1, 2",
    "grants": "SELECT host, user, db FROM mysql.db WHERE user NOT LIKE 'sql\\_%' OR user LIKE '{db}%' ORDER BY 1, 2, 3",
    "plugins": "SELECT plugin_name, plugin_status FROM information_schema.all_plugins ORDER BY 1",
    "functions of libraries": "SELECT name FROM mysql.func",
    "servers": "SELECT server_name FROM mysql.servers",
    "settings": "SELECT variable_name, variable_value FROM information_schema.global_variables "
    "WHERE variable_name NOT LIKE 'GTID%' ORDER BY 1",
    "file": "SELECT LOAD_FILE('{canary}')",
    "holder of a lock": "SELECT IS_USED_LOCK('{db}')",
}


_MARIA_THINGS = (
    "CREATE TABLE notes (id INT) ENGINE=MyISAM",
    "INSERT INTO notes VALUES (1)",
    "CREATE TABLE log (id INT) ENGINE=MyISAM",
    "CREATE TRIGGER logged BEFORE INSERT ON orders FOR EACH ROW INSERT INTO log VALUES (NEW.id)",
    "CREATE SEQUENCE s",
    "CREATE VIEW shown AS SELECT * FROM orders",
    "CREATE FUNCTION written() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO notes VALUES (2); RETURN 1; END",
    "CREATE PROCEDURE emptied() DELETE FROM notes",
)


class MariaArena:
    """A database in MariaDB; another session has changed every row of it and not committed."""

    dialect: Dialect = "mysql"

    def __init__(self, url: str, name: str, look: Look) -> None:
        self._user, self._look = f"{name}_any", look
        self.names = {"HELD": name, "CANARY": f"/tmp/{name}"}
        # To ask for encryption takes longer than most statements.
        self.url = with_account(url, self._user, _PASSWORD, name) + "?sslmode=disable"

    def state(self) -> dict[str, Any]:
        """Everything a statement could have changed."""
        words = {"db": self.names["HELD"], "canary": self.names["CANARY"]}
        return {label: self._look(query.format(**words)) for label, query in _MARIA_STATE.items()}

    def running(self) -> list[Any]:
        """Sessions of the account that are still there."""
        return self._look(f"SELECT id, state, info FROM information_schema.processlist WHERE user = '{self._user}'")


@contextmanager
def maria_arena(url: str, waiting: Waiting) -> Generator[Arena]:
    """Make the database, hold its locks, look for waits, and take it away."""
    name = own_name()
    with closing(mysql_connection(url)) as admin:
        try:
            for statement in (f"CREATE DATABASE {name} CHARACTER SET utf8mb4", f"USE {name}", *_TABLES, *_MARIA_THINGS):
                mysql_rows(admin, statement)
            mysql_rows(admin, f"CREATE USER '{name}_any'@'%' IDENTIFIED BY '{_PASSWORD}'")
            mysql_rows(admin, f"GRANT ALL ON *.* TO '{name}_any'@'%' WITH GRANT OPTION")
            with closing(mysql_connection(url, name)) as holder, closing(mysql_connection(url)) as watcher:
                for statement in ("BEGIN", "UPDATE orders SET price = 0", f"SELECT GET_LOCK('{name}', 0)"):
                    mysql_rows(holder, statement)
                waits = _MARIA_WAITS.format(user=f"{name}_any")
                with _watched(waiting, lambda: mysql_rows(watcher, waits)):
                    yield MariaArena(url, name, lambda query: mysql_rows(admin, query))
        finally:
            mysql_rows(admin, f"DROP DATABASE IF EXISTS {name}")
            mysql_rows(admin, f"DROP USER IF EXISTS '{name}_any'@'%'")


_POSTGRES_WAITS = """
SELECT (pid, query_start)::text, wait_event_type, wait_event, query FROM pg_stat_activity WHERE usename = '{user}'
AND state = 'active' AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')
"""
_POSTGRES_STATE = {
    "rows": "SELECT ctid::text, xmin::text, xmax::text, * FROM orders ORDER BY id",
    "rows without locks": "SELECT ctid::text, xmin::text, xmax::text, * FROM notes ORDER BY id",
    "rows of a trigger": "SELECT * FROM log",
    "sequence": "SELECT last_value, is_called FROM s",
    "relations": "SELECT oid, relname, relnamespace, relfilenode, relowner, relacl::text FROM pg_class ORDER BY oid",
    "schemas": "SELECT oid, nspname FROM pg_namespace ORDER BY oid",
    "functions": "SELECT count(*), max(oid::text), sum(hashtext(prosrc)) FROM pg_proc",
    "types": "SELECT count(*) FROM pg_type",
    "collations": "SELECT count(*) FROM pg_collation",
    "comments": "SELECT count(*) FROM pg_description",
    "triggers": "SELECT tgname, tgenabled FROM pg_trigger",
    "extensions": "SELECT extname FROM pg_extension",
    "large objects": "SELECT oid FROM pg_largeobject_metadata",
    "roles": "SELECT * FROM pg_authid WHERE rolname NOT LIKE 'sql\\_%' OR rolname LIKE '{db}%' ORDER BY oid",
    "databases": "SELECT datname FROM pg_database WHERE datname NOT LIKE 'sql\\_%' OR datname LIKE '{db}%' ORDER BY 1",
    "settings of roles": "SELECT s.* FROM pg_db_role_setting s JOIN pg_roles ON oid = setrole "
    "WHERE rolname = '{db}_any'",
    "settings": "SELECT name, setting FROM pg_settings ORDER BY 1",
    "settings in a file": "SELECT name, setting FROM pg_file_settings ORDER BY 1",
    "prepared transactions": "SELECT gid FROM pg_prepared_xacts WHERE database = '{db}'",
    "replication": "SELECT slot_name FROM pg_replication_slots UNION ALL SELECT pubname FROM pg_publication",
    "exported snapshots": "SELECT count(*) FROM pg_ls_dir('pg_snapshots')",
    "statistics": "SELECT stats_reset FROM pg_stat_database WHERE datname = '{db}'",
    "files": "SELECT (pg_stat_file('{canary}', true)).size",
    "locks": "SELECT objid, mode FROM pg_locks WHERE locktype = 'advisory' AND database = "
    "(SELECT oid FROM pg_database WHERE datname = '{db}') ORDER BY 1",
    "server": "SELECT pg_postmaster_start_time(), pg_is_in_recovery()",
}


_POSTGRES_THINGS = (
    "CREATE TABLE notes (id INT)",
    "INSERT INTO notes VALUES (1)",
    "CREATE TABLE log (id INT)",
    "CREATE FUNCTION logged() RETURNS trigger LANGUAGE plpgsql AS "
    "$$BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END$$",
    "CREATE TRIGGER logged BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION logged()",
    "CREATE SEQUENCE s",
    "CREATE VIEW shown AS SELECT * FROM orders",
    "CREATE MATERIALIZED VIEW kept AS SELECT 1 AS id",
    "CREATE FUNCTION written() RETURNS INT LANGUAGE sql AS 'INSERT INTO notes VALUES (2); SELECT 1'",
    "CREATE PROCEDURE emptied() LANGUAGE sql AS 'DELETE FROM notes'",
)


class PostgresArena:
    """A database in PostgreSQL; another session keeps all but plain reads from its tables."""

    dialect: Dialect = "postgres"

    def __init__(self, url: str, name: str, look: Look) -> None:
        self._user, self._look = f"{name}_any", look
        self.names = {"HELD": name, "CANARY": f"/tmp/{name}"}
        self.url = with_account(url, self._user, _PASSWORD, name)

    def state(self) -> dict[str, Any]:
        """Everything a statement could have changed."""
        words = {"db": self.names["HELD"], "canary": self.names["CANARY"]}
        return {label: self._look(query.format(**words)) for label, query in _POSTGRES_STATE.items()}

    def running(self) -> list[Any]:
        """Sessions of the account that are still there."""
        return self._look(f"SELECT pid, state, query FROM pg_stat_activity WHERE usename = '{self._user}'")


@contextmanager
def postgres_arena(url: str, waiting: Waiting) -> Generator[Arena]:
    """Make the database, hold its locks, look for waits, and take it away."""
    name = own_name()
    own_url = f"{url.removesuffix(urlsplit(url).path)}/{name}"
    with closing(postgres_connection(url)) as owner:
        try:
            owner.execute(f"CREATE DATABASE {name}".encode())
            owner.execute(f"CREATE ROLE {name}_any SUPERUSER LOGIN PASSWORD '{_PASSWORD}'".encode())
            with _postgres_things(own_url) as (admin, watcher):
                waits = _POSTGRES_WAITS.format(user=f"{name}_any").encode()
                with _watched(waiting, lambda: watcher.execute(waits).fetchall()):
                    yield PostgresArena(url, name, lambda query: admin.execute(query.encode()).fetchall())
        finally:
            owner.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            owner.execute(f"DROP ROLE IF EXISTS {name}_any".encode())


@contextmanager
def _postgres_things(url: str) -> Generator[tuple[psycopg.Connection[Any], psycopg.Connection[Any]]]:
    """Make the tables, hold their locks, and yield two connections."""
    with (
        closing(postgres_connection(url)) as admin,
        closing(postgres_connection(url)) as holder,
        closing(postgres_connection(url)) as watcher,
    ):
        for statement in (*_TABLES, *_POSTGRES_THINGS):
            admin.execute(statement.encode())
        for statement in ("BEGIN", "LOCK TABLE orders, log IN EXCLUSIVE MODE", "SELECT pg_advisory_lock(1)"):
            holder.execute(statement.encode())
        yield admin, watcher


class SqliteArena:
    """A file; nothing else is in its directory."""

    dialect: Dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names = {"HELD": "held", "CANARY": str(path.with_name("canary"))}
        self.url = f"sqlite:///{path}"

    def state(self) -> dict[str, Any]:
        """The file's bytes, and its neighbours."""
        return {
            "file": hashlib.sha256(self._path.read_bytes()).hexdigest(),
            "files": sorted(path.name for path in self._path.parent.iterdir()),
        }

    def running(self) -> list[Any]:
        """Nobody."""
        return []
