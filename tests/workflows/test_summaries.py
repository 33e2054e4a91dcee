"""Texts for the Temporal UI: made of anything a planner sends, always short, on one line, and writable."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from activities.contracts import (
    CallProgress,
    FailedCall,
    Pause,
    RunBudget,
    RunLimits,
    RunOutcome,
    RunProgress,
    RunResult,
    Usage,
)
from boundary.contracts import EvidenceStatus, ReplacedText, call_error
from boundary.errors import ErrorCode
from boundary.limits import ARGUMENTS_MAX_BYTES
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Standing, Verdict
from casebound.converter import casebound_data_converter
from workflows.budget import Ledger
from workflows.summaries import (
    ARGUMENTS_SHOWN,
    SUMMARY_MAX,
    call_summary,
    closed_details,
    current_details,
    short_arguments,
)

SERVER_MAX_BYTES = 400
"""A Temporal server's limit of a summary's payload."""

JSON_TEXT = st.text() | st.text(alphabet=st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp", "So"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | JSON_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(JSON_TEXT, inner, max_size=4),
    max_leaves=20,
)
ARGUMENTS = st.one_of(
    st.text(),
    st.dictionaries(JSON_TEXT, JSON, max_size=5).map(json.dumps),
    JSON.map(json.dumps),
    st.builds(
        ReplacedText,
        reason=st.sampled_from(["oversized", "not_unicode", "not_text"]),
        bytes=st.integers(min_value=0),
        sha256=st.just("0" * 64),
    ),
)
"""Argument text as a turn may hold it: any valid Unicode, JSON or not, or what stands for one that is none."""

SECRET = "Tr0ub4dor-x7Kq9"


def payload_bytes(summary: str) -> int:
    """Size of the summary as the history gets it."""
    return len(casebound_data_converter.payload_converter.to_payload(summary).data)


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@given(call_index=st.integers(min_value=1, max_value=10**6), arguments=ARGUMENTS)
@example(call_index=1, arguments=r'{"pad": "\ud800"}')
@example(call_index=1, arguments=r'{"\udfff": 1}')
@example(call_index=1, arguments=json.dumps({"q": "\U0001f525" * 200}))
@example(call_index=1, arguments=json.dumps({"q": "\x00" * 200}))
@example(call_index=1, arguments=json.dumps({"q": '"' * 200}))
@example(call_index=1, arguments="[" * (ARGUMENTS_MAX_BYTES // 2) + "]" * (ARGUMENTS_MAX_BYTES // 2))
@example(call_index=1, arguments='{"q": ' + "9" * (ARGUMENTS_MAX_BYTES - 7) + "}")
def test_any_arguments_have_a_summary_that_a_server_takes(call_index: int, arguments: str | ReplacedText) -> None:
    """Within characters and bytes, on one line, and always writable: one that is not would hang the run."""
    summary = call_summary(call_index, "search_logs", arguments)
    assert len(summary) <= SUMMARY_MAX
    assert payload_bytes(summary) <= SERVER_MAX_BYTES
    assert summary.startswith(f"#{call_index} search_logs")
    assert len(summary.splitlines()) == 1
    assert len(short_arguments(arguments)) <= ARGUMENTS_SHOWN


@given(arguments=ARGUMENTS)
def test_what_no_reader_can_see_is_not_shown(arguments: str | ReplacedText) -> None:
    """No control character, no change of writing direction, no half of a character: what is shown is what is there."""
    assert short_arguments(arguments).isprintable()


@pytest.mark.parametrize("depth", [10, 200, 900, 980, 1000, 5000])
@pytest.mark.parametrize("shape", ['{{"q": {}}}', "{}"], ids=["in an object", "bare"])
def test_deep_nesting_is_shown_or_left_as_text(shape: str, depth: int) -> None:
    """However deep, and however much of the stack is used already."""
    arguments = shape.format("[" * depth + "]" * depth)

    def below(frames: int) -> str:
        return below(frames - 1) if frames else short_arguments(arguments)

    for frames in (0, 100, 500):
        assert len(below(frames)) <= ARGUMENTS_SHOWN


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": SECRET},
        {"q": "x", "api_key": SECRET},
        {"headers": {"password": SECRET}},
        {"query": f"password={SECRET}"},
        {"url": f"postgres://app:{SECRET}@db/orders"},
        {"command": ["--password", SECRET]},
        f"password={SECRET}",
    ],
    ids=str,
)
def test_a_secret_among_the_arguments_is_masked(arguments: Any) -> None:
    """By the name it stands under as well as by its form."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert SECRET not in call_summary(1, "probe", text)
    assert "[redacted]" in call_summary(1, "probe", text)


@given(pad=st.integers(min_value=0, max_value=4000), masked=st.integers(min_value=0, max_value=60))
@example(pad=0, masked=27)
def test_no_part_of_a_secret_is_shown_wherever_the_text_is_cut(pad: int, masked: int) -> None:
    """A cut through a secret leaves no rest that is not recognised any more."""
    token = "ghp_" + "aB3" * 12
    arguments = json.dumps({"q": f"password={'y' * pad} " * bool(pad) + f"{token} " * masked + token})
    assert "aB3" not in short_arguments(arguments)


