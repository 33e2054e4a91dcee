"""`count_logs`: how many lines match, by named groups of the pattern and by spans of time.

Above: the boundary executes and projects it. Below: `selection`, `scan`, `tally`.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.logs.cutting import fitting, json_size, shorten_edges
from activities.logs.edges import Edges
from activities.logs.requests import CountRequest
from activities.logs.results import CountResult, as_json
from activities.logs.scan import TIMEOUT_MS, Scan
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import Selection, checked, compile_selection, known, read_request, refusal
from activities.logs.source import LogSource
from activities.logs.tally import BUCKET, Tally
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition

DESCRIPTION = (
    "Count the lines of a log that match a pattern or literal text: in all, by named groups of the pattern such as "
    "(?P<ip>[0-9.]+) or by fields of JSON lines, and by minute, hour or day. Returns exact totals, the number of "
    "different keys, and the largest groups with the time and place of their first and last line. Use it rather than "
    "reading lines to find out how often, who most, since when."
)


class CountLogs:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[LogSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="count_logs",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(CountRequest, list(self._sources)),
            result_schema=result_schema(CountResult),
            timeout_ms=TIMEOUT_MS,
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse what `search_logs` refuses, and groups the pattern does not have."""
        return checked(lambda: self._compile(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Count; the result holds the groups asked for, as far as `max_raw_bytes` allows.

        Raises:
            ToolFailure: the log could not be looked at, or there are too many groups to count.
        """
        request, selection = self._compile(arguments)
        scan = Scan(selection, context)
        tally = Tally(request, selection)
        edges = Edges()
        for file, block, hits in scan.blocks():
            for hit in hits:
                edges.see(file, block, hit)
                tally.add(file, hit)
        return _result(request, selection, scan, edges, tally, context.max_raw_bytes)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show as many whole groups as fit."""
        groups: list[JsonObject] = raw["groups"]
        result: JsonObject = {**raw, "groups": []}
        shorten_edges(result, budget_bytes)
        _show(result, groups, budget_bytes)
        status = EvidenceStatus.EVIDENCE_FOUND if result["matched"] else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["shown"] < len(groups))

    def _compile(self, arguments: JsonObject) -> tuple[CountRequest, Selection]:
        request = read_request(CountRequest, arguments)
        _check_groups(request)
        values = [*request.group_by, *request.distinct]
        return request, compile_selection(request, known(self._sources, request.source), values=values)


def _check_groups(request: CountRequest) -> None:
    for field, wanted in (("group_by", request.group_by), ("distinct", request.distinct)):
        if len(set(wanted)) < len(wanted):
            raise refusal(f"`{field}` names a group twice")
    if request.bucket is not None and BUCKET in request.group_by:
        raise refusal(f"a group named {BUCKET!r} cannot be counted together with `bucket`: give it another name")


def _result(
    request: CountRequest, selection: Selection, scan: Scan, edges: Edges, tally: Tally, max_bytes: int
) -> JsonObject:
    first, last = edges.lines(scan.places)
    result = as_json(
        CountResult(
            source=request.source,
            window=selection.window(),
            looked_at=scan.looked_at(),
            matched=scan.matched,
            occurrences=scan.occurrences if selection.source.repeated is not None else None,
            first=first,
            last=last,
            distinct=tally.distinct(),
            groups_total=tally.groups_total,
            groups_kept=tally.groups_kept,
            shown=0,
            truncated=False,
            groups=[],
        )
    )
    _show(result, [as_json(group) for group in tally.groups(scan.places)], max_bytes)
    return result


def _show(result: JsonObject, groups: list[JsonObject], room: int) -> None:
    """Put as many groups into the result as fit, and say how many that are."""
    longest: JsonObject = {"shown": len(groups), "truncated": False, "groups": []}
    shown = fitting(groups, room - json_size({**result, **longest}))
    # Groups that were cut before, as raw response, stay cut.
    result.update({"shown": shown, "truncated": result["truncated"] or shown < len(groups), "groups": groups[:shown]})
