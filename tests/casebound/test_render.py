"""The report as people read it, and the JSON object as programs do."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from activities.contracts import RunOutcome
from boundary.contracts import EvidenceStatus, InvocationStatus
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Standing, Verdict
from casebound.commands.output import own_name
from casebound.commands.session import place_of
from casebound.render import Place, run_json
from casebound.run_view import RunView
from casebound.stack import Stack
from tests.casebound.reports import VIEW, text

REPORT = """\
Question  Why did checkout fail?
Outcome   REPORTED
Verdict   PARTIAL: some claim is not proven

1. [✔ proven] The database refused connections.
   - db-errors: search_logs source=db pattern='too many "c'
       /lines/0/text  “too many connections”

2. [✘ unproven] (absence) No deploy happened.
   Not even a small one.
   - deploys: search_logs source=deploy -> EXECUTION_TIMEOUT
       NOT_READY

3. [✘ unproven] It was the moon.
   - cites nothing

proven means: the quoted evidence exists in this run, unchanged; it does not mean that it entails the claim.

Left out
  step 'moon' was skipped: there is none

Could not be checked
  deploys: search_logs source=deploy
    EXECUTION_TIMEOUT: no answer within 60 s

Budget    3 of 50 calls, 2 of 40 turns, 2.5 KiB of 64 MiB evidence
Time      12.5 s

Run       0199-run
Temporal  casebound up, then http://127.0.0.1:8233/namespaces/default/workflows/casebound-0199
Evidence  kept until 2026-01-09 03:14 UTC
Next      casebound show 0199-run
          casebound evidence 0199-run db-errors"""


def test_a_report_says_what_is_proven_by_what_and_what_could_not_be_checked() -> None:
    """Claims with their standing and citations, failures, budget, meaning of proven, ways on."""
    assert text(VIEW) == REPORT


def test_on_servers_of_ones_own_the_workflow_is_named() -> None:
    """The address of their UI is not known here."""
    place = Place(namespace="ops")
    assert "Temporal  namespace ops, workflow ID casebound-0199\n" in text(VIEW, place)


def test_a_ui_port_that_does_not_last_is_not_named() -> None:
    """The next start has another, unless it is the usual one."""
    stack = Stack("t", "http://127.0.0.1:40123", "r", lost=asyncio.Future)
    path = "/namespaces/default/workflows/casebound-0199"
    assert f"Temporal  casebound up, then {path} in the UI it names\n" in text(VIEW, place_of(stack))
    usual = replace(stack, ui_url="http://127.0.0.1:8233")
    assert f"Temporal  casebound up, then {usual.ui_url}{path}\n" in text(VIEW, place_of(usual))
    joined = replace(stack, joined=True)
    assert f"Temporal  {stack.ui_url}{path}\n" in text(VIEW, place_of(joined))


def test_a_run_that_goes_on_says_so_and_lists_its_calls_so_far() -> None:
    """Nothing is claimed of it, so nothing is explained; it can be told to conclude."""
    running = VIEW.calls[0].model_copy(
        update={
            "tool_call_id": "next",
            "status": InvocationStatus.PROJECTING,
            "evidence_status": EvidenceStatus.UNKNOWN,
        }
    )
    view = RunView(
        run_id="r",
        workflow_id="w",
        question="Q?",
        running=True,
        detail="still running",
        calls=(*VIEW.calls, running),
        started_at=VIEW.started_at,
    )
    assert (
        text(view, Place("http://ui"))
        == """\
Question  Q?
Outcome   none yet: still running

Calls so far
  db-errors: search_logs source=db pattern='too many "c' -> found something
  deploys: search_logs source=deploy -> EXECUTION_TIMEOUT
  next: search_logs source=db pattern='too many "c' -> no answer yet

