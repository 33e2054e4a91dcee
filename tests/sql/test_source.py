"""A declaration is checked when it is read, and nothing ever shows its URL."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import ValidationError

from activities.probe import Probe
from activities.sql import SqlSource, probe, sql_tools
from boundary.tools import ToolFailure
from tests.sql.conftest import Place
from tests.sql.support import mysql_connection, mysql_rows, postgres_connection, sql, with_account


def source_of(url: str) -> SqlSource:
    return SqlSource.model_validate({"name": "db", "url": url})


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("oracle://me:p4ssw0rd@host/db", "begins with none of"),
        ("mysql://me:p4ssw0rd@host:port/db", "percent-encode"),
        ("mysql://me:p4ss/w0rd@host/db", "percent-encode"),
        ("mysql://:p4ssw0rd@host/db", "names no user"),
        ("mysql:///db", "names no host"),
        ("postgresql://me:p4ssw0rd@host", "names no database"),
        ("postgresql://me:p4ssw0rd@host/db?options=-cx", "sslmode"),
        ("postgresql://me:p4ssw0rd@host/db?sslmode=maybe", "sslmode"),
        ("mysql://me:p4ssw0rd@host/db?sslmode=verify-full", "sslrootcert"),
        ("mysql://me:p4ss#w0rd@host/db", "percent-encode"),
        ("sqlite://", "names no SQLite file"),
        ("sqlite://p4ssw0rd.db", "names no SQLite file"),
        ("p4ssw0rd", "begins with none of"),
        ("", "begins with none of"),
    ],
)
def test_a_bad_url_is_told_what_is_wrong_and_never_shown(url: str, fix: str) -> None:
    """Errors go to logs and terminals."""
    with pytest.raises(ValidationError) as caught:
        source_of(url)
    assert fix in str(caught.value)
    assert "p4ss" not in str(caught.value)
    assert "w0rd" not in str(caught.value)


def test_a_source_shows_nothing_of_its_url() -> None:
    """Not as text, not as JSON, not its parts."""
    source = source_of("mysql://alice:p4ssw0rd@db.example/shop")
    for text in (repr(source), str(source), source.model_dump_json(), repr(source.address)):
        assert not any(part in text for part in ("p4ssw0rd", "alice", "db.example"))


def test_user_and_password_are_decoded() -> None:
    """Reserved characters are percent-encoded in a URL."""
    address = source_of("mariadb://al%40ice:p%3Aw%2F%40@db.example/my%20shop").address
    assert (address.user, address.password, address.database, address.port) == ("al@ice", "p:w/@", "my shop", 3306)


def test_a_relative_sqlite_path_is_taken_from_the_base(tmp_path: Path) -> None:
    """Tools take absolute ones only; other sources stay as they are."""
    relative = source_of("sqlite:///data/my%20shop.db")
    with pytest.raises(ValueError, match="absolute"):
        sql_tools([relative])
    base = tmp_path / "50% of"
    assert relative.resolve(base).path == base / "data" / "my shop.db"
    absolute = source_of("sqlite:////var/lib/shop.db")
    assert absolute.resolve(base).path == Path("/var/lib/shop.db")
    server = source_of("mysql://me@host/db")
    assert server.resolve(base) is server


def test_two_sources_of_one_name_are_refused() -> None:
    """An agent could not tell them apart."""
    with pytest.raises(ValueError, match="different names: db"):
        sql_tools([source_of("mysql://me@host/a"), source_of("mysql://me@host/b")])


@pytest.mark.parametrize("seconds", [0, -1, 61])
def test_a_statement_has_at_most_a_minute(seconds: float) -> None:
    """And never none at all."""
    with pytest.raises(ValidationError):
        SqlSource.model_validate({"name": "db", "url": "mysql://me@host/db", "statement_timeout_s": seconds})


def test_a_probe_says_what_is_there_and_warns_of_an_account_that_can_write(maria: Place, postgres: Place) -> None:
    """The session is read-only whatever the account is."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(admin, "CREATE TABLE t (a INT)")
    with closing(postgres_connection(postgres.admin_url)) as owner:
        owner.execute(f"CREATE TABLE {postgres.name}.t (a INT)".encode())
        owner.execute(f"GRANT SELECT ON {postgres.name}.t TO {postgres.name}_r".encode())
        owner.execute(f"GRANT SELECT, INSERT ON {postgres.name}.t TO {postgres.name}_w".encode())
    for place, server in ((maria, "MariaDB "), (postgres, "PostgreSQL ")):
        reader = probe(source_of(place.reader_url))
        assert (reader.available, reader.reason, reader.warnings) == (True, None, ())
        assert reader.detail.startswith(server)
        assert reader.detail.endswith("account can only read")
        for url in (place.writer_url, place.admin_url):
            writer = probe(source_of(url))
            assert writer.available
            assert len(writer.warnings) == 1
            assert "SELECT only" in writer.warnings[0]


