"""Bounds and cleans what a planner produced, before it is stored or enters the history. Pure.

Above: the `casebound.plan` activity stores and returns nothing else; planners read past turns through
`requested_results`. Below: `plain_json`. A planner's output is untrusted: any type, any text, any size
gives a `StoredTurn` whose part for the history stays below 512 KiB of JSON, and nothing here raises for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from pydantic import ValidationError

from activities.contracts import CallResult, PlanInput, PlannedTurn, TurnMode
from activities.plain_json import NotPlain, escaped_bytes, is_unicode, plain
from activities.planners.port import PastTurn, RequestedCall, Turn
from activities.stored import StoredTurn
from boundary.contracts import (
    CallError,
    EvidenceStatus,
    InvocationStatus,
    ReplacedText,
    ToolBoundaryResult,
    ToolCall,
    call_error,
    shorten,
)
from boundary.errors import ErrorCode
from boundary.ids import TOOL_CALL_ID_MAX, is_tool_call_id
from boundary.limits import ARGUMENTS_MAX_BYTES, KIB, REPORT_MAX_BYTES, TURN_MAX_BYTES, TURN_MAX_CALLS
from boundary.report import MAX_CITATIONS, MAX_CLAIMS, Report

TOOL_NAME_MAX: Final = 64
"""Characters of a tool's name; a longer one names no tool."""

DUMPED_MAX_BYTES: Final = 256 * KIB
"""Of arguments given as an object: written out to be measured; beyond this neither size nor digest is taken."""

EXCESS_IDS_MAX: Final = 100_000
EXCESS_IDS_MAX_BYTES: Final = 256 * KIB
"""Entries, and characters in all, of the excess ids kept so that each of these calls gets its refusal."""

CITES_MAX: Final = MAX_CLAIMS * MAX_CITATIONS

REMARKS_MAX: Final = 100
"""Remarks kept of one turn; a runbook makes one for each step it skips and claim it leaves out."""
FAULTS_MAX: Final = 20
FAULT_MAX: Final = 300
"""Faults of one turn, and characters of one; a planner mends a few at a time."""

KEY_SHOWN: Final = 40
PLACE_MAX: Final = 5
"""Characters of an unknown key, and keys of a path, in a fault."""

TOKENS_MAX: Final = 10**9

_REFUSED = (
    f"refused: a turn has at most {TURN_MAX_CALLS} calls with {TURN_MAX_BYTES} bytes of arguments in all, "
    "and none beside a report; ask for the rest in another turn"
)
_NO_TOOLS = "refused: no tools are left in this turn; hand in the report"


def turn_key(plan: PlanInput) -> str:
    """Name the turn that answers this input; the same input, whatever the clock says, has the same key.

    Fields equal to their default do not count, so that a field added later leaves old keys as they are.
    """
    identity = plan.model_dump(exclude={"deadline_ms"}, exclude_defaults=True)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return f"{plan.number}:{plan.mode.value}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def bound_turn(turn: Turn, *, turn_key: str, plan: PlanInput) -> StoredTurn:
    """Make of anything a planner returned the turn that is stored and, without its report, returned."""
    calls = _listed(getattr(turn, "calls", ()))
    given = getattr(turn, "report", None)
    kept = _bounded_calls(calls) if plan.mode is TurnMode.PLAN and given is None else ()
    excess = calls[len(kept) :]
    report, report_faults = (None, []) if given is None else read_report(given)
    faults = _turn_faults(plan.mode, has_calls=bool(calls), has_report=given is not None) + report_faults
    return StoredTurn(
        input=plan,
        turn=PlannedTurn(
            turn_key=turn_key,
            calls=kept,
            excess=len(excess),
            reported=given is not None,
            cites=_cites(report),
            faults=_bounded_faults(faults),
            tokens=_tokens(getattr(turn, "tokens", 0)),
        ),
        report=report,
        excess_ids=_excess_ids(excess),
        remarks=_remarks(getattr(turn, "remarks", ())),
    )


