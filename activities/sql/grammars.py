"""sqlglot's dialects, held to what is read here: a function keeps its name, a type and an operator their spelling.

Above: `trees`. Below: sqlglot, whose own dialects know hundreds of functions and write many of them as another one;
here each is a call with a name that `functions` allows or does not, and the server gets the call that was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.generator import Generator
from sqlglot.parser import Parser as SqlglotParser

from activities.sql.lexing import Dialect

_SPECIAL = ("CAST", "CONVERT", "EXTRACT", "MATCH", "OVERLAY", "POSITION", "SUBSTRING", "TRIM", "XMLTABLE")
"""Calls whose arguments are more than a list."""


def _binary(operator: str) -> Callable[[Generator, exp.Binary], str]:
    return lambda self, node: self.binary(node, operator)


def _json_extract(self: Generator, node: exp.Expr) -> str:
    path = f"JSON_EXTRACT({self.sql(node, 'this')}, {self.sql(node, 'expression')})"
    return f"JSON_UNQUOTE({path})" if isinstance(node, exp.JSONExtractScalar) else path


def _kept(parsers: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: parser for name, parser in parsers.items() if name in (*_SPECIAL, *names)}


class _Calls(SqlglotParser):
    """Takes `date(` and `array[` for a type only where it can be one: trying both doubles with each nested call."""

    def _parse_types(self, check_func: bool = False, *args: Any, **keywords: Any) -> exp.Expr | None:
        if check_func and self._is_no_type():
            return None
        return super()._parse_types(check_func, *args, **keywords)

    def _is_no_type(self) -> bool:
        """Tell whether the next word has a bracket after it that holds more than sizes."""
        opening = (TokenType.L_PAREN, TokenType.L_BRACKET)
        if not self._next or self._next.token_type not in opening:
            return False
        for place in range(self._index + 2, len(self._tokens)):
            kind = self._tokens[place].token_type
            if kind not in (TokenType.NUMBER, TokenType.COMMA):
                return kind not in (TokenType.R_PAREN, TokenType.R_BRACKET)
        return True


class CaseboundMySQL(MySQL):
    """What MariaDB and MySQL both read: REGEXP and JSON_EXTRACT rather than REGEXP_LIKE and ->."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Leave the right side of `->` as it is: servers differ on what is a path and what a key."""
        return path

    class Parser(_Calls, MySQL.Parser):
        """Reads calls as calls."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _kept(
            cast("dict[str, Any]", MySQL.Parser.FUNCTION_PARSERS),
            "CHAR",
            "GROUP_CONCAT",
            "JSON_TABLE",
            "SUBSTR",
            "VALUES",
        )

    class Generator(MySQL.Generator):
        """Writes them as they were."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **MySQL.Generator.TRANSFORMS,
            exp.RegexpLike: _binary("REGEXP"),
            exp.JSONExtract: _json_extract,
            exp.JSONExtractScalar: _json_extract,
        }

        def identifier_sql(self, expression: exp.Identifier) -> str:
            """Leave DUAL, which is no table, without quotes."""
            if expression.this.upper() == "DUAL" and not expression.args.get("quoted"):
                return "DUAL"
            return super().identifier_sql(expression)


class CaseboundPostgres(Postgres):
    """PostgreSQL; a subscript stays as it is, since to move it by one is to look at the whole array each time."""

    INDEX_OFFSET = 0

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Leave the right side of `->` as it is: servers differ on what is a path and what a key."""
        return path

    class Parser(_Calls, Postgres.Parser):
        """Reads calls as calls."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _kept(cast("dict[str, Any]", Postgres.Parser.FUNCTION_PARSERS))


class CaseboundSQLite(SQLite):
    """SQLite, whose types are affinities: NUMERIC stays NUMERIC."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Leave the right side of `->` as it is: servers differ on what is a path and what a key."""
        return path

    class Parser(_Calls, SQLite.Parser):
        """Reads calls as calls."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = _kept(cast("dict[str, Any]", SQLite.Parser.FUNCTION_PARSERS))

    class Generator(SQLite.Generator):
        """Writes them as they were."""

        TYPE_MAPPING: ClassVar[dict[Any, str]] = {
            **SQLite.Generator.TYPE_MAPPING,
            exp.DataType.Type.DECIMAL: "NUMERIC",
        }


GRAMMARS: dict[Dialect, type[SqlglotDialect]] = {
    "mysql": CaseboundMySQL,
    "postgres": CaseboundPostgres,
    "sqlite": CaseboundSQLite,
}
