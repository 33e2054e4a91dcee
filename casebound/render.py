"""The report of a run as text for people and as one JSON object for programs.

Above: `diagnose` and `show` print it to stdout. Below: `casebound.run_view`. Lines are made
first and styled by what they are, so that the same text appears on a terminal, in a pipe and in
tests. Text that came from tools or planners is made safe by `cli_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from activities.contracts import RunBudget, Usage
from boundary.record import CanonicalInvocation
from boundary.report import CheckedCitation, CheckedClaim, Standing, Verdict
from casebound.cli_text import human_bytes, one_line, visible
from casebound.run_view import RunView

PROVEN_MEANS = (
    "proven means: the quoted evidence exists in this run, unchanged; it does not mean that it entails the claim."
)

MARKS = {Standing.PROVEN: "✔ proven", Standing.CITED: "• cited", Standing.UNPROVEN: "✘ unproven"}
STYLES = {Standing.PROVEN: "green", Standing.CITED: "yellow", Standing.UNPROVEN: "red"}

VERDICTS = {
    Verdict.SUPPORTED: "every claim is proven",
    Verdict.PARTIAL: "some claim is not proven",
    Verdict.INCONCLUSIVE: "there is nothing to claim",
}

QUOTE_SHOWN = 200
"""Characters of a quote in the text; the JSON has all of it."""


@dataclass(frozen=True)
class Line:
    """One line of output with a rich style for all of it."""

    text: str = ""
    style: str = ""


@dataclass(frozen=True)
class Place:
    """How a reader gets from the report to the run."""

    ui_url: str = ""
    """Of the Temporal UI, if it is known."""
    later: bool = False
    """The UI ends with this command; `casebound up` brings it back."""
    namespace: str = "default"


def run_json(view: RunView) -> str:
    """Make the one JSON object of a run."""
    return json.dumps(view.model_dump(mode="json"), ensure_ascii=False, indent=2)


def report_lines(view: RunView, place: Place) -> list[Line]:
    """Make the report."""
    parts = (_head(view), _claims(view), _calls(view), _could_not_check(view), _budget(view), _foot(view, place))
    return [line for part in parts for line in part]


def _head(view: RunView) -> Iterator[Line]:
    yield Line(f"Question  {one_line(view.question, 4000)}", "bold")
    outcome = view.outcome.value if view.outcome else "none yet"
    detail = f": {one_line(view.detail, 500)}" if view.detail else ""
    yield Line(f"Outcome   {outcome}{detail}")
    if view.verdict is not None:
        style = "bold green" if view.verdict is Verdict.SUPPORTED else "bold yellow"
        yield Line(f"Verdict   {view.verdict.value}: {VERDICTS[view.verdict]}", style)


def _claims(view: RunView) -> Iterator[Line]:
    for number, claim in enumerate(view.claims, 1):
        yield Line()
        yield from _claim(number, claim)


def _claim(number: int, claim: CheckedClaim) -> Iterator[Line]:
    absence = " (absence)" if claim.kind == "absence" else ""
    first, *rest = visible(claim.text).splitlines() or [""]
    yield Line(f"{number}. [{MARKS[claim.standing]}]{absence} {first}", STYLES[claim.standing])
    for line in rest:
        yield Line(f"   {line}", STYLES[claim.standing])
    for citation in claim.citations:
        yield Line(f"     {_citation(citation)}")
    if not claim.citations:
        yield Line("     cites nothing")


def _citation(citation: CheckedCitation) -> str:
    parts = [f"{citation.status.value:<4}", one_line(citation.tool_call_id, 256)]
    if citation.pointer is not None:
        parts.append(f"at {one_line(citation.pointer, 500) or '(the whole result)'}")
    if citation.quote is not None:
        parts.append(f"“{one_line(citation.quote, QUOTE_SHOWN)}”")
    return "  ".join(parts)


def _calls(view: RunView) -> Iterator[Line]:
    """List the calls where nothing is claimed of them; failed ones are told below."""
    if view.claims or not view.calls:
        return
    yield Line()
    yield Line("Calls", "bold")
    for call in view.calls:
        status = call.error.code.value if call.error else f"{call.status.value}, {call.evidence_status.value}"
        yield Line(f"  {one_line(call.tool_call_id or '(no id)', 256)}  {one_line(call.tool_name, 64)}  {status}")


def _could_not_check(view: RunView) -> Iterator[Line]:
    if not view.could_not_check:
        return
    yield Line()
    yield Line("Could not be checked", "bold")
    for failed in view.could_not_check:
        call = one_line(failed.tool_call_id or "(no id)", 256)
        error = f"{failed.error.code.value}: {one_line(failed.error.message, 500)}"
        yield Line(f"  {call}  {one_line(failed.tool_name, 64)}  {error}", "yellow")
    if view.could_not_check_more:
        yield Line(f"  ... and {view.could_not_check_more} more", "yellow")


def _budget(view: RunView) -> Iterator[Line]:
    yield Line()
    if view.budget is not None:
        yield Line(f"Budget    {budget_text(view.budget)}")
    if view.started_at and view.ended_at:
        yield Line(f"Time      {(view.ended_at - view.started_at).total_seconds():.1f} s")
    if view.unsettled:
        yield Line(f"Unsettled {view.unsettled} records: the store was not reachable at the end", "red")


def budget_text(budget: RunBudget) -> str:
    """Write what was used of what there was, on one line."""
    parts = [f"{_usage(budget.tool_calls)} calls", f"{_usage(budget.turns)} turns"]
    used, limit = budget.run_bytes.used, budget.run_bytes.limit
    parts.append(human_bytes(used) + (f" of {human_bytes(limit)}" if limit is not None else "") + " evidence")
    if budget.tokens.used or budget.tokens.limit is not None:
        parts.append(f"{_usage(budget.tokens)} tokens")
    return ", ".join(parts)


def _usage(usage: Usage) -> str:
    return f"{usage.used} of {usage.limit}" if usage.limit is not None else str(usage.used)


def _foot(view: RunView, place: Place) -> Iterator[Line]:
    if view.claims:
        yield Line(PROVEN_MEANS, "italic")
    yield Line()
    yield Line(f"Run       {view.run_id}")
    yield Line(f"Temporal  {_open_in_ui(view, place)}")
    if view.evidence_expires_at is not None:
        yield Line(f"Evidence  kept until {view.evidence_expires_at:%Y-%m-%d %H:%M} UTC")
    else:
        yield Line("Evidence  expired, or not in this store")
    yield Line(f"Next      casebound show {view.run_id}")
    cited = (citation.tool_call_id for claim in view.claims for citation in claim.citations)
    call = next(cited, None) or next((call.tool_call_id for call in view.calls if call.tool_call_id), None)
    if call is not None and view.evidence_expires_at is not None:
        yield Line(f"          casebound evidence {view.run_id} {one_line(call, 256)}")


def _open_in_ui(view: RunView, place: Place) -> str:
    path = f"/namespaces/{place.namespace}/workflows/{view.workflow_id}"
    return f"{'casebound up, then ' if place.later else ''}{place.ui_url}{path}"


def evidence_lines(record: CanonicalInvocation) -> list[Line]:
    """Say what one call's record is, for above its evidence."""
    asked = record.request.arguments
    settled = f", settled {record.settled_at:%H:%M:%S}" if record.settled_at else ""
    parts = {
        "Call": f"{record.tool_call_id}  #{record.call_index}, turn {record.turn}",
        "Tool": record.tool_name,
        "Arguments": asked if isinstance(asked, str) else f"({asked.reason}, {asked.bytes} bytes, {asked.sha256})",
        "Status": f"{record.status.value}, {record.evidence_status.value}",
        "Error": f"{record.error.code.value}: {record.error.message}" if record.error else "",
        "Times": f"begun {record.created_at:%Y-%m-%d %H:%M:%S} UTC{settled}, executions {record.executions}",
        "Kept": f"until {record.expires_at:%Y-%m-%d %H:%M} UTC, {record.redactions} redactions",
        "Raw": _body(record.sizes.raw, record.sha256.raw),
        "Result": _body(record.sizes.agent_result, record.sha256.agent_result)
        + (" (items of raw left out)" if record.truncated else ""),
    }
    return [Line(f"{name:<10}{one_line(text, 500)}") for name, text in parts.items() if text]


def _body(size: int | None, digest: str | None) -> str:
    return f"{size} bytes, sha256 {digest}" if size is not None else ""
