"""`log_templates`: which kinds of line a log has, how often, since when.

Above: the boundary executes and projects it. Below: `selection`, `scan`, `mining`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from activities.logs.cutting import fitting, json_size
from activities.logs.edges import place
from activities.logs.lines import line_at
from activities.logs.mining import Miner, Template, masked
from activities.logs.places import Places
from activities.logs.requests import PATTERN_MAX, TemplatesRequest
from activities.logs.results import LogTemplate, Place, TemplatesResult, as_json
from activities.logs.scan import TIMEOUT_MS, Hit, Scan
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import Selection, checked, compile_selection, known, read_request
from activities.logs.source import LogSource
from activities.logs.timestamps import Stamp
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition

DESCRIPTION = (
    "Find the kinds of line in a log: lines that differ only in numbers, addresses, identifiers or few words are one "
    "template. Returns templates with exact counts, first and last time, an example and a pattern to search or exclude "
    "them by. Use it first on a log you do not know; `order: rare` or `newest` shows what is unusual."
)

TEXT_MAX = 1000
"""Characters shown of a template and of its example."""


@dataclass
class _Seen:
    """What is kept of a template's lines."""

    example: bytes
    file: int
    line: int
    count: int = 0
    first: tuple[Stamp, int, int] | None = None
    last: tuple[Stamp, int, int] | None = None

    def add(self, file: int, hit: Hit) -> None:
        self.count += 1
        stamp = hit.stamp
        if stamp is None:
            return
        # Hits come file by file and line by line, so equal times are in order.
        if self.first is None or stamp.us < self.first[0].us:
            self.first = (stamp, file, hit.line)
        if self.last is None or stamp.us >= self.last[0].us:
            self.last = (stamp, file, hit.line)


class LogTemplates:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[LogSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="log_templates",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(TemplatesRequest, list(self._sources)),
            result_schema=result_schema(TemplatesResult),
            timeout_ms=TIMEOUT_MS,
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse what `search_logs` refuses."""
        return checked(lambda: self._compile(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Mine; the result holds the templates asked for, as far as `max_raw_bytes` allows.

        Raises:
            ToolFailure: the log could not be looked at.
        """
        request, selection = self._compile(arguments)
        scan = Scan(selection, context)
        miner: Miner[_Seen] = Miner()
        rest = 0
        for file, block, found in scan.blocks():
            hits = list(found)
            # Of an entry of several lines the first says what kind it is.
            lines = [line_at(block.data, hit.start) for hit in hits]
            for hit, line, text in zip(hits, lines, masked(list(map(_without_time, lines, hits))), strict=True):
                template = miner.find(text, _Seen(line, file, hit.line))
                if template is None:
                    rest += 1
                else:
                    template.seen.add(file, hit)
        return _result(request, selection, scan, miner.templates, rest, context.max_raw_bytes)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show as many whole templates as fit."""
        templates: list[JsonObject] = raw["templates"]
        result: JsonObject = {**raw, "templates": []}
        _show(result, templates, budget_bytes)
        status = EvidenceStatus.EVIDENCE_FOUND if result["matched"] else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["shown"] < len(templates))

    def _compile(self, arguments: JsonObject) -> tuple[TemplatesRequest, Selection]:
        request = read_request(TemplatesRequest, arguments)
        return request, compile_selection(request, known(self._sources, request.source))


_ORDERS: dict[str, Callable[[_Seen], tuple[float, ...]]] = {
    "common": lambda seen: (-seen.count, _began(seen)),
    "rare": lambda seen: (seen.count, _began(seen)),
    "newest": lambda seen: (-_began(seen), -seen.count),
}


def _began(seen: _Seen) -> float:
    return -math.inf if seen.first is None else seen.first[0].us


def _without_time(line: bytes, hit: Hit) -> bytes:
    """Leave out the time text where it begins the line: it is no part of what is said."""
    written = b"" if hit.stamp is None else hit.stamp.written
    return line[len(written) :].lstrip() if written and line.startswith(written) else line


def _result(
    request: TemplatesRequest,
    selection: Selection,
    scan: Scan,
    templates: list[Template[_Seen]],
    rest: int,
    max_bytes: int,
) -> JsonObject:
    order = _ORDERS[request.order]
    wanted = sorted(templates, key=lambda template: order(template.seen))[: request.top]
    result = as_json(
        TemplatesResult(
            source=request.source,
            window=selection.window(),
            looked_at=scan.looked_at(),
            matched=scan.matched,
            templates_total=len(templates),
            rest=rest or None,
            shown=0,
            truncated=False,
            templates=[],
        )
    )
    _show(result, [as_json(_template(template, scan.places)) for template in wanted], max_bytes)
    return result


def _template(template: Template[_Seen], places: Places) -> LogTemplate:
    seen, text = template.seen, template.text
    example = seen.example.decode(errors="replace")
    untimed = Place(file=places.name(seen.file), line=places.line(seen.file, seen.line))
    return LogTemplate(
        template=text[:TEXT_MAX],
        count=seen.count,
        first=untimed if seen.first is None else place(seen.first, places),
        last=untimed if seen.last is None else place(seen.last, places),
        example=example[:TEXT_MAX],
        cut=max(len(text), len(example)) > TEXT_MAX or None,
        pattern=template.pattern(PATTERN_MAX),
    )


def _show(result: JsonObject, templates: list[JsonObject], room: int) -> None:
    """Put as many templates into the result as fit, and say how many that are."""
    longest: JsonObject = {"shown": len(templates), "truncated": False, "templates": []}
    shown = fitting(templates, room - json_size({**result, **longest}))
    # Templates that were cut before, as raw response, stay cut.
    cut = result["truncated"] or shown < len(templates)
    result.update({"shown": shown, "truncated": cut, "templates": templates[:shown]})
