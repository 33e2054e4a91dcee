"""Texts people read in the Temporal UI: activity summaries and the run's current details. Pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, cast

from activities.contracts import CallProgress, RunProgress, RunResult, Usage
from boundary.contracts import ReplacedText, shorten
from boundary.redaction import Redactor

SUMMARY_MAX = 100
"""Characters; the history holds each summary."""

SUMMARY_MAX_BYTES = 400
"""Of the payload: a Temporal server's limit."""

ARGUMENTS_SHOWN = 80
"""Characters of a call's arguments in a summary or a line of progress."""

CLAIMS_SHOWN = 20
"""Claims in the details of a run that has ended; its result has all of them."""

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "`": "'", "<": "\\<"})

_REDACTOR = Redactor()
"""Masks what looks like a secret; the worker's own secrets never get near the workflow."""


def short_arguments(arguments: str | ReplacedText) -> str:
    """Show the argument values of a call in a few words, whatever the text is, secrets masked."""
    if isinstance(arguments, ReplacedText):
        return f"({arguments.reason}, {arguments.bytes} bytes)"
    try:
        shown = _values(json.loads(arguments or "{}"))
    except (ValueError, RecursionError):
        shown = arguments
    # Masked before it is cut: half a secret would not be recognised any more.
    return shorten(_line_of(_REDACTOR.text(shown)[0]), ARGUMENTS_SHOWN)


def call_summary(call_index: int, tool_name: str, arguments: str | ReplacedText) -> str:
    """Say which call this is, as in `#7 search_logs sshd "Failed password"`."""
    summary = shorten(f"#{call_index} {tool_name} {short_arguments(arguments)}".rstrip(), SUMMARY_MAX)
    while len(json.dumps(summary, ensure_ascii=False).encode()) > SUMMARY_MAX_BYTES:
        summary = shorten(summary, len(summary) - 10)
    return summary


def current_details(progress: RunProgress, question: str, owner: str) -> str:
    """Show what was asked, state, budget and the latest calls as Markdown."""
    lines = [
        _asked(question, owner),
        "",
        f"**{progress.state}**, turn {progress.turn} ({progress.mode}), deadline {_time(progress.deadline_ms)}",
        *_steered(progress),
        *_tables(progress),
    ]
    return "\n".join(lines)


def closed_details(result: RunResult, progress: RunProgress, owner: str) -> str:
    """Show what was asked, why the run ended, what was proven and what could not be checked, as Markdown."""
    lines = [_asked(result.question, owner), ""]
    lines += [f"**{result.outcome}**, **{result.verdict}**" + (f": {_cell(result.detail)}" if result.detail else "")]
    for claim in result.claims[:CLAIMS_SHOWN]:
        cited = ", ".join(dict.fromkeys(citation.tool_call_id for citation in claim.citations))
        lines += ["", f"- {claim.standing}: {_cell(claim.text)} (calls: {_cell(cited) or 'none'})"]
    if len(result.claims) > CLAIMS_SHOWN:
        lines += ["", f"- and {len(result.claims) - CLAIMS_SHOWN} claims more, in the result"]
    failed = len(result.could_not_check) + result.could_not_check_more
    if failed:
        lines += ["", f"could not be checked: {failed} calls, listed in the result"]
    lines += ["", "proven: the quoted evidence exists in this run, unchanged; not that it entails the claim"]
    return "\n".join([*lines, *_tables(progress)])


def _tables(progress: RunProgress) -> list[str]:
    budget = progress.budget
    lines = [
        "",
        _row("tool calls", "turns", "bytes", "tokens"),
        "|---|---|---|---|",
        _row(*map(_usage, (budget.tool_calls, budget.turns, budget.run_bytes, budget.tokens))),
    ]
    if progress.calls:
        lines += ["", _row("#", "call", "tool", "arguments", "state", "result"), "|---|---|---|---|---|---|"]
        lines += [_line(call) for call in progress.calls]
    return lines


def _asked(question: str, owner: str) -> str:
    return f"{_cell(question)} (asked by {_cell(owner) or 'nobody named'})"


def _steered(progress: RunProgress) -> list[str]:
    """Say what people did to the run that it has not come to terms with yet."""
    lines: list[str] = []
    if (pause := progress.paused) is not None:
        by = f" by {_cell(pause.by)}" if pause.by else ""
        reason = f": {_cell(pause.reason)}" if pause.reason else ""
        lines += ["", f"**paused** since {_time(pause.since_ms)}{by}{reason}"]
    if progress.notes_pending:
        lines += ["", f"notes for the planner's next turn: {progress.notes_pending}"]
    return lines


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _values(parsed: Any) -> str:
    masked = _REDACTOR.value(parsed)[0]
    if not isinstance(masked, dict):
        return str(masked)
    return " ".join(_value(key, value) for key, value in cast("dict[str, Any]", masked).items())


def _value(key: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"{key}={value}"
    return f'"{value}"' if " " in value else value


def _line_of(text: str) -> str:
    """Put on one line what a reader can see: no control characters, no halves of characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _usage(usage: Usage) -> str:
    return f"{usage.used} of {usage.limit}" if usage.limit is not None else f"{usage.used}"


def _line(call: CallProgress) -> str:
    result = f"{call.error.code}: {call.error.message}" if call.error else call.preview
    state = call.state if call.evidence_status is None else f"{call.state} {call.evidence_status}"
    cells = (call.call_index or "", call.tool_call_id or "", call.tool_name, call.arguments, state, result)
    return _row(*(_cell(str(cell)) for cell in cells))


def _row(*cells: str) -> str:
    """Write a row; the Temporal UI puts no room of its own between two cells."""
    return "| " + "\u00a0 | ".join(cells) + " |"


def _cell(text: str) -> str:
    return shorten(_line_of(text), 160).translate(_ESCAPES)
