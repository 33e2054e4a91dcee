"""`describe_database`: tables with their columns, indexes and foreign keys.

Above: the boundary executes and projects it. Below: `catalogs`, which asks each kind of server.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from activities.logs.cutting import fitting, json_size
from activities.logs.results import as_json
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import read_request
from activities.sql.asking import TIMEOUT_MS, checked, known
from activities.sql.catalogs import CATALOGS
from activities.sql.requests import DescribeRequest
from activities.sql.results import DescribeResult, ListedTable
from activities.sql.session import Watched
from activities.sql.sessions import open_session
from activities.sql.source import SqlSource
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition

DESCRIPTION = (
    "List a database's tables and views with columns, keys, indexes, foreign keys, comments and about how many rows "
    "each has. Start here before query_database; with many tables ask for detail `names` first."
)


class DescribeDatabase:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[SqlSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="describe_database",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(DescribeRequest, list(self._sources)),
            result_schema=result_schema(DescribeResult),
            timeout_ms=TIMEOUT_MS,
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse a source that is not declared."""
        return checked(lambda: self._compile(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Ask the server's catalog.

        Raises:
            ToolFailure: the database could not be looked at.
        """
        request, source = self._compile(arguments)
        context.progress("connecting")
        with open_session(source) as session:
            catalog = CATALOGS[source.dialect](Watched(session, context))
            matching = [table for table in catalog.tables(request.schema_name) if _matches(table, request.table)]
            matching.sort(key=lambda table: (table.schema_name, table.name))
            page = matching[request.offset : request.offset + request.limit]
            if request.detail == "full" and page:
                page = catalog.detailed(page)
            result = as_json(
                DescribeResult(
                    source=source.name,
                    description=source.description,
                    server=session.server,
                    tables=[],
                    tables_total=len(matching),
                    shown=0,
                    truncated=False,
                )
            )
        return _shown(result, [as_json(table) for table in page], context.max_raw_bytes, request.offset)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show as many whole tables as fit; a first table that is too large alone, without what makes it so."""
        offset = read_request(DescribeRequest, arguments).offset
        result = _shown(dict(raw), raw["tables"], budget_bytes, offset)
        if raw["tables"] and not result["shown"]:
            result = _first_only(raw, budget_bytes, offset)
        status = EvidenceStatus.EVIDENCE_FOUND if raw["tables"] else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["truncated"])

    def _compile(self, arguments: JsonObject) -> tuple[DescribeRequest, SqlSource]:
        request = read_request(DescribeRequest, arguments)
        return request, known(self._sources, request.source)


def _matches(table: ListedTable, pattern: str | None) -> bool:
    if pattern is None:
        return True
    # Only * is special: fnmatch's own ? and [ may be part of a name.
    escaped = "".join(f"[{character}]" if character in "?[" else character for character in pattern.lower())
    return fnmatch.fnmatchcase(table.name.lower(), escaped)


def _shown(result: JsonObject, tables: list[JsonObject], room: int, offset: int) -> JsonObject:
    """Put as many tables into the result as fit, and say how many that are."""
    longest: JsonObject = {"tables": [], "shown": len(tables), "next_offset": offset + len(tables), "truncated": False}
    shown = fitting(list(tables), room - json_size({**result, **longest}))
    result.update({"tables": tables[:shown], "shown": shown, "truncated": result["truncated"] or shown < len(tables)})
    result.pop("next_offset", None)
    if shown and offset + shown < result["tables_total"]:
        result["next_offset"] = offset + shown
    return result


def _first_only(raw: JsonObject, room: int, offset: int) -> JsonObject:
    """Show the first table with its indexes and as many columns as fit, or its name alone."""
    table: JsonObject = raw["tables"][0]
    for left_out in (("comment", "foreign_keys"), ("comment", "foreign_keys", "indexes")):
        lean = {name: value for name, value in table.items() if name not in left_out}
        frame = json_size({**raw, "tables": [{**lean, "columns": []}], "next_offset": offset + 1}) + 16
        columns = lean.get("columns", [])
        fit = fitting(list(columns), room - frame)
        if fit:
            result = _shown(dict(raw), [{**lean, "columns": columns[:fit]}], room, offset)
            return {**result, "truncated": True}
    names = {name: table[name] for name in ("schema", "name", "kind")}
    return {**_shown(dict(raw), [names], room, offset), "truncated": True}
