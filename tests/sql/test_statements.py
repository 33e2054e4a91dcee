"""What is sent and what is refused, by the statement's text alone: nothing here has a connection."""

from __future__ import annotations

from itertools import product

import pytest

from activities.sql.lexing import Dialect
from activities.sql.statements import prepare
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure
from tests.sql.statements import allowed, refused
from tests.sql.support import unconnected

DIALECTS: tuple[Dialect, ...] = ("mysql", "postgres", "sqlite")


@pytest.mark.parametrize(
    ("dialect", "statement"), [(dialect, text) for dialect in DIALECTS for text in allowed(dialect)]
)
def test_a_statement_that_only_reads_is_taken(dialect: Dialect, statement: str) -> None:
    """Whatever its literals, names and comments look like; and what is sent of it is taken as well."""
    error = unconnected(dialect).check("query_database", source="db", sql=statement)
    assert error is None
    sent = prepare(statement, dialect).sql
    assert prepare(sent, dialect).sql == sent


@pytest.mark.parametrize(
    ("dialect", "statement"), [(dialect, text) for dialect in DIALECTS for text in refused(dialect)]
)
def test_a_statement_that_may_do_more_is_refused_with_a_reason(dialect: Dialect, statement: str) -> None:
    """Before any connection, and the reason holds nothing of the source's address."""
    error = unconnected(dialect).check("query_database", source="db", sql=statement)
    assert error is not None
    assert error.code in (ErrorCode.NOT_READ_ONLY, ErrorCode.INVALID_ARGUMENTS)
    assert error.message
    assert not any(secret in error.message for secret in ("hidden-pass", "db.invalid", "nowhere"))


@pytest.mark.parametrize(
    ("statement", "instead"),
    [
        ("SELECT 1 /*!50000 INTO OUTFILE '/x' */", "without them"),
        ("/*!50000 DROP TABLE t */", "without them"),
        ("SELECT 1 INTO/**/OUTFILE '/x'", "the rows are the result"),
        ("LOAD/**/DATA INFILE 'x' INTO TABLE t", "only SELECT, WITH"),
        ("-- hello\nINSERT INTO t VALUES (1)", "only SELECT, WITH"),
        ("SELECT * FROM t FOR UPDATE", "read without them"),
        ("SELECT SLEEP(600)", "leave it out"),
        ("SELECT GET_LOCK('a', 1)", "leave it out"),
        ("SELECT @a := 1", "use a subquery or a window function"),
        ("EXPLAIN ANALYZE SELECT 1", "use EXPLAIN without ANALYZE"),
        ("SELECT 1; SELECT 2", "with a call of its own"),
        ("SELECT * FROM mysql.user", "credentials"),
    ],
)
def test_a_refusal_says_what_to_write_instead(statement: str, instead: str) -> None:
    """The field's cases: comments that run, comments as blanks, SELECTs that write, wait or lock."""
    error = unconnected("mysql").check("query_database", source="db", sql=statement)
    assert error is not None
    assert error.code is ErrorCode.NOT_READ_ONLY
    assert instead in error.message


def test_a_credential_table_is_refused_in_the_database_of_the_connection() -> None:
    """`user` alone is `mysql.user` on a connection to `mysql`; not elsewhere, nor as a query's name."""
    assert prepare("SELECT * FROM user", "mysql", "shop").sql == "SELECT * FROM user"
    assert prepare("WITH user AS (SELECT 1) SELECT * FROM user", "mysql", "mysql").sql
    with pytest.raises(ToolFailure, match="credentials"):
        prepare("SELECT * FROM user", "mysql", "mysql")


