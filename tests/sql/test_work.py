"""How long a statement may keep its server busy between two looks at the time-out: what is taken, what is refused.

The bounds are held to what the servers make: a text is never longer than was reckoned before. What statements take
that pass is `test_fuzz_statements`' business, which writes such calls, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pymysql
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.sql.grammars import GRAMMARS
from activities.sql.lengths import GROUP_CONCAT_MAX
from activities.sql.lexing import Dialect
from activities.sql.patterns import Pattern
from activities.sql.statements import prepare
from activities.sql.work import Work
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure
from tests.sql.grammar_long import Long
from tests.sql.support import mysql_connection, postgres_connection

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
EXAMPLES = int(os.environ.get("CASEBOUND_SOAK_EXAMPLES", "600")) * 10 if SOAK else 300

USUAL: dict[Dialect, tuple[str, ...]] = {
    "mysql": (
        "SELECT * FROM t WHERE msg LIKE '%timeout%' AND a LIKE CONCAT('%', b, '%')",
        "SELECT REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(a,'&','&amp;'),'<','&lt;'),'>','&gt;'),'\"','&quot;'),"
        "'|','&#39;') FROM t",
        "SELECT REPEAT('#', 20), LPAD(id, 10, '0'), RPAD(name, 30, ' '), REPEAT('*', LEAST(n, 80)) FROM t",
        "SELECT SUBSTRING_INDEX(GROUP_CONCAT(x ORDER BY y DESC), ',', 1) FROM t GROUP BY z",
        "SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(GROUP_CONCAT(x ORDER BY y), ',', 10), ',', -1) FROM t GROUP BY z",
        "SELECT REGEXP_REPLACE(msg, '[0-9]+', '<n>') AS m, COUNT(*) FROM t GROUP BY m ORDER BY COUNT(*) DESC",
        "SELECT REGEXP_REPLACE(REGEXP_REPLACE(REGEXP_REPLACE(msg, '[0-9a-f]{8}-[0-9a-f]{4}', '<uuid>'), "
        "'([0-9]{1,3}\\\\.){3}[0-9]{1,3}', '<ip>'), '[0-9]+', '<n>') AS m, COUNT(*) FROM t GROUP BY 1",
        "SELECT REGEXP_REPLACE(msg, '.*id=([0-9]+).*', '\\\\1') FROM t",
        "SELECT REGEXP_SUBSTR(msg, 'user=[^ ]+') AS u, COUNT(*) AS c FROM t WHERE msg REGEXP 'timeout.*upstream.*a.*' "
        "GROUP BY u HAVING c > 1 ORDER BY c",
        "WITH RECURSIVE c AS (SELECT id, CAST(name AS CHAR(500)) AS path FROM n WHERE parent IS NULL UNION ALL "
        "SELECT n.id, CONCAT(c.path, '/', n.name) FROM n JOIN c ON n.parent = c.id) "
        "SELECT *, LENGTH(path) - LENGTH(REPLACE(path, '/', '')) AS depth FROM c ORDER BY path",
        "WITH RECURSIVE c AS (SELECT id, CAST(id AS CHAR(200)) AS path FROM n UNION ALL SELECT n.id, "
        "CONCAT(c.path, ',', n.id) FROM n JOIN c ON n.parent = c.id WHERE NOT FIND_IN_SET(n.id, c.path) AND "
        "c.path NOT LIKE CONCAT('%,', n.id, ',%')) SELECT * FROM c",
        "SELECT JSON_EXTRACT(doc, '$.a.b'), doc->>'$.x', JSON_CONTAINS(tags, '\"x\"'), "
        "JSON_EXTRACT(doc, '$**.id') FROM t",
        "SELECT a.*, b.n FROM a JOIN (SELECT k, GROUP_CONCAT(DISTINCT v SEPARATOR ', ') AS n FROM b GROUP BY k) b "
        "USING (k) WHERE b.n LIKE '%foo%'",
        "SELECT COUNT(*), SUM(x * y / 100), ROUND(100.0 * SUM(a) / SUM(b), 2), DATE_FORMAT(ts, '%Y-%m-%d %H:00') AS h "
        "FROM t GROUP BY h",
        "SELECT POWER(a - b, 2) * POWER(c, 2), SQRT(POWER(a, 2) + POWER(b, 2)), size / POWER(1024, 3) FROM t",
        "WITH RECURSIVE s(d) AS (SELECT CAST('2024-01-01' AS DATE) UNION ALL SELECT d + INTERVAL 1 DAY FROM s "
        "WHERE d < '2024-02-01') SELECT s.d, COUNT(t.id) FROM s LEFT JOIN t ON DATE(t.ts) = s.d GROUP BY s.d",
        "SELECT EXTRACTVALUE(doc, '/a/b/c'), EXTRACTVALUE(doc, '//c') FROM t",
        "SELECT id FROM t WHERE " + " OR ".join(f"a = {number}" for number in range(900)),
        " UNION ALL ".join(f"SELECT {number}" for number in range(700)),
    ),
    "postgres": (
        "SELECT string_agg(name, ', ' ORDER BY name), array_to_string(array_agg(DISTINCT x), ','), "
        "upper(string_agg(a, '')), replace(string_agg(a, ','), ',', ', ') FROM t GROUP BY k "
        "HAVING string_agg(x, ',') LIKE '%timeout%'",
        "WITH RECURSIVE c AS (SELECT id, name::text AS path, ARRAY[id] AS ids FROM n WHERE parent IS NULL UNION ALL "
        "SELECT n.id, c.path || '/' || n.name, ids || n.id FROM n JOIN c ON n.parent = c.id "
        "WHERE NOT n.id = ANY(ids) AND c.path NOT LIKE '%' || n.name || '%') SELECT * FROM c ORDER BY path",
        "SELECT regexp_replace(msg, '[0-9]+', '<n>', 'g') AS m, count(*) FROM t GROUP BY m",
        "SELECT d::date, (SELECT string_agg(x, ',') FROM t WHERE t.day = d) "
        "FROM generate_series('2024-01-01'::date, '2024-02-01', '1 day') d",
        "SELECT string_agg(n::text, ',') FROM generate_series(1, 10) n",
        "SELECT round((100.0 * a / b)::numeric, 2), round(x::numeric * y::numeric / z::numeric, 2), "
        "to_char(ts, 'YYYY-MM-DD HH24:MI') FROM t",
        "SELECT pg_size_pretty(pg_total_relation_size(c.oid)), relname FROM pg_class c WHERE relkind = 'r' "
        "ORDER BY pg_total_relation_size(c.oid) DESC",
        "SELECT jsonb_pretty(doc), doc->'a'->>'b', doc @> '{\"a\":1}' FROM t",
        "SELECT array_to_string(ARRAY(SELECT name FROM t ORDER BY 1), ','), format('%s-%5s', a, b) FROM t",
    ),
    "sqlite": (
        "SELECT group_concat(name, ', '), printf('%05d', id), upper(name) FROM t WHERE name LIKE '%a%'",
        "WITH RECURSIVE c(id, path) AS (SELECT id, name FROM n UNION ALL SELECT n.id, c.path || '/' || n.name FROM n "
        "JOIN c ON n.parent = c.id) SELECT * FROM c WHERE instr(path, 'x') > 0",
    ),
}
"""What people ask."""

_LONG = "'" + "a" * 4000 + "'"

LATE: dict[Dialect, tuple[tuple[str, str], ...]] = {
    "mysql": (
        (f"SELECT REPLACE(REPEAT({_LONG}, 1000), 'a', 'bb')", "REPLACE"),
        (f"SELECT REPLACE(REPEAT({_LONG}, 1000), CONCAT({_LONG}, 'b'), '')", "REPLACE"),
        ("SELECT INSTR(REPEAT('a', 1000000), CONCAT(REPEAT('a', 100000), 'b'))", "INSTR"),
        ("SELECT REPEAT('a', 1000000) LIKE CONCAT('%', REPEAT('a', 10000), 'b%')", "LIKE"),
        ("SELECT REPEAT('a', n) FROM t", "REPEAT"),
        ("SELECT LPAD('a', n, 'b') FROM t", "LPAD"),
        (f"SELECT REGEXP_REPLACE(CONCAT({_LONG}, {_LONG}, {_LONG}), '[a]', 'b')", "REGEXP_REPLACE"),
        (f"SELECT REGEXP_REPLACE({_LONG}, '(a+)+[bd]|c', '')", "REGEXP_REPLACE"),
        ("SELECT REGEXP_REPLACE(GROUP_CONCAT(x), '[0-9]+', '') FROM t", "REGEXP_REPLACE"),
        (f"SELECT JSON_MERGE_PATCH({_LONG}, REPEAT({_LONG}, 4))", "JSON_MERGE_PATCH"),
        ("SELECT JSON_EXTRACT(x, '$**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[1]') FROM t", "JSON_EXTRACT"),
        (
            "WITH a AS (SELECT REPEAT('a', 100000) AS x), b AS (SELECT CONCAT(x, x) AS x FROM a) SELECT "
            "INSTR(b.x, CONCAT(c.x, 'b')) FROM b, b c",
            "INSTR",
        ),
        (
            "SELECT 1 FROM t WHERE (SELECT REPLACE(y, 'a', 'bb') FROM (SELECT REPEAT('a', 4000000) AS y) q) = 1",
            "REPLACE",
        ),
        ("SELECT x FROM (SELECT REPEAT('a', 500000) AS x) q ORDER BY REPLACE(x, 'a', 'bb')", "REPLACE"),
        ("SELECT REPEAT('a', 500000) AS x FROM t HAVING REPLACE(x, 'a', 'bb') > 1", "REPLACE"),
        ("SELECT REPLACE(v, 'a', 'bb') FROM (SELECT 1 AS v UNION ALL SELECT REPEAT('a', 500000)) q", "REPLACE"),
        ("SELECT REPLACE(q.v, 'a', 'bb') FROM t JOIN (SELECT REPEAT('a', 500000)) q (v)", "REPLACE"),
        (
            "WITH RECURSIVE r(x) AS (SELECT CAST('a' AS CHAR(1000000)) UNION ALL SELECT CONCAT(x, x) FROM r) "
            "SELECT COUNT(REPLACE(x, 'a', 'b')) FROM r",
            "CONCAT",
        ),
        ("SELECT CONVERT(REPEAT('a', 500000) USING utf32) LIKE REPEAT('a', 1000)", "LIKE"),
    ),
    "postgres": (
        ("SELECT repeat('a', 1000000000)", "REPEAT"),
        ("SELECT repeat('a', n) FROM t", "REPEAT"),
        ("SELECT translate(repeat('a', 1000000), repeat('b', 10000), '')", "TRANSLATE"),
        ("SELECT btrim(repeat('a', 100000), repeat('b', 10000) || 'a')", "BTRIM"),
        ("SELECT array_to_string(string_to_array(repeat('a,', 10000), ','), repeat('b', 100000))", "ARRAY_TO_STRING"),
        ("SELECT array_to_string(array_fill(1, ARRAY[100000000]), ',')", "ARRAY_FILL"),
        ("SELECT format('%1000000000s', a) FROM t", "FORMAT"),
        ("SELECT ts_headline(repeat('a b ', 10000), to_tsquery('a'))", "TS_HEADLINE"),
        ("SELECT ('[' || repeat('1e100000,', 10000) || '1]')::jsonb", "REPEAT"),
        ("SELECT md5(string_agg('aaaaaaaaaaaaaaaaaaaaaaaa', '')) FROM generate_series(1, 100000000)", "MD5"),
        ("SELECT string_to_array(a, ',') && string_to_array(repeat('b,', 1000000), ',') FROM t", "ARRAY_OVERLAP"),
        (
            "SELECT (3::numeric ^ 200000) % (7::numeric ^ 90000) * (3::numeric ^ 200000) % (5::numeric ^ 100000)",
            "MULTIPLY",
        ),
        ("WITH RECURSIVE r(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM r) SELECT length(x) FROM r", "LENGTH"),
        (
            "SELECT translate(row_to_json(q)::text, repeat('b', 10000), '') FROM (SELECT repeat('a', 1000000)) q",
            "TRANSLATE",
        ),
    ),
    "sqlite": (
        (
            "SELECT replace(hex(zeroblob(1000000)), '00000000000000000000001', 'x') || printf('%1000000000d', 1)",
            "PRINTF",
        ),
        ("SELECT instr(zeroblob(10000000), zeroblob(100000))", "INSTR"),
    ),
}
"""What would keep a server busy far beyond any time-out, and who is named for it."""


def pairs(table: dict[Dialect, Any]) -> list[tuple[Dialect, Any]]:
    """Every entry with its dialect."""
    return [(dialect, entry) for dialect, entries in table.items() for entry in entries]


@pytest.mark.parametrize(("dialect", "statement"), pairs(USUAL))
def test_what_people_ask_is_taken(dialect: Dialect, statement: str) -> None:
    """Masking, bars, paths of a tree, lists of a group: none of them is near the bound."""
    assert prepare(statement, dialect).sql


@pytest.mark.parametrize(("dialect", "late"), pairs(LATE))
def test_what_runs_far_beyond_the_time_out_is_refused(dialect: Dialect, late: tuple[str, str]) -> None:
    """Whatever detour the text takes; the refusal names the call, and what to write instead."""
    statement, name = late
    with pytest.raises(ToolFailure) as failure:
        prepare(statement, dialect)
    assert failure.value.code is ErrorCode.INVALID_ARGUMENTS
    assert failure.value.message.startswith(f"{name} here could take the server far beyond its time-out")
    assert "LEFT(x, 500)" in failure.value.message


@pytest.mark.parametrize("dialect", ["mysql", "postgres", "sqlite"])
def test_columns_made_of_columns_are_counted_each_time(dialect: Dialect) -> None:
    """Planners put the expression in the column's place: 30 such queries are one of 2^30 parts."""
    few, many = ("SELECT id AS a FROM orders",) * 2
    for place in range(30):
        few = f"SELECT a + 1 AS a FROM ({few}) q{place}"
        many = f"SELECT a + a AS a FROM ({many}) q{place}"
    assert prepare(few, dialect).sql
    with pytest.raises(ToolFailure, match="name computed columns of subqueries fewer times"):
        prepare(many, dialect)


