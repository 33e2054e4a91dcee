"""The report of a run as text for people and as one JSON object for programs.

Above: `diagnose` and `show` print it to stdout. Below: `render_claims`, `render_calls` and
`run_view`. Lines are made first and styled by what they are, so that the same text appears on a
terminal, in a pipe and in tests. Text that came from tools or planners is made safe by `cli_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from activities.contracts import RunBudget, Usage
from boundary.report import CitationStatus, Verdict
from casebound.cli_text import Line, human_bytes, one_line
from casebound.render_calls import call_name, call_text, ending
from casebound.render_claims import claim_lines
from casebound.run_view import RunView

PROVEN_MEANS = (
    "proven means: the quoted evidence exists in this run, unchanged; it does not mean that it entails the claim."
)

MARGIN = 10
"""Columns before the text of a named line."""

WAITING = "not at its end; it goes on while its configuration is served, by `casebound up` or the next diagnosis"

VERDICTS = {
    Verdict.SUPPORTED: "every claim is proven",
    Verdict.PARTIAL: "some claim is not proven",
    Verdict.INCONCLUSIVE: "nothing is proven",
}


@dataclass(frozen=True)
class Place:
    """How a reader gets from the report to the run."""

    ui_url: str = ""
    """Of the Temporal UI, if it is known and lasts."""
    later: bool = False
    """The UI ends with this command; `casebound up` brings it back."""
    namespace: str = "default"
    command: str = "casebound"
    """How the reader calls this program."""


def run_json(view: RunView) -> str:
    """Make the one JSON object of a run."""
    return json.dumps(view.model_dump(mode="json"), ensure_ascii=False, indent=2)


def report_lines(view: RunView, place: Place) -> list[Line]:
    """Make the report."""
    parts = (
        _head(view, place),
        claim_lines(view),
        _meaning(view),
        _calls(view),
        _remarks(view),
        _could_not_check(view),
        _budget(view),
        _foot(view, place),
    )
    return [line for part in parts for line in part]


def _head(view: RunView, place: Place) -> Iterator[Line]:
    yield Line(f"Question  {one_line(view.question, 4000)}", "bold", MARGIN)
    yield from _outcome(view, place)
    if view.verdict is not None:
        style = "bold green" if view.verdict is Verdict.SUPPORTED else "bold yellow"
        yield Line(f"Verdict   {view.verdict.value}: {VERDICTS[view.verdict]}", style, MARGIN)


def _outcome(view: RunView, place: Place) -> Iterator[Line]:
    """Say why the run ended; several faults of a runbook have a line each."""
    if view.running:
        yield Line(f"Outcome   none yet: {WAITING if place.later else one_line(view.detail, 500)}", hang=MARGIN)
        return
    outcome = view.outcome.value if view.outcome else "none yet"
    details = [one_line(line, 500) for line in view.detail.splitlines()]
    if len(details) < 2:
        yield Line(": ".join((f"Outcome   {outcome}", *details)), hang=MARGIN)
        return
    yield Line(f"Outcome   {outcome}")
    for detail in details:
        yield Line(f"{' ' * MARGIN}{detail}", hang=MARGIN + 2)


def _meaning(view: RunView) -> Iterator[Line]:
    if view.claims:
        yield Line()
        yield Line(PROVEN_MEANS, "italic", 0)


def _calls(view: RunView) -> Iterator[Line]:
    """List the calls where nothing is claimed of them."""
    if view.claims or not view.calls:
        return
    yield Line()
    yield Line("Calls so far" if view.running else "Calls", "bold")
    for call in view.calls:
        yield Line(f"  {call_name(call.tool_call_id)}: {call_text(call)} -> {ending(call)}", hang=4)


def _remarks(view: RunView) -> Iterator[Line]:
    if not view.remarks:
        return
    yield Line()
    yield Line("Left out", "bold")
    for remark in view.remarks:
        yield Line(f"  {one_line(remark, 500)}", "yellow", hang=4)


def _could_not_check(view: RunView) -> Iterator[Line]:
    if not view.could_not_check:
        return
    yield Line()
    yield Line("Could not be checked", "bold")
    asked = {(call.tool_call_id, call.error): call for call in view.calls if call.tool_call_id}
    for failed in view.could_not_check:
        call = asked.get((failed.tool_call_id, failed.error)) if failed.tool_call_id else None
        what = call_text(call) if call else one_line(failed.tool_name, 64)
        yield Line(f"  {call_name(failed.tool_call_id)}: {what}", "yellow", hang=4)
        yield Line(f"    {failed.error.code.value}: {one_line(failed.error.message, 500)}", "yellow", hang=4)
    if view.could_not_check_more:
        yield Line(f"  ... and {view.could_not_check_more} more", "yellow")


def _budget(view: RunView) -> Iterator[Line]:
    if view.budget is not None or view.unsettled:
        yield Line()
    if view.budget is not None:
        yield Line(f"Budget    {budget_text(view.budget)}")
    if view.budget is not None and view.started_at and view.ended_at:
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
    yield Line()
    yield Line(f"Run       {view.run_id}")
    yield Line(f"Temporal  {_open_in_ui(view, place)}")
    if view.evidence_expires_at is not None:
        yield Line(f"Evidence  kept until {view.evidence_expires_at:%Y-%m-%d %H:%M} UTC")
    else:
        yield Line("Evidence  expired, or not in this store")
    yield Line(f"Next      {place.command} show {view.run_id}")
    if view.running:
        yield Line(f"          {place.command} stop {view.run_id}")
    call = _call_to_read(view)
    if call is not None and view.evidence_expires_at is not None:
        yield Line(f"          {place.command} evidence {view.run_id} {one_line(call, 256)}")


def _call_to_read(view: RunView) -> str | None:
    """Name the call to begin with: what the last claim, which concludes, rests on."""
    cited = (citation for claim in reversed(view.claims) for citation in claim.citations)
    recorded = (call.tool_call_id for call in view.calls if call.executions)
    return next((one.tool_call_id for one in cited if one.status is CitationStatus.OK), None) or next(recorded, None)


def _open_in_ui(view: RunView, place: Place) -> str:
    path = f"/namespaces/{place.namespace}/workflows/{view.workflow_id}"
    if place.later:
        return f"{place.command} up, then {place.ui_url}{path}{'' if place.ui_url else ' in the UI it names'}"
    return f"{place.ui_url}{path}" if place.ui_url else f"namespace {place.namespace}, workflow ID {view.workflow_id}"
