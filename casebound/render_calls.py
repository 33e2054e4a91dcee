"""A tool call in a few words: its tool, its arguments, how it ended.

Above: the report names calls with this wherever it rests on them. Below: `casebound.run_view`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from boundary.contracts import EvidenceStatus, InvocationStatus, JsonValue, ReplacedText
from casebound.cli_text import exact_line, one_line
from casebound.run_view import CallView

ARGUMENTS_SHOWN = 160
"""Characters of a call's arguments in the report; `casebound evidence` has more, the JSON all of them."""

SOUGHT_SHOWN = 1000
"""The same of a call that found nothing: what it looked for is all there is to check."""

VALUE_LEAST = 40
"""Characters that are left of the longest argument where not all fit."""

_PLAIN = re.compile(r"[^\s\"'{}\[\],=]+")
"""A text that reads as one word without quotes around it."""


def call_text(call: CallView) -> str:
    """Say what was asked: the tool and its arguments, each under its name and as it can be copied."""
    return f"{one_line(call.tool_name, 64)} {_arguments(call)}".rstrip()


def call_name(tool_call_id: str | None) -> str:
    """Write a call's id, or that it has none."""
    return one_line(tool_call_id or "(no id)", 256)


def ending(call: CallView) -> str:
    """Say how a call ended."""
    if call.error is not None:
        return call.error.code.value
    if call.status is InvocationStatus.PROJECTING:
        return "no answer yet"
    return "found nothing" if call.evidence_status is EvidenceStatus.NO_EVIDENCE else "found something"


def by_id(calls: Iterable[CallView]) -> dict[str, CallView]:
    """Find the call that an id means: the one that has a record, where others with that id were refused."""
    found: dict[str, CallView] = {}
    for call in calls:
        name = call.tool_call_id
        if name is not None and (name not in found or (call.executions and not found[name].executions)):
            found[name] = call
    return found


def _arguments(call: CallView) -> str:
    limit = SOUGHT_SHOWN if call.evidence_status is EvidenceStatus.NO_EVIDENCE else ARGUMENTS_SHOWN
    match call.arguments:
        case None:
            return ""
        case ReplacedText(reason=reason, bytes=size):
            return f"({reason}, {size} bytes)"
        case str(text):
            return exact_line(text, limit)
        case named:
            return _fitting([f"{name}={_value(value)}" for name, value in named.items()], limit)


def _fitting(parts: list[str], limit: int) -> str:
    """Join the arguments; where that is too long, the longest pays for it, so that the others can be read."""
    over = len(" ".join(parts)) - limit
    if over > 0:
        longest = max(parts, key=len)
        short = exact_line(longest, max(VALUE_LEAST, len(longest) - over))
        parts = [short if part is longest else part for part in parts]
    return exact_line(" ".join(parts), limit)


def _value(value: JsonValue) -> str:
    """Write a value; a text in quotes that it does not hold, so that a pattern needs no escapes."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if _PLAIN.fullmatch(value):
        return value
    quote = next((mark for mark in ("'", '"') if mark not in value), None)
    return f"{quote}{value}{quote}" if quote else json.dumps(value, ensure_ascii=False)