def progress(*calls: CallProgress) -> RunProgress:
    """The progress of a run with these calls."""
    budget: RunBudget = Ledger(RunLimits(), tool_calls=len(calls), turns=1).used()
    return RunProgress(run_id="r", state="calling", turn=1, calls=calls, budget=budget, deadline_ms=0)


LINES = st.builds(
    CallProgress,
    call_index=st.none() | st.integers(min_value=1),
    tool_call_id=st.none() | st.text(),
    tool_name=st.text(),
    arguments=ARGUMENTS.map(short_arguments),
    state=st.sampled_from(["running", "READY", "ERROR", "refused"]),
    evidence_status=st.none() | st.sampled_from(EvidenceStatus),
    error=st.none() | st.text(max_size=300).map(lambda text: call_error(ErrorCode.EXECUTION_ERROR, text)),
    preview=st.text(max_size=300) | st.text(alphabet='|\\`<\n"', max_size=300),
)
UNESCAPED_PIPE = re.compile(r"(?<!\\)(?:\\\\)*\|")
UNESCAPED_TAG = re.compile(r"(?<!\\)(?:\\\\)*<")


@given(st.lists(LINES, max_size=5))
def test_current_details_are_a_table_whatever_stands_in_it(calls: list[CallProgress]) -> None:
    """One line per call, six cells each, no markup from a cell, and writable."""
    details = current_details(progress(*calls), "What?", "ada")
    assert details.encode()
    lines = details.splitlines()
    assert lines[0] == "What? (asked by ada)"
    assert lines[2] == "**calling**, turn 1 (plan), deadline 1970-01-01 00:00:00 UTC"
    rows = lines[10:] if calls else []
    assert len(rows) == len(calls)
    assert len(lines) == (10 + len(calls) if calls else 7)
    for row in rows:
        assert len(UNESCAPED_PIPE.findall(row)) == 7
        assert "`" not in row
        assert not UNESCAPED_TAG.search(row)
        assert len(row) < 6 * 4 * 160


def test_a_summary_reads_as_a_person_would_say_it() -> None:
    """The values, quoted where they have blanks; other types by name."""
    arguments = json.dumps({"source": "sshd", "pattern": "Failed password", "limit": 5})
    assert call_summary(7, "search_logs", arguments) == '#7 search_logs sshd "Failed password" limit=5'
    assert call_summary(8, "list_logs", "") == "#8 list_logs"


def test_who_paused_a_run_and_what_waits_for_its_planner_is_shown() -> None:
    """Without markup of their own."""
    pause = Pause(since_ms=60_000, by="ada | `x`", reason="<b>")
    shown = progress().model_copy(update={"paused": pause, "notes_pending": 2})
    details = current_details(shown, "q", "")
    assert "**paused** since 1970-01-01 00:01:00 UTC by ada \\| 'x': \\<b>" in details
    assert "notes for the planner's next turn: 2" in details


def test_usage_is_shown_with_its_limit_where_there_is_one() -> None:
    """`3 of 50`, and just `3` where nothing limits it."""
    shown = progress().model_copy(
        update={
            "budget": RunBudget(
                tool_calls=Usage(used=3, limit=50), turns=Usage(used=1), run_bytes=Usage(used=0), tokens=Usage(used=9)
            )
        }
    )
    assert "| 3 of 50\u00a0 | 1\u00a0 | 0\u00a0 | 9 |" in current_details(shown, "q", "")


def test_the_details_of_a_run_that_ended_say_why_and_what_was_proven() -> None:
    """Outcome and verdict, each claim with its standing and calls, what could not be checked; no markup of others."""
    citation = CheckedCitation(tool_call_id="step|1", pointer="/n", quote="1", status=CitationStatus.OK)
    claims = (
        CheckedClaim(text="it was <b>one</b>", standing=Standing.PROVEN, citations=(citation,)),
        CheckedClaim(text="guess", standing=Standing.UNPROVEN),
    )
    usage = Usage(used=1, limit=2)
    result = RunResult(
        run_id="r",
        question="q",
        outcome=RunOutcome.STOPPED,
        verdict=Verdict.PARTIAL,
        claims=claims,
        could_not_check=(FailedCall(tool_name="probe", error=call_error(ErrorCode.UNKNOWN_TOOL, "no")),),
        could_not_check_more=2,
        detail="enough | seen",
        budget=RunBudget(tool_calls=usage, turns=usage, run_bytes=usage, tokens=usage),
        started_at_ms=0,
        ended_at_ms=1,
    )
    lines = closed_details(result, progress(), "").splitlines()
    assert lines[2] == "**STOPPED**, **PARTIAL**: enough \\| seen"
    assert "- proven: it was \\<b>one\\</b> (calls: step\\|1)" in lines
    assert "- unproven: guess (calls: none)" in lines
    assert "could not be checked: 3 calls, listed in the result" in lines
    assert "proven: the quoted evidence exists in this run, unchanged; not that it entails the claim" in lines