@pytest.mark.parametrize(
    ("statement", "sent"),
    [
        ("SELECT a FROM t", "SELECT a FROM t LIMIT 11"),
        ("SELECT a FROM t LIMIT 3", "SELECT a FROM t LIMIT 3"),
        ("SELECT a FROM t LIMIT 5000", "SELECT a FROM t LIMIT 11"),
        ("SELECT a FROM t ORDER BY a LIMIT 5000 OFFSET 7", "SELECT a FROM t ORDER BY a LIMIT 11 OFFSET 7"),
        ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a LIMIT 11"),
        ("SELECT 1 UNION SELECT 2 ORDER BY 1", "SELECT 1 UNION SELECT 2 ORDER BY 1 LIMIT 11"),
        ("(SELECT 1) UNION (SELECT 2 LIMIT 50)", "(SELECT 1) UNION (SELECT 2 LIMIT 50) LIMIT 11"),
        ("SELECT * FROM (SELECT a FROM t LIMIT 99) x", "SELECT * FROM (SELECT a FROM t LIMIT 99) AS x LIMIT 11"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x LIMIT 11"),
        ("TABLE t", "SELECT * FROM t LIMIT 11"),
        ("((SELECT 1))", "SELECT 1 LIMIT 11"),
        ("SELECT /* x */ a -- y\n FROM t", "SELECT a FROM t LIMIT 11"),
        ("SHOW TABLES", "SHOW TABLES"),
        ("EXPLAIN SELECT 1", "EXPLAIN SELECT 1"),
    ],
)
def test_the_row_cap_is_written_without_changing_order_or_a_smaller_limit(statement: str, sent: str) -> None:
    """What is sent has no comments, and at most the cap's rows where that can be written."""
    assert prepare(statement, "mysql", None, 11).sql == sent


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT " + "(" * 200 + "1" + ")" * 200,
        "SELECT " + "NOT " * 3000 + "1",
        "SELECT " + "- " * 7000 + "1",
        "SELECT " + "CASE WHEN 1 THEN " * 500 + "1" + " END" * 500,
        "SELECT " + "(SELECT " * 39 + "1" + ")" * 39 + " + (" * 200,
        "SELECT '" + "a" * 20_000 + "'",
        "SELECT " + "é" * 9000,
    ],
)
def test_deep_and_long_statements_are_refused(statement: str) -> None:
    """By what is wrong with them, not by a failure of the reader."""
    for dialect in DIALECTS:
        with pytest.raises(ToolFailure, match=r"nested|bytes"):
            prepare(statement, dialect)


def test_a_long_flat_statement_is_taken() -> None:
    """Its size alone is no reason."""
    names = ", ".join(f"'{number:06d}'" for number in range(1500))
    assert prepare(f"SELECT * FROM t WHERE id IN ({names})", "mysql").sql.count("'") == 3000


@pytest.mark.parametrize("statement", ["", "  ", "-- only a comment", ";", "/* */ ; --"])
def test_a_text_without_statement_is_refused(statement: str) -> None:
    """Nothing is sent."""
    with pytest.raises(ToolFailure, match="empty"):
        prepare(statement, "postgres")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("SELECT 'abc", "no end"),
        ('SELECT "abc', "no end"),
        ("SELECT 1 /* abc", "no end"),
        ("SELECT\u00a01", "U\\+00A0"),
        ("SELECT \u201cname\u201d", "U\\+201C"),
        ("SELECT 1\x00", "NUL"),
        ("SELECT 1abc", "blank"),
        ("SELECT FROM WHERE", "cannot be read"),
    ],
)
def test_a_text_that_is_no_sql_is_told_what_is_wrong(statement: str, why: str) -> None:
    """An agent can correct it."""
    for dialect in DIALECTS:
        with pytest.raises(ToolFailure, match=why) as caught:
            prepare(statement, dialect)
        assert caught.value.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(("before", "after"), list(product(["'a' ", "", '"x" ', "1 "], ["", " 'b'", " -- c"])))
def test_an_executable_comment_is_found_wherever_it_stands(before: str, after: str) -> None:
    """And only there: the same text within a literal or a plain comment is no comment."""
    with pytest.raises(ToolFailure, match="executable"):
        prepare(f"SELECT {before}/*! + 1 */{after}", "mysql")
    assert prepare(f"SELECT '/*! + 1 */', 1 /* ! {after.replace('*', '')} */", "mysql").sql == "SELECT '/*! + 1 */', 1"
