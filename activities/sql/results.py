"""What an agent gets from the SQL tools; field descriptions are written for the agent.

Above: the tools. Below: the log tools' `Result`. Optional fields that do not apply are left out, never null; within
rows null is NULL.
"""

from __future__ import annotations

from pydantic import ConfigDict, Field, JsonValue

from activities.logs.results import Result


class ResultColumn(Result):
    """A column of a result."""

    name: str
    type: str | None = Field(default=None, description="The server's name of the type; SQLite has none.")


class QueryResult(Result):
    """Result of `query_database`."""

    source: str
    server: str
    time_zone: str = Field(description="The session's; times with a zone are shown in it.")
    statement: str = Field(description="What was sent: the statement written anew, without comments.")
    statement_cut: bool | None = Field(default=None, description="True: it is longer than shown.")
    columns: list[ResultColumn] = Field(description="In the order of the cells; names may repeat.")
    columns_total: int | None = Field(default=None, description="Present where not all columns are shown.")
    rows: list[list[JsonValue]] = Field(
        description="Cells in the order of `columns`. Integers are exact; decimals, dates, times, JSON and arrays are "
        'text as the server writes them; NaN and infinities are text; bytes are {"hex", "bytes"} with "text" where '
        'they are readable; {"text", "characters", "cut": true} is the beginning of a long text; null is NULL.'
    )
    shown: int = Field(description="Number of `rows`.")
    fetched: int = Field(description="Number of rows read from the server.")
    more_rows: bool = Field(description="True: there are more rows than were fetched; aggregate, or narrow the WHERE.")
    truncated: bool = Field(description="True: fetched rows, cells or columns were left out because of their size.")


class ListedColumn(Result):
    """A column of a table."""

    name: str
    type: str
    nullable: bool
    key: str | None = Field(default=None, description="`primary`, `unique` or `index`.")
    default: str | None = None
    comment: str | None = None


class ListedIndex(Result):
    """An index of a table."""

    name: str
    columns: list[str] = Field(description="Columns or expressions, in order.")
    unique: bool


class ListedForeignKey(Result):
    """A foreign key of a table."""

    name: str | None = None
    columns: list[str]
    references: str = Field(description="The other table, with its schema.")
    referenced_columns: list[str]


class ListedTable(Result):
    """A table or view."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True)

    schema_name: str = Field(alias="schema")
    name: str
    kind: str = Field(description="`table`, `view` and the like.")
    rows: int | None = Field(default=None, description="About how many, by the server's statistics; absent: unknown.")
    comment: str | None = None
    columns: list[ListedColumn] | None = None
    indexes: list[ListedIndex] | None = None
    foreign_keys: list[ListedForeignKey] | None = None


class DescribeResult(Result):
    """Result of `describe_database`."""

    source: str
    description: str
    server: str
    tables: list[ListedTable] = Field(description="In order of schema and name.")
    tables_total: int = Field(description="Tables that match, shown or not.")
    shown: int
    next_offset: int | None = Field(default=None, description="`offset` of the next page; absent: there is none.")
    truncated: bool = Field(description="True: fewer tables than `limit` are shown because of their size.")
