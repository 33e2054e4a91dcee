"""Admission: whether a requested call becomes an activity. Pure; the first failure wins.

A call refused here has no record; its refusal is a value in the history and one result for the
planner. What needs the tool itself (schemas, read-only) is the preflight's, inside the activity.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from activities.contracts import RecentCall, ToolLimits
from boundary.contracts import CallError, ReplacedText, ToolCall, call_error
from boundary.errors import ErrorCode
from boundary.ids import TOOL_CALL_ID_MAX, is_tool_call_id
from boundary.limits import ARGUMENTS_MAX_BYTES
from workflows.budget import Ledger
from workflows.marks import call_mark, id_mark


@dataclass(frozen=True)
class Gate:
    """What admission looks at, beside the call."""

    ledger: Ledger
    tools: Mapping[str, ToolLimits]
    """The catalog, from history."""
    seen: Set[str]
    """Marks of the legal ids requested earlier in this run."""
    now_ms: int
    deadline_ms: int
    """Until when calls may run: the run's deadline less the reserve for concluding."""
    recent: Mapping[str, RecentCall] = field(default_factory=dict[str, RecentCall])
    """READY calls by their mark."""
    repeat_window_ms: int = 0
    active: bool = True
    cancelled: bool = False


@dataclass(frozen=True)
class Repetition:
    """The earlier call that has the answer already."""

    mark: str
    call: RecentCall


def refusal(call: ToolCall, gate: Gate) -> CallError | None:
    """Say why the call is not admitted, or None."""
    return _run_refusal(gate) or _id_refusal(call.tool_call_id, gate) or _tool_refusal(call, gate)


def repetition(call: ToolCall, gate: Gate) -> CallError | Repetition | None:
    """Find the READY call that this one repeats: its answer stands; from the third time on, asking is refused."""
    mark = call_mark(tool_label(call), call.arguments) if gate.recent else None
    first = gate.recent.get(mark) if mark is not None else None
    if mark is None or first is None or gate.now_ms - first.ready_ms > gate.repeat_window_ms:
        return None
    if not first.repeated:
        return Repetition(mark, first)
    message = (
        f"the call {first.tool_call_id!r} asked the same and has the answer, as you were told; cite that call, "
        "ask something else, or hand in the report"
    )
    return call_error(ErrorCode.REPEATED_CALL, message)


def legal_id(call: ToolCall) -> str | None:
    """Return the call's id where it is one that can be cited."""
    value = call.tool_call_id
    return value if isinstance(value, str) and is_tool_call_id(value) else None


def tool_label(call: ToolCall) -> str:
    """Name the requested tool for people, whatever the planner sent."""
    name = call.tool_name
    return name if isinstance(name, str) else f"(a name of {name.bytes} bytes)"


def _run_refusal(gate: Gate) -> CallError | None:
    if gate.cancelled:
        return call_error(ErrorCode.RUN_CANCELLED, "the run was cancelled")
    if not gate.active:
        return call_error(ErrorCode.RUN_NOT_ACTIVE, "the run concludes; hand in the report")
    if gate.now_ms >= gate.deadline_ms:
        return call_error(ErrorCode.DEADLINE_EXCEEDED, "the time for tool calls is over; hand in the report")
    spent = gate.ledger.exhausted()
    if spent is not None:
        return call_error(ErrorCode.BUDGET_EXCEEDED, f"{spent}; hand in the report")
    return None


def _id_refusal(value: str | ReplacedText | None, gate: Gate) -> CallError | None:
    if value is None or value == "":
        return call_error(ErrorCode.MISSING_TOOL_CALL_ID, "the call has no id; give each call one of its own")
    if isinstance(value, ReplacedText) or not is_tool_call_id(value):
        message = f"the id is not 1 to {TOOL_CALL_ID_MAX} printable ASCII characters without space"
        return call_error(ErrorCode.INVALID_TOOL_CALL_ID, message)
    if id_mark(value) in gate.seen:
        message = f"the id {value!r} was used before in this run; give each call an id of its own"
        return call_error(ErrorCode.DUPLICATE_TOOL_CALL_ID, message)
    return None


def _tool_refusal(call: ToolCall, gate: Gate) -> CallError | None:
    name = call.tool_name
    tool = gate.tools.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(name, str):
        known = ", ".join(sorted(gate.tools)) or "none"
        return call_error(ErrorCode.UNKNOWN_TOOL, f"there is no tool {tool_label(call)!r}; the tools are: {known}")
    if tool.max_calls is not None and gate.ledger.by_tool[name] >= tool.max_calls:
        message = f"all {tool.max_calls} calls of {name} in one run are used; use another tool or hand in the report"
        return call_error(ErrorCode.BUDGET_EXCEEDED, message)
    if isinstance(call.arguments, str) and len(call.arguments.encode()) > ARGUMENTS_MAX_BYTES:
        message = f"the arguments are over {ARGUMENTS_MAX_BYTES} bytes; send less"
        return call_error(ErrorCode.INVALID_ARGUMENTS, message)
    return None
