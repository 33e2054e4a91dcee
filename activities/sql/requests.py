"""What an agent may ask of the SQL tools; field descriptions are written for the agent.

Above: the tools read their arguments with these. Below: the log tools' `Request`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from activities.logs.requests import Request
from activities.sql.lexing import STATEMENT_MAX

ROWS_MAX = 1000
TABLES_MAX = 200


class DescribeRequest(Request):
    """Arguments of `describe_database`."""

    source: str = Field(description="Name of the database source.")
    schema_name: str | None = Field(
        default=None,
        alias="schema",
        min_length=1,
        max_length=128,
        description="Only this schema (MySQL: database). Left out: MySQL the source's own database, else all but the "
        "server's own schemas.",
    )
    table: str | None = Field(
        default=None,
        min_length=1,
        max_length=128,
        description="Only tables of this name; * stands for any characters, and case does not matter.",
    )
    detail: Literal["full", "names"] = Field(
        default="full",
        description="`full`: columns, indexes and foreign keys, too; `names`: only name, kind, rows and comment, for "
        "many tables.",
    )
    limit: int = Field(default=50, ge=1, le=TABLES_MAX, description="Most tables to return.")
    offset: int = Field(default=0, ge=0, le=100_000, description="Tables to skip, for paging.")


class QueryRequest(Request):
    """Arguments of `query_database`."""

    source: str = Field(description="Name of the database source.")
    sql: str = Field(
        min_length=1,
        max_length=STATEMENT_MAX,
        description="One statement that only reads: SELECT, WITH ... SELECT, VALUES, TABLE, EXPLAIN SELECT, SHOW, "
        "DESCRIBE. Write values into it, there are no parameters. Give columns different names, and ORDER BY what must "
        "come first.",
    )
    max_rows: int = Field(default=100, ge=1, le=ROWS_MAX, description="Most rows to return.")
