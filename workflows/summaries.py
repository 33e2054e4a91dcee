"""Texts people read in the Temporal UI: activity summaries and the run's current details. Pure."""

from __future__ import annotations

import json
from typing import Any, cast

from activities.contracts import CallProgress, RunProgress, Usage
from boundary.contracts import ReplacedText, shorten
from boundary.redaction import Redactor

SUMMARY_MAX = 100
"""Characters; servers limit summaries (400 bytes), and the history holds each."""

ARGUMENTS_SHOWN = 80
"""Characters of a call's arguments in a summary or a line of progress."""

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "`": "'", "<": "&lt;"})

_REDACTOR = Redactor()
"""Masks what looks like a secret; the worker's own secrets never get near the workflow."""


def short_arguments(arguments: str | ReplacedText) -> str:
    """Show the argument values of a call in a few words, whatever the text is."""
    if isinstance(arguments, ReplacedText):
        return f"({arguments.reason}, {arguments.bytes} bytes)"
    try:
        parsed: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        parsed = arguments
    shown = " ".join(_values(cast("dict[str, Any]", parsed))) if isinstance(parsed, dict) else str(parsed)
    return shorten(" ".join(_REDACTOR.text(shown[:2000])[0].split()), ARGUMENTS_SHOWN)


def call_summary(call_index: int, tool_name: str, arguments: str | ReplacedText) -> str:
    """Say which call this is, as in `#7 search_logs sshd "Failed password"`."""
    return shorten(f"#{call_index} {tool_name} {short_arguments(arguments)}".rstrip(), SUMMARY_MAX)


def current_details(progress: RunProgress) -> str:
    """Show budget, state and the latest calls as Markdown."""
    budget = progress.budget
    lines = [
        f"**{progress.state}**, turn {progress.turn} ({progress.mode})",
        "",
        "| tool calls | turns | bytes | tokens |",
        "|---|---|---|---|",
        f"| {_usage(budget.tool_calls)} | {_usage(budget.turns)} "
        f"| {_usage(budget.run_bytes)} | {_usage(budget.tokens)} |",
    ]
    if progress.calls:
        lines += ["", "| # | call | tool | arguments | state | result |", "|---|---|---|---|---|---|"]
        lines += [_line(call) for call in progress.calls]
    return "\n".join(lines)


def _values(arguments: dict[str, Any]) -> list[str]:
    return [_value(key, value) for key, value in arguments.items()]


def _value(key: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"{key}={value}"
    return f'"{value}"' if " " in value else value


def _usage(usage: Usage) -> str:
    return f"{usage.used} of {usage.limit}" if usage.limit is not None else f"{usage.used}"


def _line(call: CallProgress) -> str:
    result = f"{call.error.code}: {call.error.message}" if call.error else call.preview
    state = call.state if call.evidence_status is None else f"{call.state} {call.evidence_status}"
    cells = (call.call_index or "", call.tool_call_id or "", call.tool_name, call.arguments, state, result)
    return "| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _cell(text: str) -> str:
    short = shorten(" ".join(text.split()), 160)
    return short.translate(_ESCAPES)
