"""Judges a query by its syntax tree and writes it anew from that tree.

Above: `statements`. Below: `grammars` (sqlglot); `nodes` and `functions`, the lists of what is allowed; `work`, which
refuses what may take a server too long. Nothing is sent that was not written here, and what is written is read and
judged once more before it is.
"""

from __future__ import annotations

import re
from typing import Any, cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError

from activities.sql.functions import ALLOWED, CRASHING, CREDENTIAL_TABLES
from activities.sql.grammars import GRAMMARS
from activities.sql.lexing import Dialect, normal_text, tokens
from activities.sql.nodes import ALLOWED_NODES, REASONS, ROOTS
from activities.sql.refusals import not_read_only, not_understood
from activities.sql.work import Work
from boundary.contracts import shorten

_TEXT = re.compile(r"[\w .$*+/:,()\[\]-]*")
"""What a part of a node may be that is neither a literal nor a name, such as a join's kind."""

_ROUNDS = 3

_LOCAL_VARIABLES = frozenset({"GLOBAL", "SESSION", "LOCAL"})


class Query:
    """An allowed query; `sql` is what to send."""

    def __init__(self, text: str, dialect: Dialect, schema: str | None, cap: int | None = None) -> None:
        """Read and judge the normal text of one query, its rows limited to `cap`.

        Raises:
            ToolFailure: NOT_READ_ONLY with what to write instead, or INVALID_ARGUMENTS where it cannot be read.
        """
        try:
            tree = _judged(text, dialect, schema)
            if cap is not None:
                _limit(tree, cap)
            self.sql = _settled(_written(tree, dialect), dialect, schema)
        except RecursionError:
            raise not_understood("the statement is nested too deeply: write it flatter") from None


def _settled(text: str, dialect: Dialect, schema: str | None) -> str:
    """Read and judge what was written until it is written the same; that is what is sent."""
    for _ in range(_ROUNDS):
        again = _written(_judged(normal_text(tokens(text, dialect, bounded=False), dialect), dialect, schema), dialect)
        if again == text:
            return text
        text = again
    raise not_understood("the statement does not read the same when it is written anew: write it plainer")


def _judged(text: str, dialect: Dialect, schema: str | None) -> exp.Expr:
    try:
        trees = sqlglot.parse(text, read=GRAMMARS[dialect], error_level=ErrorLevel.IMMEDIATE)
    except SqlglotError as error:
        raise _unreadable(error, text) from None
    if len(trees) != 1 or trees[0] is None:
        raise not_read_only("more than one statement is refused: ask for each with a call of its own")
    tree = trees[0]
    while isinstance(tree, exp.Subquery) and set(_filled(tree)) == {"this"}:
        tree = tree.this
    if type(tree).__name__ not in ROOTS:
        raise _refused(tree)
    names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for node in tree.walk():
        _judge(node, dialect, schema, names)
    Work(dialect).check(tree)
    return tree


def _written(tree: exp.Expr, dialect: Dialect) -> str:
    """Write the tree; what the dialect has no words for would be left out, and the answer be another one."""
    grammar, strict = GRAMMARS[dialect], ErrorLevel.RAISE
    try:
        return tree.sql(dialect=grammar, comments=False, normalize_functions=False, unsupported_level=strict)
    except UnsupportedError as error:
        raise not_understood(f"the statement cannot be written for this server: {shorten(str(error), 200)}") from None


def _judge(node: exp.Expr, dialect: Dialect, schema: str | None, ctes: set[str]) -> None:
    if type(node).__name__ not in ALLOWED_NODES:
        raise _refused(node)
    if isinstance(node, exp.Anonymous):
        _judge_call(node, dialect)
    elif isinstance(node, exp.Table):
        _judge_table(node, dialect, schema, ctes)
    elif isinstance(node, exp.SessionParameter):
        _judge_variable(node)
    if isinstance(node, (exp.Literal, exp.Identifier, exp.National)):
        return
    for value in _filled(node).values():
        for part in cast("list[Any]", value if isinstance(value, list) else [value]):
            if isinstance(part, str) and not _TEXT.fullmatch(part):
                raise not_understood(f"{shorten(part, 40)!r} is not read here: write it plainer")


def _judge_call(node: exp.Anonymous, dialect: Dialect) -> None:
    name = node.name
    if isinstance(node.parent, exp.Dot):
        raise not_read_only(f"{shorten(name, 60)!r} is called with a schema: only plain built-in functions are allowed")
    if dialect == "mysql" and name.lower() in CRASHING:
        raise not_read_only(CRASHING[name.lower()])
    if name.lower() not in ALLOWED[dialect]:
        raise not_read_only(
            f"the function {shorten(name, 60)!r} is not on the list of functions that only compute: "
            "leave it out, or read the table's columns and compute from them"
        )


def _judge_table(node: exp.Table, dialect: Dialect, schema: str | None, ctes: set[str]) -> None:
    name, place = node.name.lower(), (node.db or "").lower()
    if not place and name in ctes:
        return
    if dialect == "sqlite" and name.startswith("pragma_") and name not in ALLOWED[dialect]:
        raise not_read_only(f"{name!r} is refused: only the pragmas that describe tables and indexes are read here")
    if not place:
        place = "pg_catalog" if dialect == "postgres" else (schema or "").lower()
    if (place, name) in CREDENTIAL_TABLES[dialect]:
        raise not_read_only(f"the table {name!r} holds credentials and is not read here")


def _judge_variable(node: exp.SessionParameter) -> None:
    kind = node.args.get("kind")
    if kind is not None and str(kind).upper() not in _LOCAL_VARIABLES:
        raise not_read_only("write a variable as @@name, @@session.name or @@global.name")


def _limit(tree: exp.Expr, cap: int) -> None:
    """Limit the rows where that changes nothing else; a smaller or computed limit stays, reading stops at the cap."""
    if isinstance(tree, exp.Values):
        return
    limit = tree.args.get("limit")
    if isinstance(limit, exp.Limit):
        count = limit.expression
        if not (isinstance(count, exp.Literal) and count.name.isdigit() and int(count.name) > cap):
            return
        limit.set("expression", exp.Literal.number(cap))
    elif limit is None:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(cap)))


def _filled(node: exp.Expr) -> dict[str, Any]:
    return {name: value for name, value in node.args.items() if value not in (None, [], False)}


def _refused(node: exp.Expr) -> Exception:
    kind = type(node).__name__
    reason = REASONS.get(kind)
    if reason is None and isinstance(node, (exp.DDL, exp.Insert, exp.Update, exp.Delete)):
        reason = f"{kind.upper()} is refused: this tool only reads; use SELECT"
    return not_read_only(
        reason or f"{kind} is not among the parts of a statement that are known only to read; leave it out"
    )


def _unreadable(error: SqlglotError, text: str) -> Exception:
    upper = text.upper()
    if re.search(r"\bINTO\s+(OUTFILE|DUMPFILE)\b", upper):
        return not_read_only("INTO OUTFILE and INTO DUMPFILE are refused: leave them out, the rows are the result")
    if re.search(r"\bNEXT\s+VALUE\s+FOR\b", upper):
        return not_read_only(REASONS["NextValueFor"])
    details = cast("list[dict[str, Any]]", getattr(error, "errors", None) or [{}])
    near, what = details[0].get("highlight"), details[0].get("description")
    place = f" near {shorten(str(near), 60)!r}" if near else ""
    return not_understood(f"the statement cannot be read{place}: {what or 'check its syntax'}")
