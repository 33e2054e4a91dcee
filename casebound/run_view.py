"""What `diagnose --json` and `show --json` print of a run, gathered from Temporal and the store.

Above: the commands and `casebound.render`. Below: the run's result (Temporal keeps it longest),
its index (brief, turns, summary) and its records. Any of them may be gone or not yet there; what
is left is shown. Nothing here asks a worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from activities.contracts import CallResult, FailedCall, RunBudget, RunOutcome, RunResult
from activities.stored import RunBrief, StoredTurn, read_stored
from boundary.backend import Backend
from boundary.contracts import (
    CallError,
    EvidenceStatus,
    Frozen,
    InvocationStatus,
    JsonObject,
    JsonValue,
    ReplacedText,
    ToolCall,
    call_error,
)
from boundary.errors import ErrorCode, RecordExpired
from boundary.ids import is_tool_call_id
from boundary.redaction import Redactor
from boundary.report import CheckedClaim, Verdict
from boundary.run_index import IndexedRun, RunIndex
from boundary.store import InvocationStore, StoredInvocation
from boundary.strict_json import StrictJsonError, parse_object

Arguments = JsonObject | str | ReplacedText | None
"""Of a call as the planner gave them, secrets masked: the object, or the text that is none; None: not kept."""

EXCESS_SHOWN = 200
"""Calls beyond a turn's limits that are listed, of each turn; a planner gone wild asks for thousands."""

_EXCESS = CallResult.refused(
    call_error(ErrorCode.BUDGET_EXCEEDED, "refused: the turn asked for more calls than a turn may")
)


class EvidenceStore(Protocol):
    """The parts of an open store that views read."""

    @property
    def invocations(self) -> InvocationStore:
        """The records."""
        ...

    @property
    def runs(self) -> RunIndex:
        """The runs' indexes."""
        ...

    @property
    def backend(self) -> Backend:
        """The server; its clock is the one that counts here."""
        ...


class CallView(Frozen):
    """One requested call; refused ones have no record and were never executed."""

    tool_call_id: str | None
    tool_name: str
    turn: int | None = None
    """None: the store, which knows, is gone."""
    arguments: Arguments = None
    status: InvocationStatus
    evidence_status: EvidenceStatus
    error: CallError | None = None
    repeats: str | None = None
    """Id of the earlier call that asked the same and has the result; this one was not made."""
    executions: int = 0
    raw_bytes: int = 0
    agent_result_bytes: int = 0
    agent_result: JsonValue = None