def test_a_role_that_can_write_is_warned_of(maria: Place) -> None:
    """The account itself may only read; its default role, through another one, may do more."""
    outer, inner, user = f"{maria.name}_outer", f"{maria.name}_inner", f"'{maria.name}_r'@'%'"
    with closing(mysql_connection(maria.admin_url)) as admin:
        for statement in (
            f"CREATE ROLE {inner}",
            f"CREATE ROLE {outer}",
            f"GRANT DELETE ON {maria.name}.* TO {inner}",
            f"GRANT {inner} TO {outer}",
            f"GRANT {outer} TO {user}",
            f"SET DEFAULT ROLE {outer} FOR {user}",
        ):
            mysql_rows(admin, statement)
        try:
            [warning] = probe(source_of(maria.reader_url)).warnings
        finally:
            mysql_rows(admin, f"DROP ROLE {outer}")
            mysql_rows(admin, f"DROP ROLE {inner}")
    assert "can write (DELETE)" in warning


def test_a_probe_of_a_file_says_how_it_is_opened(shop_file: Path) -> None:
    """A file one could write is no reason for a warning."""
    found = probe(source_of(f"sqlite:///{shop_file}"))
    assert (found.available, found.warnings) == (True, ())
    assert found.detail.startswith("SQLite ")


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def bad_urls(mariadb_url: str, postgres_url: str, file: Path) -> dict[str, str]:
    """URLs with what their reason must say."""
    return {
        with_account(mariadb_url, "nobody-here", "p4ssw0rd"): "user and password",
        with_account(postgres_url, "nobody-here", "p4ssw0rd"): "refused the login",
        with_account(mariadb_url, "root", "", "no_such_db").replace(":@", "@"): "database",
        with_account(postgres_url, "postgres", "", "no_such_db").replace(":@", "@"): "database",
        "mysql://nobody-here:p4ssw0rd@127.0.0.1:1/db": "host and port",
        "postgresql://nobody-here:p4ssw0rd@127.0.0.1:1/db": "host, port",
        "mysql://nobody-here:p4ssw0rd@nobody-here.invalid/db": "host and port",
        "sqlite:////nobody-here/p4ssw0rd.db": "no file",
        f"sqlite:///{file}": "no SQLite database",
    }


def test_what_cannot_be_reached_is_told_with_the_fix_and_without_the_address(
    mariadb_url: str, postgres_url: str, tmp_path: Path
) -> None:
    """By the probe, and by a call in the same words."""
    file = tmp_path / "p4ssw0rd.db"
    file.write_bytes(b"no database, but long enough to be read as one" * 100)
    for url, fix in bad_urls(mariadb_url, postgres_url, file).items():
        found = probe(source_of(url))
        assert found == Probe(False, found.reason, (), "")
        assert fix in str(found.reason)
        with pytest.raises(ToolFailure) as caught:
            sql(url).rows("SELECT 1")
        assert caught.value.message == found.reason
        assert not any(part in str(found.reason) for part in ("p4ssw0rd", "nobody-here", "127.0.0.1", "no_such_db"))


@pytest.mark.parametrize("scheme", ["mysql", "postgresql"])
def test_a_server_that_says_nothing_is_given_up(silent_port: int, scheme: str) -> None:
    """After the time-out for connecting; the call's thread ends."""
    ends: list[Probe] = []
    url = f"{scheme}://me:p4ssw0rd@127.0.0.1:{silent_port}/db"
    thread = threading.Thread(target=lambda: ends.append(probe(source_of(url))))
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert ends[0].available is False
