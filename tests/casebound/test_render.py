"""The report as people read it, and the JSON object as programs do."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from activities.contracts import (
    CallProgress,
    FailedCall,
    RunBudget,
    RunOutcome,
    RunProgress,
    Usage,
)
from boundary.contracts import CallError, EvidenceStatus, InvocationStatus
from boundary.errors import ErrorCode
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Standing, Verdict
from casebound.progress import PlainProgress
from casebound.progress_live import LiveProgress
from casebound.render import Place, report_lines, run_json
from casebound.run_view import CallView, RunView

BUDGET = RunBudget(
    tool_calls=Usage(used=3, limit=50),
    turns=Usage(used=2, limit=40),
    run_bytes=Usage(used=2560, limit=64 << 20),
    tokens=Usage(used=0),
)

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
            status=InvocationStatus.READY,
            evidence_status=EvidenceStatus.EVIDENCE_FOUND,
            executions=1,
            raw_bytes=900,
            agent_result_bytes=40,
            agent_result={"lines": [{"text": "too many connections", "big": 2**63 + 1}]},
        ),
    ),
    could_not_check=(
        FailedCall(
            tool_call_id="deploys",
            tool_name="search_logs",
            error=CallError(code=ErrorCode.EXECUTION_TIMEOUT, message="no answer within 60 s"),
        ),
    ),
    budget=BUDGET,
    started_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    ended_at=datetime(2026, 1, 2, 3, 4, 17, 500_000, tzinfo=UTC),
    evidence_expires_at=datetime(2026, 1, 9, 3, 14, 5, tzinfo=UTC),
)

REPORT = """\
Question  Why did checkout fail?
Outcome   REPORTED
Verdict   PARTIAL: some claim is not proven

1. [✔ proven] The database refused connections.
     OK    db-errors  at /lines/0/text  “too many connections”

2. [✘ unproven] (absence) No deploy happened.
   Not even a small one.
     NOT_READY  deploys

3. [✘ unproven] It was the moon.
     cites nothing

Could not be checked
  deploys  search_logs  EXECUTION_TIMEOUT: no answer within 60 s

Budget    3 of 50 calls, 2 of 40 turns, 2.5 KiB of 64 MiB evidence
Time      12.5 s
proven means: the quoted evidence exists in this run, unchanged; it does not mean that it entails the claim.