def requested_results(past: PastTurn, stored: Mapping[str, ToolBoundaryResult]) -> list[ToolBoundaryResult]:
    """Give one result for each call the turn asked for, in request order, refused and excess calls included.

    Args:
        past: the turn and what became of its calls.
        stored: settled calls by id, as `RunView.results` gives them.
    """
    known = [*past.results, *[None] * max(0, len(past.calls) - len(past.results))]
    results = [_result_of(call, result, stored) for call, result in zip(past.calls, known, strict=False)]
    message = _REFUSED if past.mode is TurnMode.PLAN else _NO_TOOLS
    refusal = call_error(ErrorCode.BUDGET_EXCEEDED, message)
    return results + [_failed(call_id, "", refusal) for call_id in past.excess_ids]


def _result_of(
    call: ToolCall, result: CallResult | None, stored: Mapping[str, ToolBoundaryResult]
) -> ToolBoundaryResult:
    call_id = call.tool_call_id if isinstance(call.tool_call_id, str) else None
    name = call.tool_name if isinstance(call.tool_name, str) else ""
    if result is None:
        return _failed(call_id, name, call_error(ErrorCode.RUN_NOT_ACTIVE, "the run ended this call without a result"))
    if result.repeats is not None:
        return _repeated(call_id, name, result, stored.get(result.repeats))
    if result.stored and call_id is not None and call_id in stored:
        return stored[call_id]
    if result.error is not None:
        return _failed(call_id, name, result.error)
    return _failed(call_id, name, call_error(ErrorCode.RECORD_EXPIRED, "the record of this call is gone; ask again"))


def _repeated(
    call_id: str | None, name: str, result: CallResult, first: ToolBoundaryResult | None
) -> ToolBoundaryResult:
    """Answer a repetition with the first call's result, where it was read."""
    return ToolBoundaryResult(
        tool_call_id=call_id,
        tool_name=name,
        status=result.status,
        evidence_status=result.evidence_status,
        agent_result=first.agent_result if first is not None else None,
        truncated=first.truncated if first is not None else False,
        repeats=result.repeats,
    )


def _failed(call_id: str | None, name: str, error: CallError) -> ToolBoundaryResult:
    return ToolBoundaryResult(
        tool_call_id=call_id,
        tool_name=name,
        status=InvocationStatus.ERROR,
        evidence_status=EvidenceStatus.ERROR,
        error=error,
    )


# --- calls ---


def _listed(calls: object) -> Sequence[object]:
    """Take a list or tuple of anything as it is; anything else holds no calls."""
    if isinstance(calls, list | tuple):
        return cast("Sequence[object]", calls)
    return ()


def _bounded_calls(calls: Sequence[object]) -> tuple[ToolCall, ...]:
    """Keep the calls up to the first that exceeds a limit of the turn."""
    kept: list[ToolCall] = []
    left = TURN_MAX_BYTES
    for call in calls[:TURN_MAX_CALLS]:
        bounded = _bounded_call(call)
        left -= escaped_bytes(bounded.arguments) if isinstance(bounded.arguments, str) else 0
        if left < 0:
            break
        kept.append(bounded)
    return tuple(kept)


def _bounded_call(call: object) -> ToolCall:
    if not isinstance(call, RequestedCall):
        return ToolCall(tool_name=_replaced("not_text"), arguments=_replaced("not_text"))
    return ToolCall(
        tool_call_id=_bounded_name(call.tool_call_id, TOOL_CALL_ID_MAX) or None,
        tool_name=_bounded_name(call.tool_name, TOOL_NAME_MAX) or "",
        arguments=_bounded_arguments(call.arguments),
    )


def _bounded_name(value: object, limit: int) -> str | ReplacedText | None:
    if value is None:
        return None
    if not isinstance(value, str):
        return _replaced("not_text")
    text = str.__str__(value)
    if not is_unicode(text):
        return _replaced("not_unicode", text)
    return text if len(text) <= limit else _replaced("oversized", text)


