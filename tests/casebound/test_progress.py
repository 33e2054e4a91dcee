"""What a person sees while a run goes on."""

from __future__ import annotations

import io

from rich.console import Console
from rich.text import Text

from activities.contracts import CallProgress, RunProgress
from boundary.contracts import CallError, EvidenceStatus
from boundary.errors import ErrorCode
from casebound.progress import PlainProgress
from casebound.progress_live import LiveProgress
from tests.casebound.reports import BUDGET


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
    assert "turn 1: calling; 2 calls" in drawn
    assert "#1 search_logs" in drawn
    assert "3 of 50 calls" in drawn
    assert "run 0199" in stream.getvalue()
