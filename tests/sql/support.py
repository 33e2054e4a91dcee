"""What the SQL tests share: tools over databases of their own, run as the boundary runs them."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
from jsonschema import Draft202012Validator

from activities.sql import SqlSource, sql_tools
from activities.sql.lexing import Dialect
from boundary.contracts import CallError, JsonObject
from boundary.tools import Projection, StopFlag, Tool, ToolContext

BUDGET = 24 * 1024


@dataclass(frozen=True)
class Sql:
    """The tools over some sources."""

    tools: dict[str, Tool]

    def check(self, tool: str, **arguments: Any) -> CallError | None:
        """Ask the tool to check arguments."""
        return self.tools[tool].check(arguments)

    def raw(self, tool: str, *, stop: StopFlag | None = None, max_raw_bytes: int = 8 << 20, **arguments: Any) -> Any:
        """Execute and return the raw response, which is JSON."""
        assert self.tools[tool].check(arguments) is None
        context = ToolContext(stop=stop or threading.Event(), max_raw_bytes=max_raw_bytes)
        raw = self.tools[tool].execute(arguments, context)
        assert len(json.dumps(raw, allow_nan=False)) <= max_raw_bytes
        return raw

    def project(self, tool: str, *, budget: int = BUDGET, **arguments: Any) -> Projection:
        """Execute and project; the result always fits the tool's own result schema and the budget."""
        stop, most = arguments.pop("stop", None), arguments.pop("max_raw_bytes", 8 << 20)
        raw = self.raw(tool, stop=stop, max_raw_bytes=most, **arguments)
        projection = self.tools[tool].project(arguments, raw, budget)
        Draft202012Validator(self.tools[tool].definition.result_schema).validate(projection.agent_result)
        assert len(json.dumps(projection.agent_result, ensure_ascii=False, separators=(",", ":")).encode()) <= budget
        return projection

    def query(self, sql: str, **arguments: Any) -> JsonObject:
        """Result of `query_database` on the source `db`."""
        return self.project("query_database", source="db", sql=sql, **arguments).agent_result

    def rows(self, sql: str, **arguments: Any) -> list[list[Any]]:
        """Rows of `query_database` on the source `db`."""
        return self.query(sql, **arguments)["rows"]

    def describe(self, **arguments: Any) -> JsonObject:
        """Result of `describe_database` on the source `db`."""
        return self.project("describe_database", source="db", **arguments).agent_result


def sql(url: str, **declared: Any) -> Sql:
    """Make the tools over one source `db`."""
    return over(SqlSource.model_validate({"name": "db", "url": url, **declared}))


def over(*sources: SqlSource) -> Sql:
    """Make the tools."""
    return Sql({tool.definition.name: tool for tool in sql_tools(sources)})


def unconnected(dialect: Dialect) -> Sql:
    """Make tools over a server that is not there, for what needs none."""
    urls = {
        "mysql": "mysql://reader:hidden-pass@db.invalid/shop",
        "postgres": "postgresql://reader:hidden-pass@db.invalid/shop",
        "sqlite": "sqlite:////nowhere/shop.db",
    }
    return sql(urls[dialect])


def own_name() -> str:
    """A name for a database or schema that no other test has."""
    return f"sql_{uuid.uuid4().hex[:10]}"


def mysql_connection(url: str, database: str | None = None) -> pymysql.Connection[Any]:
    """Connect as the test's own account, to make and look at things."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname or "",
        port=parts.port or 3306,
        user=parts.username or "",
        password=(parts.password or "").encode(),
        database=database or parts.path[1:],
        autocommit=True,
    )


def mysql_rows(connection: pymysql.Connection[Any], sql: str) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def postgres_connection(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect as the test's own account, to make and look at things."""
    return psycopg.connect(url, autocommit=True)


def with_account(url: str, user: str, password: str, database: str | None = None) -> str:
    """Write a server's URL for another account."""
    parts = urlsplit(url)
    name = parts.path if database is None else f"/{database}"
    return f"{parts.scheme}://{user}:{password}@{parts.hostname}:{parts.port}{name}"