@pytest.mark.parametrize("name", ["JSON_KEYS", "json_overlaps"])
def test_functions_that_end_a_server_are_refused(name: str) -> None:
    """MariaDB 10.11.19 crashed over deeply nested texts in both."""
    with pytest.raises(ToolFailure, match="ends a MariaDB server") as failure:
        prepare(f"SELECT {name}(a, b) FROM t", "mysql")
    assert failure.value.code is ErrorCode.NOT_READ_ONLY


@pytest.mark.parametrize(
    ("pattern", "width"),
    [
        *(("[0-9]+", 1), ("a|bcd", 1), ("(ab|c)?x", 1), ("", 1), ("a*", 1), ("(?i)abc", 1), ("(?=abc)", 1)),
        *(("([0-9]{1,3}\\.){3}[0-9]{1,3}", 7), ("[0-9a-f]{8}-[0-9a-f]{4}", 13), ("((a|bb)c){2}", 4)),
        *(("[[:digit:]]{3}", 3), ("\\bfoo\\b", 3), ("[]x]y", 2), ("x{0,3}y", 1), (".*id=([0-9]+).*", 4)),
    ],
)
def test_a_match_is_at_least_as_long_as_its_pattern_says(pattern: str, width: int) -> None:
    """Counted by hand; one is the least."""
    assert Pattern(pattern).width == width


