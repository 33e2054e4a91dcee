"""Every value a server holds comes back exactly, or says that it is cut."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from boundary.contracts import EvidenceStatus
from tests.sql.conftest import Place
from tests.sql.support import mysql_connection, mysql_rows, sql


def test_mariadb_values_are_exact(maria: Place) -> None:
    """Big integers, decimals, times over a day, zero dates, bits, sets, bytes and NULL."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(admin, "SET sql_mode = ''")
        mysql_rows(
            admin,
            "CREATE TABLE odd (u BIGINT UNSIGNED, i BIGINT, n DECIMAL(38,10), f DOUBLE, t TIME(3), t2 TIME, d DATE, "
            "dt DATETIME(6), b BIT(12), y YEAR, s SET('a','b','c'), e ENUM('x','y'), j JSON, bin VARBINARY(8), "
            "txt VARCHAR(20) CHARACTER SET latin1, nothing INT) CHARACTER SET utf8mb4",
        )
        mysql_rows(
            admin,
            "INSERT INTO odd VALUES (18446744073709551615, -9223372036854775808, "
            "1234567890123456789012345678.0123456789, 0.1, '838:59:58.999', '-100:00:01', '0000-00-00', "
            "'9999-12-31 23:59:59.999999', b'100000000001', 2155, "
            "'a,c', 'y', '{\"a\": 1.50}', x'00ff10', 'é', NULL)",
        )
    result = sql(maria.reader_url).query("SELECT * FROM odd")
    assert dict(zip([column["name"] for column in result["columns"]], result["rows"][0], strict=True)) == {
        "u": 18446744073709551615,
        "i": -9223372036854775808,
        "n": "1234567890123456789012345678.0123456789",
        "f": 0.1,
        "t": "838:59:58.999",
        "t2": "-100:00:01",
        "d": "0000-00-00",
        "dt": "9999-12-31 23:59:59.999999",
        "b": 0b100000000001,
        "y": 2155,
        "s": "a,c",
        "e": "y",
        "j": '{"a": 1.50}',
        "bin": {"hex": "00ff10", "bytes": 3},
        "txt": "é",
        "nothing": None,
    }
    assert [column["type"] for column in result["columns"]][:3] == ["bigint unsigned", "bigint", "decimal"]


def test_mariadb_timestamps_are_utc(maria: Place) -> None:
    """Whatever zone the server is in; the result says so."""
    with closing(mysql_connection(maria.admin_url)) as admin:
        mysql_rows(admin, "SET time_zone = '+05:30'")
        mysql_rows(admin, "CREATE TABLE t (a TIMESTAMP)")
        mysql_rows(admin, "INSERT INTO t VALUES ('2024-06-01 05:30:00')")
    result = sql(maria.reader_url).query("SELECT a FROM t")
    assert (result["rows"], result["time_zone"]) == ([["2024-06-01 00:00:00"]], "UTC")


def test_postgresql_values_are_exact(postgres_url: str) -> None:
    """What JSON cannot hold is the text that the server writes, zones absolute."""
    cells = {
        "9223372036854775807::bigint": 9223372036854775807,
        "12345678901234567890.000000000100::numeric": "12345678901234567890.000000000100",
        "'NaN'::numeric": "NaN",
        "0.1::float8": 0.1,
        "'Infinity'::float8": "Infinity",
        "'NaN'::float4": "NaN",
        "true": True,
        "NULL::int": None,
        "'\\x00ff'::bytea": {"hex": "00ff", "bytes": 2},
        "'2024-06-01 12:00:00+02'::timestamptz": "2024-06-01 10:00:00+00",
        "'-infinity'::date": "-infinity",
        "'25:10:00'::interval + '3 mons'::interval": "3 mons 25:10:00",
        "ARRAY[1, NULL, 3]": "{1,NULL,3}",
        "ARRAY['a,b', 'c\"d']": '{"a,b","c\\"d"}',
        "'{\"a\": 1.50}'::json": '{"a": 1.50}',
        "'{\"a\": 1.50}'::jsonb": '{"a": 1.50}',
        "'[1,5)'::int4range": "[1,5)",
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "'10.1.0.0/16'::inet": "10.1.0.0/16",
        "B'0101'": "0101",
    }
    rows = sql(postgres_url).rows(f"SELECT {', '.join(cells)}")
    assert rows == [list(cells.values())]


def test_postgresql_names_types_with_their_length(postgres_url: str) -> None:
    """As its own client does."""
    result = sql(postgres_url).query("SELECT 1::numeric(10,2) AS a, 'x'::varchar(5) AS b, ARRAY[1] AS c, now() AS d")
    assert [column["type"] for column in result["columns"]] == [
        "numeric(10,2)",
        "character varying(5)",
        "integer[]",
        "timestamp with time zone",
    ]