Run       0199-run
Temporal  casebound up, then http://127.0.0.1:8233/namespaces/default/workflows/casebound-0199
Evidence  kept until 2026-01-09 03:14 UTC
Next      casebound show 0199-run
          casebound evidence 0199-run db-errors"""


def text(view: RunView, place: Place | None = None) -> str:
    """The report as it is printed into a pipe."""
    return "\n".join(line.text for line in report_lines(view, place or Place("http://127.0.0.1:8233", later=True)))


def test_a_report_says_what_is_proven_by_what_and_what_could_not_be_checked() -> None:
    """Claims with their standing and citations, failures, budget, meaning of proven, ways on."""
    assert text(VIEW) == REPORT


def test_on_servers_of_ones_own_the_link_is_relative_to_their_ui() -> None:
    """Its address is not known here, the path in it is."""
    place = Place(namespace="ops")
    assert "Temporal  /namespaces/ops/workflows/casebound-0199" in text(VIEW, place)


def test_a_run_without_an_end_says_so() -> None:
    """Nothing is claimed of it, so nothing is explained."""
    view = RunView(run_id="r", workflow_id="w", question="Q?", detail="still running")
    assert text(view).startswith("Question  Q?\nOutcome   none yet: still running\n")
    assert "proven means" not in text(view)


def test_where_nothing_is_claimed_the_calls_are_listed() -> None:
    """Of a run that still goes on, and of one without a usable report."""
    printed = text(VIEW.model_copy(update={"claims": (), "verdict": Verdict.INCONCLUSIVE}))
    assert "Calls\n  db-errors  search_logs  READY, EVIDENCE_FOUND\n" in printed


def test_a_running_stack_needs_no_other_command() -> None:
    """While `casebound up` runs, the link can be opened as it is."""
    assert "Temporal  http://127.0.0.1:8233/namespaces/default/" in text(VIEW, Place("http://127.0.0.1:8233"))


def test_expired_evidence_is_told_and_no_command_for_it_is_offered() -> None:
    """The report outlives its evidence."""
    view = VIEW.model_copy(update={"evidence_expires_at": None, "calls": ()})
    assert "Evidence  expired, or not in this store" in text(view)
    assert "casebound evidence" not in text(view)


def test_what_a_log_says_cannot_steer_the_terminal() -> None:
    """Escape sequences in claims and quotes are shown, not sent."""
    evil = CheckedClaim(
        text="\x1b[2J\x1b[1;32m✔ proven",
        standing=Standing.UNPROVEN,
        citations=(CheckedCitation(tool_call_id="a", quote="x\x1b]0;title\x07", status=CitationStatus.OK),),
    )
    printed = text(VIEW.model_copy(update={"claims": (evil,), "question": "a\u202eb"}))
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "\u202e" not in printed
    assert "\\x1b[2J" in printed


def test_the_json_object_has_the_documented_keys() -> None:
    """Programs read these; numbers stay exact."""
    printed = json.loads(run_json(VIEW))
    assert {key: printed[key] for key in ("run_id", "workflow_id", "question", "outcome", "verdict")} == {
        "run_id": "0199-run",
        "workflow_id": "casebound-0199",
        "question": "Why did checkout fail?",
        "outcome": "REPORTED",
        "verdict": "PARTIAL",
    }
    assert printed["claims"][0] == {
        "text": "The database refused connections.",
        "kind": "finding",
        "standing": "proven",
        "citations": [
            {
                "tool_call_id": "db-errors",
                "pointer": "/lines/0/text",
                "quote": "too many connections",
                "status": "OK",
            }
        ],
    }
    assert printed["calls"] == [
        {
            "tool_call_id": "db-errors",
            "tool_name": "search_logs",
            "status": "READY",
            "evidence_status": "EVIDENCE_FOUND",
            "error": None,
            "executions": 1,
            "raw_bytes": 900,
            "agent_result_bytes": 40,
            "agent_result": {"lines": [{"text": "too many connections", "big": 2**63 + 1}]},
        }
    ]
    assert printed["could_not_check"][0]["error"] == {"code": "EXECUTION_TIMEOUT", "message": "no answer within 60 s"}
    assert printed["budget"]["tool_calls"] == {"used": 3, "limit": 50}
    assert set(printed["budget"]) == {"tool_calls", "turns", "run_bytes", "tokens"}
    assert (printed["started_at"], printed["ended_at"]) == ("2026-01-02T03:04:05Z", "2026-01-02T03:04:17.500000Z")


def progress(state: str, *calls: CallProgress, turn: int = 1) -> RunProgress:
    return RunProgress.model_validate(
        {
            "run_id": "r",
            "state": state,
            "turn": turn,
            "calls": calls,
            "calls_total": len(calls),
            "budget": BUDGET,
            "deadline_ms": 0,
        }
    )


RUNNING = CallProgress(call_index=1, tool_call_id="a", tool_name="search_logs", arguments='{"x": 1}', state="running")
FOUND = RUNNING.model_copy(
    update={"state": "READY", "evidence_status": EvidenceStatus.EVIDENCE_FOUND, "preview": "line\x1b[0m one"}
)
REFUSED = CallProgress(
    tool_call_id="b",
    tool_name="nope",
    state="refused",
    error=CallError(code=ErrorCode.UNKNOWN_TOOL, message="there is no tool 'nope'"),
)


def test_plain_progress_prints_each_change_once() -> None:
    """For pipes and logs: no line twice, no control character."""
    stream = io.StringIO()
    view = PlainProgress(stream)
    for state in (
        progress("planning"),
        progress("calling", RUNNING),
        progress("calling", RUNNING),
        progress("calling", FOUND, REFUSED),
        progress("planning", FOUND, REFUSED, turn=2),
    ):
        view.update(state)
    view.close()
    assert stream.getvalue().splitlines() == [
        "turn 1: planning",
        "turn 1: calling",
        '  #1 search_logs {"x": 1} ...',
        '  #1 search_logs {"x": 1} -> EVIDENCE_FOUND  line\\x1b[0m one',
        "  #- nope -> UNKNOWN_TOOL: there is no tool 'nope'",
        "turn 2: planning",
    ]


def test_live_progress_draws_state_calls_and_budget_and_leaves_nothing_behind() -> None:
    """Only what was said stays on the screen."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100)
    view = LiveProgress(console)
    view.update(progress("calling", FOUND, REFUSED))
    with console.capture() as capture:
        console.print(view)
    view.say("run 0199")
    view.close()
    drawn = Text.from_ansi(capture.get()).plain
    assert "turn 1, calling; 2 calls" in drawn
    assert "#1 search_logs" in drawn
    assert "3 of 50 calls" in drawn
    assert "run 0199" in stream.getvalue()
