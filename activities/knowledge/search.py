"""`search_knowledge`: the passages that match, best first.

Above: the boundary executes and projects it. Below: `index`, `terms`.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.knowledge.index import Answer, Hit, Index
from activities.knowledge.requests import SearchRequest
from activities.knowledge.results import Passage, SearchResult, SkippedDocument, UnavailableSource
from activities.knowledge.source import KnowledgeSource
from activities.knowledge.terms import compile_query
from activities.logs.cutting import fitting, json_size
from activities.logs.results import as_json
from activities.logs.schemas import arguments_schema, result_schema
from activities.logs.selection import checked, read_request, refusal
from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import Projection, ToolContext, ToolDefinition, ToolFailure

DESCRIPTION = (
    "Search runbooks and post-mortems by words or a question, in Chinese or English. Returns ranked passages with "
    "document, headings and line range; read more of one with read_knowledge."
)
TEXT_MAX = 2000
"""Characters of a passage shown."""
MAX_SKIPPED = 20


class SearchKnowledge:
    """The tool; shared by concurrent calls."""

    def __init__(self, sources: Sequence[KnowledgeSource], index: Index) -> None:
        self._sources = {source.name: source for source in sources}
        self._index = index
        self._definition = ToolDefinition(
            name="search_knowledge",
            description=DESCRIPTION,
            arguments_schema=arguments_schema(SearchRequest, list(self._sources)),
            result_schema=result_schema(SearchResult),
        )

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry."""
        return self._definition

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse a source that is not declared."""
        return checked(lambda: self._asked_for(read_request(SearchRequest, arguments)))

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Search.

        Raises:
            ToolFailure: no source could be looked at, or nothing was found and one could not be looked at.
        """
        request = read_request(SearchRequest, arguments)
        query = compile_query(request.query)
        answer = self._index.ask(self._asked_for(request), query, request.limit, request.offset, context)
        if not answer.matched:
            _check_looked(answer)
        passages = [as_json(_passage(hit, request.offset + place)) for place, hit in enumerate(answer.hits, 1)]
        result = as_json(_result(answer, 0 if query is None else query.ignored))
        _show(result, passages, context.max_raw_bytes, request.offset)
        return result

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Show as many whole passages as fit."""
        result: JsonObject = {**raw, "passages": []}
        _show(result, raw["passages"], budget_bytes, read_request(SearchRequest, arguments).offset)
        status = EvidenceStatus.EVIDENCE_FOUND if result["matched"] else EvidenceStatus.NO_EVIDENCE
        return Projection(result, status, truncated=result["truncated"])

    def _asked_for(self, request: SearchRequest) -> list[KnowledgeSource]:
        if request.source is None:
            return list(self._sources.values())
        if request.source not in self._sources:
            raise refusal(f"no source {request.source!r}: expected one of {', '.join(self._sources)}")
        return [self._sources[request.source]]


def _check_looked(answer: Answer) -> None:
    """Refuse to call it an absence when part of what was to be searched could not be read."""
    if answer.unavailable:
        raise ToolFailure("; ".join(answer.unavailable.values()), code=ErrorCode.UPSTREAM_UNAVAILABLE)
    if answer.unread:
        first = answer.unread[0]
        raise ToolFailure(
            f"nothing matched, but {len(answer.unread)} of the documents could not be read, "
            f"so this is no absence: {first.document} {first.reason}"
        )


def _passage(hit: Hit, rank: int) -> Passage:
    lines = hit.text.split("\n")
    while len(lines) > 1 and len("\n".join(lines)) > TEXT_MAX:
        lines.pop()
    text = "\n".join(lines)[:TEXT_MAX]
    return Passage(
        rank=rank,
        source=hit.source,
        document=hit.document,
        title=hit.title[:300],
        heading=[part[:300] for part in hit.heading],
        first_line=hit.first_line,
        last_line=hit.first_line + len(lines) - 1,
        text=text,
        cut=True if len(text) < len(hit.text) else None,
    )


def _result(answer: Answer, ignored: int) -> SearchResult:
    skipped = [
        SkippedDocument(source=source, document=item.document, reason=item.reason)
        for source, items in answer.skipped.items()
        for item in items
    ]
    return SearchResult(
        documents=answer.documents,
        matched=answer.matched,
        shown=0,
        truncated=False,
        ignored_words=ignored or None,
        skipped=skipped[:MAX_SKIPPED] or None,
        skipped_total=len(skipped) or None,
        unavailable=[UnavailableSource(source=name, reason=why) for name, why in answer.unavailable.items()] or None,
        passages=[],
    )


def _show(result: JsonObject, passages: list[JsonObject], room: int, offset: int) -> None:
    """Put as many passages into the result as fit, and say how many that are."""
    longest: JsonObject = {"shown": len(passages), "next_offset": offset + len(passages), "truncated": False}
    shown = fitting(passages, room - json_size({**result, **longest}))
    cut = result["truncated"] or shown < len(passages)
    result.update({"shown": shown, "truncated": cut, "passages": passages[:shown]})
    result.pop("next_offset", None)
    if shown and offset + shown < result["matched"]:
        result["next_offset"] = offset + shown
