"""`read_knowledge`: the exact lines of a document.

Above: the boundary executes and projects it. Below: `files`, `documents`. Only a document that the
source lists is opened, so no name leads anywhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from activities.knowledge.documents import Document, parse_document
from activities.knowledge.files import Found, Unreadable, find_documents, read_text, unavailable
from activities.knowledge.requests import ReadRequest
from activities.knowledge.results import ReadResult
from activities.knowledge.source import KnowledgeSource
from activities.logs.cutting import json_size
from activities.logs.results import as_json
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import checked, read_request, refusal
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition, ToolFailure

DESCRIPTION = (
    "Read lines of a runbook or post-mortem word for word: all, a range of lines, or the section under a heading. "
    "Continue at `next_line` where not all fits."
)


class ReadKnowledge:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[KnowledgeSource]) -> None:
        self._sources = {source.name: source for source in sources}
        self._definition = ToolDefinition(
            name="read_knowledge",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(ReadRequest, list(self._sources)),
            result_schema=result_schema(ReadResult),
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse an unknown source, a document outside of it, a range that is none."""
        return checked(lambda: self._request(arguments))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Read.

        Raises:
            ToolFailure: INVALID_ARGUMENTS, there is no such document, heading or line; UPSTREAM_UNAVAILABLE.
        """
        request = self._request(arguments)
        source = self._sources[request.source]
        found = find_documents(source)
        file = next((file for file in found.files if file.name == request.document), None)
        if file is None:
            raise _unknown(request, found)
        if context.stop.is_set():
            raise ToolFailure("told to stop before the document was read")
        try:
            _, text = read_text(file)
        except Unreadable as error:
            raise unavailable(source.name, f"{file.name}: {error}") from None
        document = parse_document(file.name, text)
        first, last = _range(request, document)
        result = as_json(
            ReadResult(
                source=source.name,
                document=file.name,
                title=document.title[:300],
                total_lines=len(document.lines),
                first_line=first,
                last_line=last,
                truncated=False,
                text=document.text(first, last),
            )
        )
        return _fit(result, context.max_raw_bytes)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show as many whole lines as fit; of a single longer line, its start."""
        result = _fit(raw, budget_bytes)
        status = EvidenceStatus.EVIDENCE_FOUND if result["text"].strip() else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["truncated"])

    def _request(self, arguments: JsonObject) -> ReadRequest:
        request = read_request(ReadRequest, arguments)
        if request.source not in self._sources:
            raise refusal(f"no source {request.source!r}: expected one of {', '.join(self._sources)}")
        parts = request.document.replace("\\", "/").split("/")
        if "" in parts or any(part.startswith(".") for part in parts) or "\0" in request.document:
            raise refusal("`document` must be a name as search_knowledge gives it, relative to the source's folder")
        if request.heading is not None and (request.first_line is not None or request.last_line is not None):
            raise refusal("give either `heading` or lines, not both")
        if request.last_line is not None and request.last_line < (request.first_line or 1):
            raise refusal("`last_line` is before `first_line`")
        return request


def _unknown(request: ReadRequest, found: Found) -> ToolFailure:
    reason = next((item.reason for item in found.refused if item.document == request.document), None)
    if reason is not None:
        return refusal(f"{request.document!r} is not read: {reason}")
    names = [file.name for file in found.files]
    close = difflib.get_close_matches(request.document[:200], names, 3, 0.4) or names[:3]
    return refusal(f"no document {request.document[:200]!r} in source {request.source!r}: close are {', '.join(close)}")


def _range(request: ReadRequest, document: Document) -> tuple[int, int]:
    total = len(document.lines)
    if request.heading is None:
        first = request.first_line or 1
        if first > max(total, 1):
            raise refusal(f"`first_line` is {first}, the document has {total} lines")
        return first, min(request.last_line or total, total)
    wanted = request.heading.strip().casefold()
    places = [place for place, item in enumerate(document.headings) if item.text.casefold() == wanted]
    if not places:
        names = ", ".join(repr(item.text[:60]) for item in document.headings[:8])
        raise refusal(f"no heading {request.heading[:100]!r}: there are {names or 'none'}")
    if len(places) > 1:
        lines = ", ".join(str(document.headings[place].first_line) for place in places[:10])
        raise refusal(f"heading {request.heading[:100]!r} stands at lines {lines}: use `first_line`")
    heading = document.headings[places[0]]
    later = (item.first_line - 1 for item in document.headings[places[0] + 1 :] if item.level <= heading.level)
    return heading.first_line, next(later, total)


def _fit(raw: JsonObject, room: int) -> JsonObject:
    if json_size(raw) <= room:
        return raw
    lines: list[str] = raw["text"].split("\n")
    result: JsonObject = {**raw, "text": "", "truncated": True, "next_line": raw["last_line"] + 1, "cut": True}
    left = room - json_size(result)
    kept = 0
    for line in lines:
        # A line break is written as two bytes; the text's quotes are counted already.
        left -= json_size(line)
        if left < 0:
            break
        kept += 1
    del result["cut"]
    if kept == 0:
        result["cut"] = True
        result["text"] = _start_of(lines[0], room - json_size(result))
        kept = 1
    else:
        result["text"] = "\n".join(lines[:kept])
    result["last_line"] = raw["first_line"] + kept - 1
    result["next_line"] = result["last_line"] + 1
    if kept == len(lines):
        result.pop("next_line")
        if "next_line" in raw:
            result["next_line"] = raw["next_line"]
    return result


def _start_of(line: str, room: int) -> str:
    size = min(len(line), max(room, 0))
    while size and json_size(line[:size]) - 2 > room:
        size = size * 3 // 4
    return line[:size]