Run       r
Temporal  http://ui/namespaces/default/workflows/w
Evidence  expired, or not in this store
Next      casebound show r
          casebound stop r"""
    )


def test_a_run_whose_worker_ended_with_its_command_says_how_it_goes_on() -> None:
    """On a stack that this command only started to read from, nothing runs."""
    view = RunView(run_id="r", workflow_id="w", question="Q?", running=True, detail="still running")
    assert "none yet: not at its end; it goes on while its configuration is served, by `casebound up`" in text(view)


def test_a_run_that_ended_without_a_result_says_why() -> None:
    """Somebody terminated it."""
    view = RunView(run_id="r", workflow_id="w", question="Q?", detail="the run was terminated: enough")
    assert text(view).startswith("Question  Q?\nOutcome   none yet: the run was terminated: enough\n\nRun")


def test_each_fault_of_a_runbook_has_a_line() -> None:
    """As the worker found them."""
    faults = "book.yaml:3: there is no tool 'serch'\nbook.yaml:9: there is no step 'x' to cite"
    view = VIEW.model_copy(update={"outcome": RunOutcome.PLANNER_FAILED, "detail": faults})
    assert text(view).splitlines()[1:4] == [
        "Outcome   PLANNER_FAILED",
        "          book.yaml:3: there is no tool 'serch'",
        "          book.yaml:9: there is no step 'x' to cite",
    ]


def test_where_nothing_is_claimed_the_calls_are_listed() -> None:
    """Of one without a usable report."""
    printed = text(VIEW.model_copy(update={"claims": (), "verdict": Verdict.INCONCLUSIVE}))
    assert "\nCalls\n  db-errors: search_logs source=db pattern='too many \"c' -> found something\n" in printed


def test_a_running_stack_needs_no_other_command() -> None:
    """While `casebound up` runs, the link can be opened as it is."""
    assert "Temporal  http://127.0.0.1:8233/namespaces/default/" in text(VIEW, Place("http://127.0.0.1:8233"))


def test_the_ways_on_name_the_program_as_it_was_called() -> None:
    """In a checkout it is not on the shell's path."""
    printed = text(VIEW, Place("http://ui", later=True, command=".venv/bin/casebound"))
    assert "Next      .venv/bin/casebound show 0199-run\n" in printed
    assert "Temporal  .venv/bin/casebound up, then http://ui" in printed


def test_a_program_outside_the_path_is_named_by_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the next command can be copied."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_name(tmp_path / ".venv/bin/casebound") == ".venv/bin/casebound"
    assert own_name(Path("/opt/my tools/casebound")) == "'/opt/my tools/casebound'"
    assert own_name(Path("/somewhere/casebound/__main__.py")) == "casebound"
    (tmp_path / "casebound").touch(mode=0o755)
    assert own_name(tmp_path / ".venv/bin/casebound") == "casebound"


def test_expired_evidence_is_told_and_no_command_for_it_is_offered() -> None:
    """The report outlives its evidence."""
    view = VIEW.model_copy(update={"evidence_expires_at": None, "calls": ()})
    assert "Evidence  expired, or not in this store" in text(view)
    assert "casebound evidence" not in text(view)
    assert "   - db-errors\n" in text(view)


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
    assert printed["calls"][:1] == [
        {
            "tool_call_id": "db-errors",
            "tool_name": "search_logs",
            "turn": 1,
            "arguments": {"source": "db", "pattern": 'too many "c'},
            "status": "READY",
            "evidence_status": "EVIDENCE_FOUND",
            "error": None,
            "repeats": None,
            "executions": 1,
            "raw_bytes": 900,
            "agent_result_bytes": 40,
            "agent_result": {"lines": [{"text": "too many connections", "big": 2**63 + 1}]},
        }
    ]
    assert printed["remarks"] == ["step 'moon' was skipped: there is none"]
    assert printed["could_not_check"][0]["error"] == {"code": "EXECUTION_TIMEOUT", "message": "no answer within 60 s"}
    assert printed["budget"]["tool_calls"] == {"used": 3, "limit": 50}
    assert set(printed["budget"]) == {"tool_calls", "turns", "run_bytes", "tokens"}
    assert (printed["started_at"], printed["ended_at"]) == ("2026-01-02T03:04:05Z", "2026-01-02T03:04:17.500000Z")
