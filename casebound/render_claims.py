"""The claims of a report as text: each with the calls it rests on, and what stands there.

Above: `casebound.render`. Below: `render_calls`. A reader must be able to check a claim from the
text alone, so every call says what was asked, and what a call shows stands there as it can be
found by grep: never wrapped, no blank of it folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from boundary.contracts import EvidenceStatus, InvocationStatus
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Standing
from casebound.cli_text import Line, exact_line, visible
from casebound.render_calls import by_id, call_name, call_text, ending
from casebound.run_view import CallView, RunView

MARKS = {Standing.PROVEN: "✔ proven", Standing.CITED: "• cited", Standing.UNPROVEN: "✘ unproven"}
STYLES = {Standing.PROVEN: "green", Standing.CITED: "yellow", Standing.UNPROVEN: "red"}

QUOTE_SHOWN = 300
"""Characters of a quote in the text; the JSON has all of it."""

POINTER_COLUMN = 24
"""Widest column of pointers; a longer one pushes its quote to the right."""


def claim_lines(view: RunView) -> Iterator[Line]:
    """List the claims; a call is described where it is cited first."""
    calls = by_id(view.calls)
    described: dict[str, int] = {}
    for number, claim in enumerate(view.claims, 1):
        yield Line()
        yield _statement(number, claim)
        margin = " " * len(f"{number}. ")
        for call_id, citations in _by_call(claim.citations).items():
            yield _call(margin, call_id, calls.get(call_id), described.get(call_id))
            described.setdefault(call_id, number)
            yield from _shown(margin, citations)
        if not claim.citations:
            yield Line(f"{margin}- cites nothing", "red")


def _statement(number: int, claim: CheckedClaim) -> Line:
    absence = " (absence)" if claim.kind == "absence" else ""
    start = f"{number}. "
    text = f"\n{' ' * len(start)}".join(visible(claim.text).splitlines())
    return Line(f"{start}[{MARKS[claim.standing]}]{absence} {text}", STYLES[claim.standing], len(start))


def _by_call(citations: Iterable[CheckedCitation]) -> dict[str, list[CheckedCitation]]:
    cited: dict[str, list[CheckedCitation]] = {}
    for citation in citations:
        cited.setdefault(citation.tool_call_id, []).append(citation)
    return cited


def _call(margin: str, call_id: str, call: CallView | None, described: int | None) -> Line:
    start = f"{margin}- {call_name(call_id)}"
    if call is None:
        return Line(start)
    if described is not None:
        return Line(f"{start}: as in claim {described}")
    found = call.status is InvocationStatus.READY and call.evidence_status is EvidenceStatus.EVIDENCE_FOUND
    return Line(f"{start}: {call_text(call)}{'' if found else f' -> {ending(call)}'}", hang=len(margin) + 2)


def _shown(margin: str, citations: list[CheckedCitation]) -> Iterator[Line]:
    """Say what stands where, and what does not hold."""
    pointers = [len(citation.pointer) for citation in citations if citation.pointer is not None]
    column = min(max(pointers, default=0), POINTER_COLUMN)
    for citation in citations:
        holds = citation.status is CitationStatus.OK
        parts = [] if holds else [citation.status.value]
        if citation.pointer is not None:
            place = exact_line(citation.pointer, 500) or "(the whole result)"
            parts.append(place if citation.quote is None else place.ljust(column))
        if citation.quote is not None:
            parts.append(f"“{exact_line(citation.quote, QUOTE_SHOWN)}”")
        if parts:
            yield Line(f"{margin}    {'  '.join(parts)}", "" if holds else "red")
