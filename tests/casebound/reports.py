"""A run with every part a report can have, and its report as text."""

from __future__ import annotations

from datetime import UTC, datetime

from activities.contracts import FailedCall, RunBudget, RunOutcome, Usage
from boundary.contracts import CallError, EvidenceStatus, InvocationStatus
from boundary.errors import ErrorCode
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Standing, Verdict
from casebound.render import Place, report_lines
from casebound.run_view import CallView, RunView

BUDGET = RunBudget(
    tool_calls=Usage(used=3, limit=50),
    turns=Usage(used=2, limit=40),
    run_bytes=Usage(used=2560, limit=64 << 20),
    tokens=Usage(used=0),
)

TIMEOUT = CallError(code=ErrorCode.EXECUTION_TIMEOUT, message="no answer within 60 s")

VIEW = RunView(
    run_id="0199-run",
    workflow_id="casebound-0199",
    question="Why did checkout fail?",
    outcome=RunOutcome.REPORTED,
    verdict=Verdict.PARTIAL,
    claims=(
        CheckedClaim(
            text="The database refused connections.",
            standing=Standing.PROVEN,
            citations=(
                CheckedCitation(
                    tool_call_id="db-errors",
                    pointer="/lines/0/text",
                    quote="too many connections",
                    status=CitationStatus.OK,
                ),
            ),
        ),
        CheckedClaim(
            text="No deploy happened.\nNot even a small one.",
            kind="absence",
            standing=Standing.UNPROVEN,
            citations=(CheckedCitation(tool_call_id="deploys", status=CitationStatus.NOT_READY),),
        ),
        CheckedClaim(text="It was the moon.", standing=Standing.UNPROVEN),
    ),
    calls=(
        CallView(
            tool_call_id="db-errors",
            tool_name="search_logs",
            turn=1,
            arguments={"source": "db", "pattern": 'too many "c'},
            status=InvocationStatus.READY,
            evidence_status=EvidenceStatus.EVIDENCE_FOUND,
            executions=1,
            raw_bytes=900,
            agent_result_bytes=40,
            agent_result={"lines": [{"text": "too many connections", "big": 2**63 + 1}]},
        ),
        CallView(
            tool_call_id="deploys",
            tool_name="search_logs",
            turn=2,
            arguments={"source": "deploy"},
            status=InvocationStatus.ERROR,
            evidence_status=EvidenceStatus.ERROR,
            error=TIMEOUT,
            executions=3,
        ),
    ),
    remarks=("step 'moon' was skipped: there is none",),
    could_not_check=(
        FailedCall(
            tool_call_id="deploys",
            tool_name="search_logs",
            error=TIMEOUT,
        ),
    ),
    budget=BUDGET,
    started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    ended_at=datetime(2026, 1, 2, 3, 4, 17, 500_000, tzinfo=UTC),
    evidence_expires_at=datetime(2026, 1, 9, 3, 14, 5, tzinfo=UTC),
)


def text(view: RunView, place: Place | None = None) -> str:
    """The report as it is printed into a pipe."""
    return "\n".join(line.text for line in report_lines(view, place or Place("http://127.0.0.1:8233", later=True)))
