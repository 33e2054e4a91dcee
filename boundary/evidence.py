"""Turns a raw response into the settlement of a call: sizes, projection, redaction. Pure.

Above: `tool_boundary` runs it in the thread pool and settles with its answer. Raw is kept
whatever happens after it, unless raw itself, or the record with it, is over a limit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue, call_error
from boundary.errors import ErrorCode
from boundary.limits import RECORD_OWN_BYTES, RecordLimits
from boundary.record import Failed, Ready, Settlement
from boundary.redaction import Redactor
from boundary.strict_json import NotJson, dump, load
from boundary.tools import Projection, Tool


@dataclass(frozen=True)
class EvidenceRules:
    """What one call's evidence must keep to."""

    limits: RecordLimits
    grant_bytes: int
    redactor: Redactor


def settlement_of(tool: Tool, arguments: JsonObject, raw: JsonValue, rules: EvidenceRules) -> Settlement:
    """Make the settlement; never raises for anything a tool or projector can return or do."""
    settlement = _settlement_of(tool, arguments, raw, rules)
    _ = settlement.digests  # here in the thread, not on the event loop
    return settlement


def _settlement_of(tool: Tool, arguments: JsonObject, raw: JsonValue, rules: EvidenceRules) -> Settlement:
    try:
        raw_bytes = dump(raw)
    except NotJson as error:
        message = f"the tool's answer is not JSON: {error.message}"
        return Failed(call_error(ErrorCode.EXECUTION_ERROR, rules.redactor.message(message)))
    if len(raw_bytes) > rules.limits.raw:
        return Failed(too_large("raw response", len(raw_bytes), rules.limits.raw), dropped_raw=raw_bytes)
    try:
        # Not `raw` itself: a tool may still write to it, and what is shown has to stand in what is recorded.
        projection = tool.project(arguments, load(raw_bytes), _budget(tool, rules))
        return _projected(projection, raw_bytes, rules)
    except BaseException as error:  # a projector may raise anything, and this is a thread of the boundary's own
        return Failed(call_error(ErrorCode.PROJECTION_ERROR, explain(error, rules.redactor)), raw=raw_bytes)


def too_large(what: str, size: int, limit: int) -> CallError:
    """Say which part is over which limit, in bytes, and what to do."""
    return call_error(
        ErrorCode.RESULT_TOO_LARGE,
        f"the {what} has {size} bytes, the limit is {limit}; ask for less: a narrower window, pattern or limit",
    )


def explain(error: BaseException, redactor: Redactor) -> str:
    """Name the exception and its redacted text, for the record and the agent; never a trace."""
    try:
        text = redactor.message(str(error))
    except Exception:  # an exception's own text may raise
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _budget(tool: Tool, rules: EvidenceRules) -> int:
    granted = max(rules.grant_bytes - RECORD_OWN_BYTES, 1)
    return min(tool.definition.result_bytes, rules.limits.agent_result, granted)


def _projected(projection: Projection, raw: bytes, rules: EvidenceRules) -> Settlement:
    status, truncated = _told(projection.evidence_status, projection.truncated)
    # Of a copy: written once, it has no cycle and no way to grow one while it is walked.
    agent_result, redactions = rules.redactor.value(load(dump(projection.agent_result)))
    agent = _valid_unicode(dump(agent_result))
    if len(agent) > rules.limits.agent_result:
        error = too_large("agent result", len(agent), rules.limits.agent_result)
        return Failed(error, raw=raw, dropped_agent_result=agent)
    return Ready(raw, agent, status, truncated, redactions)


def _told(status: object, truncated: object) -> tuple[EvidenceStatus, bool]:
    """Read what the projector says beside the result; it may say anything."""
    if status not in (EvidenceStatus.EVIDENCE_FOUND, EvidenceStatus.NO_EVIDENCE):
        raise ValueError(f"a projection cannot say {status}")
    if not isinstance(truncated, bool):
        raise TypeError(f"a projection is truncated or not, never {type(truncated).__name__}")
    return EvidenceStatus(status), truncated


def _valid_unicode(body: bytes) -> bytes:
    """Put U+FFFD where a lone surrogate stands: no planner could send one to a model."""
    if rb"\ud" not in body.lower():
        return body
    text = json.dumps(load(body), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
