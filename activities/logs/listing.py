"""`list_logs`: which logs there are, what time they span, and whether their declarations fit them.

Above: the boundary executes and projects it. Below: `files`, `sample`. A source that cannot be
read is listed with the reason, so that the agent can say what it could not check.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.logs.cutting import fitting, json_size
from activities.logs.files import Found, find_files, missing
from activities.logs.moments import iso_utc
from activities.logs.requests import ListRequest
from activities.logs.results import ListedFile, ListedSource, ListResult, SkippedFile, as_json
from activities.logs.sample import Sample, check_lines
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import checked, known, read_request
from activities.logs.source import LogSource
from activities.logs.timestamps import Stamp
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition, ToolFailure

DESCRIPTION = (
    "List the log sources: what each holds, its files, its time zone, the times it spans in UTC, and whether its lines "
    "have times of the declared format. Start here."
)

MAX_LISTED_FILES = 100
FITTING_SHARE = 0.01
"""Share of lines with a time below which a format does not fit; stack traces alone never get there."""


class ListLogs:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[LogSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="list_logs",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(ListRequest, list(self._sources)),
            result_schema=result_schema(ListResult),
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse a source that is not declared."""
        return checked(lambda: self._asked_for(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """List one source or all; what is wrong with one is said there and fails nothing.

        Raises:
            ToolFailure: only when told to stop.
        """
        listed: list[JsonObject] = []
        for source in self._asked_for(arguments):
            context.progress(f"checking {source.name}")
            listed.append(as_json(listed_source(source, context)))
        return {"sources": listed, "sources_total": len(listed), "truncated": False}

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show all sources with as many of their files as fit, or else as many whole sources as fit."""
        sources: list[JsonObject] = raw["sources"]
        shown = sources
        for most in (MAX_LISTED_FILES, 10, 1):
            shown = [{**source, "files": source["files"][:most]} for source in sources]
            if json_size({**raw, "sources": shown}) <= budget_bytes:
                break
        shown = shown[: fitting(shown, budget_bytes - json_size({**raw, "sources": []}))]
        cut = len(shown) < len(sources) or any(
            len(less["files"]) < len(source["files"]) for less, source in zip(shown, sources, strict=False)
        )
        found = any(source["files_total"] for source in sources)
        status = EvidenceStatus.EVIDENCE_FOUND if found else EvidenceStatus.NO_EVIDENCE
        return Projection({**raw, "sources": shown, "truncated": cut}, status, truncated=cut)

    def _asked_for(self, arguments: JsonObject) -> list[LogSource]:
        name = read_request(ListRequest, arguments).source
        return list(self._sources.values()) if name is None else [known(self._sources, name)]


def listed_source(source: LogSource, context: ToolContext) -> ListedSource:
    """List a source's files and check its lines; what is wrong with it is its `problem`."""
    try:
        found = find_files(source)
    except ToolFailure as failure:
        return _source(source, Found(()), Sample(), failure.message)
    sample = check_lines(source, found.files, context)
    return _source(source, found, sample, sample.problem if found.files else missing(source))


def _source(source: LogSource, found: Found, sample: Sample, problem: str | None) -> ListedSource:
    share = None if sample.lines == 0 else (sample.lines - sample.unparsed) / sample.lines
    return ListedSource(
        source=source.name,
        description=source.description,
        format=source.format,
        timestamp=source.timestamp,
        zone=source.zone or "UTC",
        levels=source.has_levels,
        multiline=source.multiline,
        files_total=len(found.files),
        bytes_total=sum(file.size for file in found.files),
        files=[
            ListedFile(file=file.name, bytes=file.size, compressed=file.name in sample.compressed)
            for file in found.files[:MAX_LISTED_FILES]
        ],
        first=_iso(sample.first),
        last=_iso(sample.last),
        lines_checked=sample.lines,
        checked=sample.checked,
        parsable=None if share is None else round(share, 4),
        fits=None if share is None else share >= FITTING_SHARE,
        skipped=[SkippedFile(file=item.file, reason=item.reason) for item in found.refused] or None,
        problem=problem,
    )


def _iso(stamp: Stamp | None) -> str | None:
    return None if stamp is None else iso_utc(stamp.us, stamp.digits)
