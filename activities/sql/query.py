"""`query_database`: the rows of one statement that only reads.

Above: the boundary executes and projects it. Below: `statements` (what is sent), `sessions` (how).
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.logs.cutting import fitting, json_size
from activities.logs.results import as_json
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import read_request
from activities.sql.asking import TIMEOUT_MS, checked, known
from activities.sql.cells import shown_cell
from activities.sql.requests import QueryRequest
from activities.sql.results import QueryResult, ResultColumn
from activities.sql.session import Rows
from activities.sql.sessions import open_session
from activities.sql.source import SqlSource
from activities.sql.statements import prepare
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue, shorten
from boundary.tools import Projection, ToolContext, ToolDefinition

DESCRIPTION = (
    "Run one read-only SQL statement on a database source and get its rows with exact values. Statements that write, "
    "lock, wait, or call functions that are not known only to compute are refused with what to write instead. See "
    "describe_database for names; aggregate in SQL rather than fetching many rows."
)
STATEMENT_SHOWN_MAX = 2000
"""Characters of the sent statement that are shown."""

NAME_SHOWN_MAX = 256
"""Characters of a column's name; an expression without alias may be called by its whole text."""

_CELL_LIMITS = (20_000, 4000, 1000, 200, 40)
_FRAME_BYTES = 1024
"""Of the raw response, beside columns and rows."""


class QueryDatabase:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[SqlSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="query_database",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(QueryRequest, list(self._sources)),
            result_schema=result_schema(QueryResult),
            timeout_ms=TIMEOUT_MS,
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse statements that do not only read, by their syntax tree."""
        return checked(lambda: self._compile(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Run the statement; the result holds rows up to `max_rows`, as far as `max_raw_bytes` allows.

        Raises:
            ToolFailure: the database could not be looked at.
        """
        request, source, sql = self._compile(arguments)
        context.progress("connecting")
        with open_session(source) as session:
            room = context.max_raw_bytes - _FRAME_BYTES - 2 * len(sql.encode())
            found = session.run(sql, request.max_rows, room * 3 // 4, context)
            return _result(source, session.server, sql, found)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show all rows with cells as long as fit, or else as many whole rows as fit."""
        result: JsonObject = {**raw, "rows": [], "shown": 0}
        if len(result["statement"]) > budget_bytes // 16:
            result.update({"statement": shorten(result["statement"], budget_bytes // 16), "statement_cut": True})
        width = _fit_columns(result, budget_bytes)
        room = budget_bytes - json_size({**result, "shown": raw["fetched"], "truncated": False})
        rows: list[JsonValue] = []
        for limit in _CELL_LIMITS:
            rows = [[shown_cell(cell, limit) for cell in row[:width]] for row in raw["rows"]]
            shown = fitting(rows, room)
            if shown == len(rows) or (shown and limit <= _CELL_LIMITS[1]):
                break
        rows = rows[: fitting(rows, room)]
        cut = rows != raw["rows"] or "columns_total" in result
        result.update({"rows": rows, "shown": len(rows), "truncated": bool(raw["truncated"] or cut)})
        status = EvidenceStatus.EVIDENCE_FOUND if raw["fetched"] or raw["more_rows"] else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["truncated"])

    def _compile(self, arguments: JsonObject) -> tuple[QueryRequest, SqlSource, str]:
        request = read_request(QueryRequest, arguments)
        source = known(self._sources, request.source)
        schema = source.address.database if source.dialect == "mysql" else None
        return request, source, prepare(request.sql, source.dialect, schema, request.max_rows + 1).sql


def _result(source: SqlSource, server: str, sql: str, found: Rows) -> JsonObject:
    result = as_json(
        QueryResult(
            source=source.name,
            server=server,
            time_zone="UTC",
            statement=sql[:STATEMENT_SHOWN_MAX],
            statement_cut=True if len(sql) > STATEMENT_SHOWN_MAX else None,
            columns=[
                ResultColumn(name=shorten(column.name, NAME_SHOWN_MAX), type=column.type) for column in found.columns
            ],
            rows=[],
            shown=len(found.rows),
            fetched=len(found.rows),
            more_rows=found.more_rows,
            truncated=found.cut_by_size,
        )
    )
    # Not through the model: cells are JSON already, and null in them means NULL.
    return {**result, "rows": found.rows}


def _fit_columns(result: JsonObject, budget: int) -> int:
    """Leave out the last columns of a result too wide for half the budget; return how many stay."""
    columns: list[JsonValue] = result["columns"]
    width = fitting(columns, budget // 2 - json_size({**result, "columns": [], "columns_total": len(columns)}))
    if width < len(columns):
        result.update({"columns": columns[:width], "columns_total": len(columns)})
    return width
