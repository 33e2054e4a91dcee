"""Masks secrets in what a planner wrote, and in what is logged of an error. Pure.

Above: `planning` and `report_check`, before anything is stored or returned; `edge` and `planning`, before anything
is logged. Below: `boundary.redaction`. A planner's arguments stay as they are: they are what the call asks for.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable

from activities.stored import StoredTurn
from boundary.contracts import shorten
from boundary.guard import FAULT_MAX
from boundary.redaction import Redactor
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Report

TRACE_MAX = 20_000
"""Characters of a logged trace; the last calls are the ones that tell."""


def masked_turn(turn: StoredTurn, redactor: Redactor) -> StoredTurn:
    """Mask claims, faults and remarks; in quotes only what is known to be a secret, for evidence has none of it."""
    report = None if turn.report is None else _masked_report(turn.report, redactor)
    planned = turn.turn.model_copy(update={"faults": masked_lines(turn.turn.faults, redactor)})
    remarks = masked_lines(turn.remarks, redactor)
    return turn.model_copy(update={"report": report, "turn": planned, "remarks": remarks})


def masked_claims(claims: Iterable[CheckedClaim], redactor: Redactor) -> tuple[CheckedClaim, ...]:
    """Mask the quotes that stand in no evidence; those that do were masked with it."""
    return tuple(
        claim.model_copy(update={"citations": tuple(_masked_citation(one, redactor) for one in claim.citations)})
        for claim in claims
    )


def masked_lines(lines: Iterable[str], redactor: Redactor) -> tuple[str, ...]:
    """Mask short texts of their own."""
    return tuple(shorten(redactor.text(line)[0], FAULT_MAX) for line in lines)


def masked_trace(error: BaseException, redactor: Redactor) -> str:
    """Write the error's trace for a log, its causes included."""
    return redactor.text("".join(traceback.format_exception(error))[-TRACE_MAX:])[0]


def _masked_report(report: Report, redactor: Redactor) -> Report:
    claims = tuple(
        claim.model_copy(
            update={
                "text": redactor.text(claim.text)[0],
                "citations": tuple(
                    one.model_copy(update={"quote": None if one.quote is None else redactor.known(one.quote)})
                    for one in claim.citations
                ),
            }
        )
        for claim in report.claims
    )
    return report.model_copy(update={"claims": claims})


def _masked_citation(citation: CheckedCitation, redactor: Redactor) -> CheckedCitation:
    if citation.status is CitationStatus.OK or citation.quote is None:
        return citation
    return citation.model_copy(update={"quote": redactor.text(citation.quote)[0]})
