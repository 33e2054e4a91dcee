"""Makes the views that expressions see of steps and calls, and names their fields.

Above: `progress` makes them from what the run knows; `scope_check` refuses fields that do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.planners.runbook.values import View
from boundary.contracts import (
    CallError,
    EvidenceStatus,
    InvocationStatus,
    JsonValue,
    ToolBoundaryResult,
)

SKIPPED = "SKIPPED"
"""Status of a step, or an item of one, that made no call."""

CALL_FIELDS = frozenset(
    {"call", "status", "found", "empty", "failed", "skipped", "result", "truncated", "error", "reason"}
)
"""Of a step without `for_each`, and of each of the `results` of a step with it."""

GROUP_FIELDS = frozenset({"status", "found", "empty", "failed", "skipped", "reason", "results", "calls"})
"""Of a step with `for_each`."""

BODY_FIELDS = frozenset({"result", "results", "truncated"})
"""Fields for which the stored result must be read; the others are known from the run's history."""


def answered(label: str, result: ToolBoundaryResult) -> View:
    """Make the view of a call that was made."""
    failed = result.status is not InvocationStatus.READY
    fields: dict[str, JsonValue] = {
        # Only the first of two calls that ask the same can be cited.
        "call": result.repeats or result.tool_call_id,
        "status": result.status.value,
        "found": result.evidence_status is EvidenceStatus.EVIDENCE_FOUND,
        "empty": result.evidence_status is EvidenceStatus.NO_EVIDENCE,
        "failed": failed,
        "skipped": False,
        "error": None,
        "reason": None,
    }
    if failed:
        fields["error"] = _error(result.error)
        return View(label, fields, dict.fromkeys(BODY_FIELDS, f"the call failed ({_code(result.error)})"))
    return View(label, fields | {"result": result.agent_result, "truncated": result.truncated})


def _error(error: CallError | None) -> JsonValue:
    return {"code": _code(error), "message": error.message if error else ""}


def _code(error: CallError | None) -> str:
    return error.code.value if error else "ERROR"


def skipped(label: str, reason: str) -> View:
    """Make the view of a step or item that made no call."""
    fields: dict[str, JsonValue] = {
        "status": SKIPPED,
        "found": False,
        "empty": False,
        "failed": False,
        "skipped": True,
        "error": None,
        "reason": reason,
        "results": [],
        "calls": [],
    }
    return View(label, fields, dict.fromkeys(("result", "truncated", "call"), f"it was skipped: {reason}"))


def with_item(view: View, item: JsonValue) -> View:
    """Add the item of a `for_each` that the call was made for."""
    return View(view.label, {**view.fields, "item": item}, view.absent)


def group(label: str, views: Sequence[View]) -> View:
    """Make the view of a step with `for_each` from those of its items."""
    made = [view for view in views if not view.fields["skipped"]]
    if not made:
        nothing = skipped(label, "there was nothing to repeat it for" if not views else "every item was skipped")
        return View(label, {**nothing.fields, "results": list(views)}, nothing.absent)
    failed = any(view.fields["failed"] for view in made)
    found = any(view.fields["found"] for view in made)
    fields: dict[str, JsonValue] = {
        "status": "ERROR" if failed else "READY",
        "found": found,
        "empty": not failed and not found,
        "failed": failed,
        "skipped": False,
        "error": None,
        "reason": None,
        "results": list(views),
        "calls": [view.fields["call"] for view in made],
    }
    instead = "it has for_each; use .results"
    return View(label, fields, dict.fromkeys(("result", "truncated", "call"), instead))