def test_sqlite_values_are_exact(tmp_path: Path) -> None:
    """Text that is not UTF-8 comes as bytes, and infinities by name."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a, b, c, d, e, f)")
        connection.execute("INSERT INTO t VALUES (9223372036854775807, 0.1, 9e999, CAST(x'61ff' AS TEXT), x'61', NULL)")
    assert sql(f"sqlite:///{path}").rows("SELECT * FROM t") == [
        [
            9223372036854775807,
            0.1,
            "Infinity",
            {"hex": "61ff", "bytes": 2, "invalid": "utf-8"},
            {"hex": "61", "bytes": 1, "text": "a"},
            None,
        ]
    ]


def test_columns_of_one_name_are_all_there(mariadb_url: str, postgres_url: str) -> None:
    """Rows are arrays: a join loses nothing."""
    for url in (mariadb_url, postgres_url):
        result = sql(url).query("SELECT 1 AS id, 2 AS id, 3 AS id")
        assert [column["name"] for column in result["columns"]] == ["id", "id", "id"]
        assert result["rows"] == [[1, 2, 3]]


def test_no_row_is_no_evidence_but_still_says_the_columns(mariadb_url: str, postgres_url: str, shop_file: Path) -> None:
    """The tool looked, and found nothing."""
    for url in (mariadb_url, postgres_url, f"sqlite:///{shop_file}"):
        projection = sql(url).project("query_database", source="db", sql="SELECT 1 AS a WHERE 1 = 0")
        assert projection.evidence_status is EvidenceStatus.NO_EVIDENCE
        assert [column["name"] for column in projection.agent_result["columns"]] == ["a"]
        assert projection.agent_result["fetched"] == 0


def test_the_row_cap_says_that_there_are_more(postgres_url: str) -> None:
    """Exactly at the cap there are none."""
    tools = sql(postgres_url)
    more = tools.query("SELECT * FROM generate_series(1, 4) g ORDER BY g", max_rows=3)
    assert (more["rows"], more["fetched"], more["more_rows"], more["truncated"]) == ([[1], [2], [3]], 3, True, False)
    exact = tools.query("SELECT * FROM generate_series(1, 3) g ORDER BY g", max_rows=3)
    assert (exact["fetched"], exact["more_rows"]) == (3, False)
    least = tools.query("SELECT * FROM generate_series(1, 9) g ORDER BY g LIMIT 2", max_rows=3)
    assert (least["rows"], least["more_rows"]) == ([[1], [2]], False)


def test_rows_over_the_budget_are_left_out_whole(postgres_url: str) -> None:
    """`shown` of `fetched`; the same call is cut the same."""
    statement = "SELECT g, repeat('x', 90) FROM generate_series(1, 1000) g ORDER BY g"
    first, second = (sql(postgres_url).query(statement, max_rows=1000, budget=8000) for _ in range(2))
    assert first == second
    assert first["fetched"] == 1000
    assert 50 < first["shown"] < 90
    assert first["truncated"] is True
    assert first["rows"] == [[number, "x" * 90] for number in range(1, first["shown"] + 1)]


def test_a_long_cell_is_cut_and_says_so(mariadb_url: str) -> None:
    """Ten megabytes of text fit every budget, and their length is told."""
    result = sql(mariadb_url).query("SELECT 1, REPEAT('ab', 5000000), REPEAT(x'00', 100000)")
    number, text, data = result["rows"][0]
    assert number == 1
    assert text["cut"] is True
    assert text["characters"] == 10_000_000
    assert text["text"] == ("ab" * 5000)[: len(text["text"])]
    assert data["cut"] is True
    assert data["bytes"] == 100_000
    assert result["truncated"] is True


def test_a_result_wider_than_the_budget_says_how_many_columns_there_are(postgres_url: str) -> None:
    """It shows the first of them, and their cells."""
    columns = ", ".join(f"{number} AS column_number_{number}" for number in range(600))
    result = sql(postgres_url).query(f"SELECT {columns}", budget=6000)
    width = len(result["columns"])
    assert 20 < width < 200
    assert result["columns_total"] == 600
    assert result["rows"] == [list(range(width))]


def test_a_small_budget_is_kept_whatever_the_names_are(shop_file: Path) -> None:
    """SQLite calls a column by its expression's whole text."""
    long = "x" * 4000
    result = sql(f"sqlite:///{shop_file}").query(f"SELECT '{long}', 2", budget=2000)
    assert result["truncated"] is True
    assert result["fetched"] == 1


def test_reading_stops_at_the_raw_limit_with_whole_rows(mariadb_url: str, postgres_url: str, shop_file: Path) -> None:
    """More raw than allowed is never collected."""
    recursive = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 900)"
    for url, cell in (
        (mariadb_url, "REPEAT('x', 5000)"),
        (postgres_url, "REPEAT('x', 5000)"),
        (f"sqlite:///{shop_file}", "printf('%.5000c', 'x')"),
    ):
        raw = sql(url).raw(
            "query_database",
            source="db",
            sql=f"{recursive} SELECT n, {cell} FROM r",
            max_rows=1000,
            max_raw_bytes=100_000,
        )
        assert 5 < raw["fetched"] < 25
        assert raw["more_rows"] is True
        assert raw["truncated"] is True
        assert [row[0] for row in raw["rows"]] == list(range(1, raw["fetched"] + 1))
        assert len(json.dumps(raw)) < 100_000
