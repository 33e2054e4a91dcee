"""The pure verdict on an admitted call, before anything is stored or executed.

Above: `ToolBoundary` asks for it, then always runs `store.begin`: a stored outcome of the same
call wins over any verdict. Below: the registry, strict JSON and the schema gate. It reads no
clock, no store and no network, and it never raises for anything a planner wrote. It is not
admission: that one is decided by the workflow, from history, before a call exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from boundary.contracts import AdmittedCall, CallError, JsonObject, ReplacedText, call_error, shorten
from boundary.errors import ErrorCode
from boundary.ids import is_tool_call_id, is_tool_name
from boundary.limits import ARGUMENTS_MAX_BYTES, RecordLimits
from boundary.record import request_fits
from boundary.registry import RegisteredTool, ToolRegistry
from boundary.strict_json import StrictJsonError, parse_object
from boundary.tools import Tool, ToolDefinition, ToolFailure


@dataclass(frozen=True)
class RunScope:
    """The run on whose behalf a worker acts."""

    run_id: str
    active: bool = True
    """False: it takes no calls any more."""
    cancelled: bool = False


@dataclass(frozen=True)
class Passed:
    """The call may execute."""

    tool: Tool
    definition: ToolDefinition
    arguments: JsonObject
    """As parsed; they fit the tool's schema and the tool's own check."""


@dataclass(frozen=True)
class Failed:
    """The call must not execute; the first fault in the order of the checks."""

    error: CallError


Preflight = Passed | Failed
"""The verdict."""


def preflight(
    call: AdmittedCall, run: RunScope, registry: ToolRegistry, limits: RecordLimits, now_ms: int
) -> Preflight:
    """Check a call in a fixed order; the first failure is the verdict.

    Id, run, deadline and budget of the grant, tool, size of the request, strict JSON, JSON
    Schema, read-only, the tool's own check.
    """
    gates: tuple[Callable[[], CallError | None], ...] = (
        lambda: _check_id(call),
        lambda: _check_run(call, run),
        lambda: _check_grant(call, now_ms),
    )
    for gate in gates:
        if (error := gate()) is not None:
            return Failed(error)
    registered = registry.get(call.tool_name)
    if registered is None:
        return Failed(_missing_tool(call.tool_name))
    if (error := _check_size(call, limits)) is not None:
        return Failed(error)
    return _check_arguments(call.arguments, registered, limits)


def request_bytes(arguments: str | ReplacedText) -> int:
    """Size of the argument text in UTF-8, lone surrogates as three bytes; 0 where it was replaced."""
    return 0 if isinstance(arguments, ReplacedText) else len(arguments.encode("utf-8", "surrogatepass"))


def _check_id(call: AdmittedCall) -> CallError | None:
    if not call.tool_call_id:
        return call_error(ErrorCode.MISSING_TOOL_CALL_ID, "the call has no tool_call_id: give each call its own id")
    if not is_tool_call_id(call.tool_call_id):
        return call_error(
            ErrorCode.INVALID_TOOL_CALL_ID,
            "the tool_call_id must be 1 to 256 printable ASCII characters without space",
        )
    return None


def _check_run(call: AdmittedCall, run: RunScope) -> CallError | None:
    if call.run_id != run.run_id:
        return call_error(ErrorCode.RUN_MISMATCH, "the call belongs to another run than the one this worker serves")
    if run.cancelled:  # before `active`: a cancelled run takes no calls either, and this says more
        return call_error(ErrorCode.RUN_CANCELLED, "the run was cancelled")
    if not run.active:
        return call_error(ErrorCode.RUN_NOT_ACTIVE, "the run takes no tool calls any more: report with what there is")
    return None


def _check_grant(call: AdmittedCall, now_ms: int) -> CallError | None:
    if now_ms >= call.grant.deadline_ms:
        late = now_ms - call.grant.deadline_ms
        return call_error(ErrorCode.DEADLINE_EXCEEDED, f"the call's deadline passed {late} ms ago")
    for unit, left in (("bytes", call.grant.bytes), ("attempts", call.grant.attempts)):
        if left < 1:
            return call_error(ErrorCode.BUDGET_EXCEEDED, f"the call was granted no {unit}")
    return None


def _missing_tool(name: str) -> CallError:
    if is_tool_name(name):  # the run's catalog had it, or it would not have been admitted
        return call_error(ErrorCode.TOOL_UNAVAILABLE, f"the worker that got the call does not have tool {name!r}")
    return call_error(ErrorCode.UNKNOWN_TOOL, f"there is no tool {shorten(name, 80)!r}: use a name of the catalog")


def _check_size(call: AdmittedCall, limits: RecordLimits) -> CallError | None:
    """A request over its own limit, or that leaves no room in the byte grant for a record, is too large."""
    size = request_bytes(call.arguments)
    if size > limits.request:
        return _too_large("request", size, limits.request)
    return None if request_fits(call) else _too_large("byte grant", size, call.grant.bytes)


def _too_large(what: str, size: int, limit: int) -> CallError:
    message = f"{what}: the argument text has {size} bytes, the limit is {limit}: send shorter arguments"
    return call_error(ErrorCode.RESULT_TOO_LARGE, message)


def _check_arguments(text: str | ReplacedText, registered: RegisteredTool, limits: RecordLimits) -> Preflight:
    if isinstance(text, ReplacedText):
        return Failed(_replaced(text, limits))
    try:
        arguments = parse_object(text)
    except StrictJsonError as error:
        return Failed(call_error(ErrorCode.INVALID_ARGUMENTS, f"arguments: {error.message}"))
    if (violation := registered.gate.violations(arguments)) is not None:
        return Failed(violation)
    if not registered.definition.read_only:
        name = registered.definition.name
        return Failed(call_error(ErrorCode.NOT_READ_ONLY, f"tool {name!r} is not read-only: it is never executed"))
    if (refusal := _own_check(registered.tool, arguments)) is not None:
        return Failed(refusal)
    return Passed(registered.tool, registered.definition, arguments)


def _replaced(text: ReplacedText, limits: RecordLimits) -> CallError:
    limit = min(limits.request, ARGUMENTS_MAX_BYTES)
    why = {
        "oversized": f"over the limit of {limit} bytes: send shorter arguments",
        "not_unicode": f"not valid Unicode (limit {limit} bytes): send one JSON object in UTF-8",
        "not_text": f"not text (limit {limit} bytes): send one JSON object as text",
    }[text.reason]
    return call_error(
        ErrorCode.INVALID_ARGUMENTS, f"arguments: {text.reason}: the argument text of {text.bytes} bytes was {why}"
    )


def _own_check(tool: Tool, arguments: JsonObject) -> CallError | None:
    try:
        return tool.check(arguments)
    except ToolFailure as failure:  # the tool's own word, safe to show
        return call_error(failure.code or ErrorCode.EXECUTION_ERROR, failure.message)
    except BaseException as error:  # any bug in the check is a value too; its text may hold anything, so only the type
        return call_error(ErrorCode.EXECUTION_ERROR, f"the tool's own check failed with {type(error).__name__}")