Measure = Callable[[str], int | None]
"""Returns the bytes of an expression's value, None: it has none."""


@pytest.fixture
def maria_length(mariadb_url: str) -> Iterator[Measure]:
    """What MariaDB makes."""
    with mysql_connection(mariadb_url) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET SESSION group_concat_max_len = {GROUP_CONCAT_MAX}, SESSION max_statement_time = 0.5")
        cursor.execute("CREATE TEMPORARY TABLE orders (id INT)")
        cursor.execute("INSERT INTO orders VALUES (1), (2), (3)")

        def measure(expression: str) -> int | None:
            with suppress(pymysql.MySQLError):
                cursor.execute(f"SELECT OCTET_LENGTH({expression})")
                return cursor.fetchall()[0][0]
            return None

        yield measure


@pytest.fixture
def postgres_length(postgres_url: str) -> Iterator[Measure]:
    """What PostgreSQL makes."""
    with postgres_connection(postgres_url) as connection:
        connection.execute("SET statement_timeout = 500")
        connection.execute("CREATE TEMPORARY TABLE orders AS SELECT id FROM generate_series(1, 3) id")

        def measure(expression: str) -> int | None:
            with suppress(psycopg.Error):
                return connection.execute(f"SELECT octet_length(({expression})::text)".encode()).fetchall()[0][0]
            return None

        yield measure


def reckoned(dialect: Dialect, measure: Measure) -> None:
    """Compare random texts of calls in calls with what was reckoned of them."""
    made = 0

    @given(data=st.data())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=not SOAK,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    def compare(data: st.DataObject) -> None:
        nonlocal made
        expression = Long(lambda end: data.draw(st.integers(0, end - 1)), dialect).making(3)
        try:
            prepare(f"SELECT {expression}", dialect)
        except ToolFailure:
            return
        length = measure(expression)
        if length is None:
            return
        made += 1
        rows, _ = Work(dialect).look(sqlglot.parse_one(f"SELECT {expression}", read=GRAMMARS[dialect]))
        assert length <= rows.whole().text.size

    compare()
    assert made > EXAMPLES / 3


def test_mariadb_makes_no_text_longer_than_was_reckoned(maria_length: Measure) -> None:
    """Over random calls in calls."""
    reckoned("mysql", maria_length)


def test_postgresql_makes_no_text_longer_than_was_reckoned(postgres_length: Measure) -> None:
    """Over random calls in calls."""
    reckoned("postgres", postgres_length)