class RunView(Frozen):
    """A run as far as it is known: `outcome` and `verdict` are None while it runs."""

    run_id: str
    workflow_id: str
    question: str
    running: bool = False
    outcome: RunOutcome | None = None
    verdict: Verdict | None = None
    detail: str = ""
    claims: tuple[CheckedClaim, ...] = ()
    calls: tuple[CallView, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the planner says it did not carry out or left out of its report, each with the reason."""
    could_not_check: tuple[FailedCall, ...] = ()
    could_not_check_more: int = 0
    unsettled: int = 0
    budget: RunBudget | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    evidence_expires_at: datetime | None = None
    """None: the store holds nothing of the run any more."""


@dataclass(frozen=True)
class KnownRun:
    """What the caller knows of a run beside the store."""

    run_id: str
    workflow_id: str
    question: str = ""
    result: RunResult | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    detail: str = ""
    """Why there is no result, if it is known."""
    running: bool = False
    """Temporal says so."""
    cancelled: bool = False
    """Temporal says so; a run cancelled before it was opened leaves no summary."""


async def view_run(known: KnownRun, store: EvidenceStore, redactor: Redactor) -> RunView:
    """Gather the view of a run; the redactor masks secrets in arguments and remarks, which no tool result is.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    now_ms = await store.backend.now_ms()
    index = await store.runs.read(known.run_id, now_ms=now_ms)
    if index is None:
        return view_without_store(known)
    result = known.result
    try:
        if result is None and index.summary is not None:
            result = read_stored(RunResult, index.summary)
        brief, chain = read_stored(RunBrief, index.brief), _chain(index)
    except RecordExpired:  # somebody altered it: as good as gone
        return view_without_store(known)
    found = await _records(known.run_id, chain, store, now_ms)
    calls = tuple(_call_view(one, found, redactor) for one in _requested(chain))
    remarks = tuple(redactor.text(remark)[0] for remark in _remarks(chain))
    return _view(known, result, brief, calls, remarks)


async def all_records(run_id: str, store: EvidenceStore, now_ms: int) -> dict[str, StoredInvocation]:
    """Read the records of all calls the run's turns asked for, by id, without raw responses.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    index = await store.runs.read(run_id, now_ms=now_ms)
    return {} if index is None else await _records(run_id, _chain(index), store, now_ms)


def view_without_store(known: KnownRun) -> RunView:
    """Make the view of a run whose evidence is gone or out of reach."""
    listed = known.result.calls if known.result else ()
    calls = (
        CallView(
            tool_call_id=call.tool_call_id,
            tool_name=call.tool_name,
            status=call.status,
            evidence_status=call.evidence_status,
        )
        for call in listed
    )
    return _view(known, known.result, None, tuple(calls))


@dataclass(frozen=True)
class _Requested:
    """One call as a turn asked for it, and the answer it got; None: there is none yet."""

    call: ToolCall
    answer: CallResult | None
    turn: int
    position: int
    """Place within the turn; -1: beyond what a turn may ask for."""


def _requested(chain: Sequence[StoredTurn]) -> list[_Requested]:
    """List the calls of the run's chain of turns in request order, each with its one answer."""
    listed: list[_Requested] = []
    for place, stored in enumerate(chain):
        answers = chain[place + 1].input.results if place + 1 < len(chain) else ()
        number = stored.input.number
        for position, call in enumerate(stored.turn.calls):
            answer = answers[position] if position < len(answers) else None
            listed.append(_Requested(call, answer, number, position))
        excess = (ToolCall(tool_call_id=call_id) for call_id in stored.excess_ids[:EXCESS_SHOWN])
        listed += [_Requested(call, _EXCESS, number, -1) for call in excess]
    return listed


def _chain(index: IndexedRun) -> list[StoredTurn]:
    """Follow the parents from the last turn, oldest first; turns beside the chain were never acted on."""
    turns = {key: read_stored(StoredTurn, text) for key, text in index.turns.items()}
    key = max(turns, key=lambda key: turns[key].input.number, default=None)
    chain: list[StoredTurn] = []
    while key is not None and key in turns:
        chain.append(turns.pop(key))
        key = chain[-1].input.parent
    return chain[::-1]


def _remarks(chain: Sequence[StoredTurn]) -> Iterable[str]:
    """Take the remarks of the last report: it tells of the whole run, an earlier one was replaced by it."""
    return dict.fromkeys(next((stored.remarks for stored in reversed(chain) if stored.turn.reported), ()))


async def _records(
    run_id: str, chain: Sequence[StoredTurn], store: EvidenceStore, now_ms: int
) -> dict[str, StoredInvocation]:
    ids = [call.tool_call_id for stored in chain for call in stored.turn.calls]
    legal = {call_id: None for call_id in ids if isinstance(call_id, str) and is_tool_call_id(call_id)}
    return await store.invocations.read(run_id, list(legal), now_ms=now_ms)


def _call_view(requested: _Requested, found: dict[str, StoredInvocation], redactor: Redactor) -> CallView:
    call_id, answer = requested.call.tool_call_id, requested.answer
    stored = found.get(call_id) if isinstance(call_id, str) else None
    if stored is not None and (stored.record.turn, stored.record.position) == (requested.turn, requested.position):
        return _recorded(stored, redactor)
    return CallView(
        tool_call_id=call_id if isinstance(call_id, str) else None,
        tool_name=_name(requested.call.tool_name),
        turn=requested.turn,
        arguments=_masked(requested.call.arguments, redactor) if requested.position >= 0 else None,
        status=answer.status if answer else InvocationStatus.PROJECTING,
        evidence_status=answer.evidence_status if answer else EvidenceStatus.UNKNOWN,
        error=answer.error if answer else None,
        repeats=answer.repeats if answer else None,
    )


def _recorded(stored: StoredInvocation, redactor: Redactor) -> CallView:
    record, seen = stored.record, stored.agent_view()
    return CallView(
        tool_call_id=record.tool_call_id,
        tool_name=record.tool_name,
        turn=record.turn,
        arguments=_masked(record.request.arguments, redactor),
        status=seen.status,
        evidence_status=seen.evidence_status,
        error=seen.error,
        executions=record.executions,
        raw_bytes=record.sizes.raw or 0,
        agent_result_bytes=record.sizes.agent_result or 0,
        agent_result=seen.agent_result,
    )


def _masked(arguments: str | ReplacedText, redactor: Redactor) -> Arguments:
    """Read and mask arguments; a text that is no strict JSON object stays a text."""
    if isinstance(arguments, ReplacedText):
        return arguments
    try:
        return cast(JsonObject, redactor.value(parse_object(arguments))[0])
    except StrictJsonError:
        return redactor.text(arguments)[0]


def _name(name: str | ReplacedText) -> str:
    return name if isinstance(name, str) else f"({name.reason}, {name.bytes} bytes)"


def _view(
    known: KnownRun,
    result: RunResult | None,
    brief: RunBrief | None,
    calls: tuple[CallView, ...],
    remarks: tuple[str, ...] = (),
) -> RunView:
    facts: dict[str, Any] = {
        "run_id": known.run_id,
        "workflow_id": known.workflow_id or (brief.workflow_id if brief else ""),
        "question": brief.question if brief else known.question,
        "running": known.running,
        "detail": known.detail,
        "calls": calls,
        "remarks": remarks,
        "started_at": known.started_at,
        "ended_at": known.ended_at,
        "evidence_expires_at": _time(brief.expires_at_ms) if brief else None,
    }
    if result is None and known.cancelled:
        facts |= {"outcome": RunOutcome.CANCELLED, "detail": "the run was cancelled and left no summary"}
    if result is not None:
        facts |= {
            "question": result.question,
            "outcome": result.outcome,
            "verdict": result.verdict,
            "detail": result.detail,
            "claims": result.claims,
            "could_not_check": result.could_not_check,
            "could_not_check_more": result.could_not_check_more,
            "unsettled": result.unsettled,
            "budget": result.budget,
            "started_at": _time(result.started_at_ms),
            "ended_at": _time(result.ended_at_ms),
        }
    return RunView(**facts)


def _time(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, UTC)