def _bounded_arguments(value: object) -> str | ReplacedText:
    if isinstance(value, dict):
        return _dumped(cast("dict[Any, Any]", value))
    if value is None:
        return ""
    if not isinstance(value, str):
        return _replaced("not_text")
    text = str.__str__(value)
    if not is_unicode(text):
        return _replaced("not_unicode", text)
    return text if len(text.encode()) <= ARGUMENTS_MAX_BYTES else _replaced("oversized", text)


def _dumped(arguments: dict[Any, Any]) -> str | ReplacedText:
    """Write arguments given as an object as the text they should have been; strict JSON judges it later."""
    try:
        copied = plain(arguments, DUMPED_MAX_BYTES, strict=False)
    except NotPlain as error:
        return _replaced("oversized" if error.oversized else "not_text")
    return _bounded_arguments(json.dumps(copied, ensure_ascii=False, separators=(",", ":")))


def _replaced(reason: Literal["oversized", "not_unicode", "not_text"], text: str = "") -> ReplacedText:
    data = text.encode("utf-8", "surrogatepass")
    return ReplacedText(reason=reason, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _excess_ids(calls: Sequence[object]) -> tuple[str | None, ...]:
    ids: list[str | None] = []
    left = EXCESS_IDS_MAX_BYTES
    for call in calls[:EXCESS_IDS_MAX]:
        call_id = call.tool_call_id if isinstance(call, RequestedCall) else None
        legal = isinstance(call_id, str) and is_tool_call_id(call_id)
        left -= len(call_id) if legal and call_id else 0
        ids.append(str.__str__(call_id) if legal and call_id and left >= 0 else None)
    return tuple(ids)


# --- the report ---


def _turn_faults(mode: TurnMode, *, has_calls: bool, has_report: bool) -> list[str]:
    if not has_calls and not has_report:
        return ["the turn has neither calls nor a report"]
    if has_calls and has_report and mode is TurnMode.PLAN:
        return ["the turn has calls beside the report; the calls were refused: ask first, report later"]
    if has_calls and not has_report and mode is not TurnMode.PLAN:
        return ["no tools are left; hand in the report"]
    return []


def read_report(value: object) -> tuple[Report | None, list[str]]:
    """Read a report from a value of unknown make, or say what is wrong with it: place, expectation, limit."""
    try:
        return Report.model_validate(plain(value, REPORT_MAX_BYTES)), []
    except NotPlain as error:
        return None, [f"{_place(error.path)}: {error.fault}"]
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return None, [f"{_place(fault['loc'])}: {fault['msg']}" for fault in faults]


def _place(path: tuple[str | int, ...]) -> str:
    """Name a place in the report as EvidenceGuard does: `claim 3, citation 1, quote`, counted from 1."""
    words: list[str] = []
    for token in path:
        if isinstance(token, int) and words:
            words[-1] = f"{words[-1].removesuffix('s')} {token + 1}"
        else:
            words.append(ascii(str(token)[:KEY_SHOWN])[1:-1])
    return ", ".join(words[:PLACE_MAX]) or "report"


def _bounded_faults(faults: list[str]) -> tuple[str, ...]:
    shown = (
        faults if len(faults) <= FAULTS_MAX else [*faults[: FAULTS_MAX - 1], f"and {len(faults) - FAULTS_MAX + 1} more"]
    )
    return tuple(shorten(fault, FAULT_MAX) for fault in shown)


def _cites(report: Report | None) -> tuple[str, ...]:
    claims = report.claims if report else ()
    ids = dict.fromkeys(citation.tool_call_id for claim in claims for citation in claim.citations)
    return tuple(ids)[:CITES_MAX]


def _remarks(value: object) -> tuple[str, ...]:
    """Keep what a planner says of its turn: the first `REMARKS_MAX` texts, shortened."""
    texts = [remark for remark in _listed(value) if isinstance(remark, str)][:REMARKS_MAX]
    return tuple(shorten(text.encode("utf-8", "replace").decode(), FAULT_MAX) for text in texts)


def _tokens(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return max(0, min(TOKENS_MAX, int.__int__(value)))
