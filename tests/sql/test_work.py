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
from tests.sql.statements_long import LATE, USUAL, nested
from tests.sql.support import mysql_connection, postgres_connection

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
EXAMPLES = int(os.environ.get("CASEBOUND_SOAK_EXAMPLES", "600")) * 10 if SOAK else 300
PATIENCE = pytest.mark.timeout(3 * 3600 if SOAK else 120)


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
    assert ("SUBSTR(x, 1, 500)" if dialect == "sqlite" else "LEFT(x, 500)") in failure.value.message


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


@pytest.mark.parametrize("dialect", ["mysql", "postgres"])
def test_what_is_computed_anew_for_each_it_stands_in_is_counted_so(dialect: Dialect) -> None:
    """19 NULLIF within each other compute the innermost 2^19 times on MariaDB; two of each are usual."""
    for statement in nested(dialect, 2):
        assert prepare(statement, dialect).sql
    for statement in nested(dialect, 19):
        with pytest.raises(ToolFailure, match=r"far beyond its time-out|nested too deeply"):
            prepare(statement, dialect)


@pytest.mark.parametrize("statement", ["SELECT (* XOR item) FROM orders", "SELECT (* + 1)", "SELECT CAST(* AS CHAR)"])
def test_what_only_a_parser_takes_is_left_to_the_server(statement: str) -> None:
    """A tree with a part missing costs what the rest costs; the server says what is wrong."""
    assert prepare(statement, "mysql").sql


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


@PATIENCE
def test_mariadb_makes_no_text_longer_than_was_reckoned(maria_length: Measure) -> None:
    """Over random calls in calls."""
    reckoned("mysql", maria_length)


@PATIENCE
def test_postgresql_makes_no_text_longer_than_was_reckoned(postgres_length: Measure) -> None:
    """Over random calls in calls."""
    reckoned("postgres", postgres_length)
