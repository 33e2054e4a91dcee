"""`search_logs`: the lines that match, in order of time, with exact totals.

Above: the boundary executes and projects it. Below: `selection`, `scan`, `page`.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.logs.cutting import fitting, json_size, shorten_edges, shortened
from activities.logs.edges import Edges
from activities.logs.page import Page
from activities.logs.requests import SearchRequest
from activities.logs.results import SearchResult, as_json
from activities.logs.scan import TIMEOUT_MS, Scan
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import Selection, checked, compile_selection, known, read_request
from activities.logs.source import LogSource
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition

DESCRIPTION = (
    "Search a log for lines by pattern or literal text within a window of time. Returns the exact number of matching "
    "lines, the first and the last of them by time, and one page of lines with file, line number and UTC time. "
    "To count by address, user or hour use count_logs instead of paging."
)


class SearchLogs:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[LogSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="search_logs",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(SearchRequest, list(self._sources)),
            result_schema=result_schema(SearchResult),
            timeout_ms=TIMEOUT_MS,
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse patterns RE2 does not take, times that are none, an empty window."""
        return checked(lambda: self._compile(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Search; the result holds the page of lines, as far as `max_raw_bytes` allows.

        Raises:
            ToolFailure: the log could not be looked at.
        """
        request, selection = self._compile(arguments)
        scan = Scan(selection, context, neighbours=request.context)
        page = Page(
            newest=request.order == "newest", offset=request.offset, limit=request.limit, context=request.context
        )
        edges = Edges()
        for file, block, hits in scan.blocks():
            page.enter(file, block)
            for hit in hits:
                edges.see(file, block, hit)
                page.add(file, block, hit)
            page.leave(block)
        return _result(request, selection, scan, edges, page, context.max_raw_bytes)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Shorten overlong lines, then show as many whole lines as fit."""
        lines = [shortened(line) for line in raw["lines"]]
        result: JsonObject = {**raw, "lines": []}
        shorten_edges(result, budget_bytes)
        _show(result, lines, budget_bytes, offset=read_request(SearchRequest, arguments).offset)
        status = EvidenceStatus.EVIDENCE_FOUND if result["matched"] else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["shown"] < len(lines))

    def _compile(self, arguments: JsonObject) -> tuple[SearchRequest, Selection]:
        request = read_request(SearchRequest, arguments)
        return request, compile_selection(request, known(self._sources, request.source))


def _result(
    request: SearchRequest, selection: Selection, scan: Scan, edges: Edges, page: Page, max_bytes: int
) -> JsonObject:
    lines = [as_json(line) for line in page.lines(scan.places)]
    first, last = edges.lines(scan.places)
    result = as_json(
        SearchResult(
            source=request.source,
            window=selection.window(),
            looked_at=scan.looked_at(),
            matched=scan.matched,
            occurrences=scan.occurrences if selection.source.repeated is not None else None,
            first=first,
            last=last,
            shown=0,
            truncated=False,
            lines=[],
        )
    )
    _show(result, lines, max_bytes, offset=request.offset)
    return result


def _show(result: JsonObject, lines: list[JsonObject], room: int, *, offset: int) -> None:
    """Put as many lines into the result as fit, and say how many that are."""
    longest: JsonObject = {"shown": len(lines), "next_offset": offset + len(lines), "truncated": False, "lines": []}
    shown = fitting(lines, room - json_size({**result, **longest}))
    # A page that was cut before, as raw response, stays cut.
    result.update({"shown": shown, "truncated": result["truncated"] or shown < len(lines), "lines": lines[:shown]})
    result.pop("next_offset", None)
    if shown and offset + shown < result["matched"]:
        result["next_offset"] = offset + shown
