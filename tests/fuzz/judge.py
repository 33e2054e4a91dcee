"""What must hold for every run, whatever its planner, tools and person sent.

Reads what the run left; changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import WorkflowHistory

from activities.contracts import OPEN_RUN, PLAN, PlannedTurn, RunOutcome, TurnMode
from activities.planners.port import RequestedCall, Turn
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from boundary.ids import is_tool_call_id
from boundary.limits import KIB, MIB
from boundary.report import CheckedClaim, CitationStatus, Standing, verdict_of
from tests.fuzz.async_tools import ENDLESS
from tests.fuzz.stage import Played, turn_of
from tests.support.histories import payloads
from workflows.run_state import SHOWN_CALLS

PAYLOAD_MAX = 2 * MIB
"""Temporal's own limit."""
PAYLOAD_WARNED = 512 * KIB
"""Temporal warns from here on; of all a run writes only checked reports and its result may be larger."""

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
_SLOW = "TMPRL1101"
"""The SDK's word that a workflow task took 2 s. In a soak, which leaves the machine to others, it is no fault: the
server asks again. A task that never comes to an end still lets its run not end."""

HASTE_S = 60
"""A run with a shorter deadline may have no time for a call that a busy machine is slow to start."""

_RACED = (WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,)
"""The server's word that something came in while the run ended: it asks again, with that in the history."""

_LARGER = (EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,)


def judge(played: Played) -> None:
    """Hold the run to everything that needs no server."""
    try:
        if not _was_opened(played):
            _left_nothing(played)
            return
        _ended_as_asked(played)
        _payloads_are_small(played)
        _progress_is_sound(played)
        _results_are_in_order(played)
        _each_call_became_something(played)
        _one_record_each(played)
        _bytes_add_up(played)
        _claims_stand_as_cited(played)
    except AssertionError as error:
        raise AssertionError(f"{error}\nin {played.script!r}") from error


def _was_opened(played: Played) -> bool:
    """Tell whether the run could have a summary: it is kept beside the brief, which a cancellation may outrun."""
    return played.outcome is not None or OPEN_RUN in {
        type_of_activity(played.history, event.activity_task_completed_event_attributes.scheduled_event_id)
        for event in played.history.events
    }


def _left_nothing(played: Played) -> None:
    assert played.told.cancels, "ended before it was opened, and nobody cancelled it"
    assert played.history.events[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
    assert not played.records, "never opened, but it called"
    assert not played.asked, "never opened, but it planned"


def _ended_as_asked(played: Played) -> None:
    failed = [
        event.workflow_task_failed_event_attributes.failure.message
        for event in played.history.events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        and event.workflow_task_failed_event_attributes.cause not in _RACED
        and not (SOAK and _SLOW in event.workflow_task_failed_event_attributes.failure.message)
    ]
    assert not failed, f"workflow tasks failed: {failed}"
    ended, outcome, told = played.history.events[-1].event_type, played.result.outcome, played.told
    cancelled = ended == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
    assert cancelled or ended == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, EventType.Name(ended)
    assert cancelled == (outcome is RunOutcome.CANCELLED), f"{outcome}, and ended with {EventType.Name(ended)}"
    assert not cancelled or told.cancels, "cancelled by nobody"
    assert outcome is not RunOutcome.STOPPED or told.stops, "stopped by nobody"
    assert outcome is not RunOutcome.STORE_LOST, played.result.detail
    assert not played.result.unsettled
    assert not cancelled or not played.result.claims or played.asked, "claims without a turn"


def _progress_is_sound(played: Played) -> None:
    limits = played.script.limits
    for progress in played.told.progress:
        assert progress.run_id == played.result.run_id
        assert len(progress.calls) <= SHOWN_CALLS
        assert progress.calls_total == progress.budget.tool_calls.used <= limits.max_tool_calls
        assert progress.budget.run_bytes.used <= limits.max_run_bytes
        assert progress.budget.turns.used <= limits.max_turns


def _payloads_are_small(played: Played) -> None:
    for event in played.history.events:
        of = type_of_activity(played.history, event.activity_task_completed_event_attributes.scheduled_event_id)
        larger = event.event_type in _LARGER or of == "casebound.check_report"
        limit = PAYLOAD_MAX if larger else PAYLOAD_WARNED
        sizes = [payload.ByteSize() for payload in payloads(event)]
        size = max(sizes, default=0)
        assert size < limit, f"a payload of {size} bytes in {EventType.Name(event.event_type)} {of}"
        assert event.ByteSize() < PAYLOAD_MAX, f"an event of {event.ByteSize()} bytes"


def type_of_activity(history: WorkflowHistory, event_id: int) -> str:
    """Name the activity that the event scheduled; event ids count from 1 without a gap."""
    event = history.events[event_id - 1]
    return event.activity_task_scheduled_event_attributes.activity_type.name if event_id else ""


def _requested(item: Any) -> list[Any]:
    """The calls of a turn, as far as it is one."""
    calls = item.calls if isinstance(item, Turn) else ()
    return list(calls) if isinstance(calls, list | tuple) else []


def _legal_id(call: Any) -> str | None:
    value = call.tool_call_id if isinstance(call, RequestedCall) else None
    return str(value) if isinstance(value, str) and is_tool_call_id(value) else None


def _results_are_in_order(played: Played) -> None:
    """Exactly one result for each call of each earlier turn, in request order, its id kept."""
    for asked in played.asked:
        told = {past.number for past in asked.past}
        untold = set(range(1, asked.plan.number)) - told
        assert len(told) == len(asked.past), "the planner was told of a turn twice"
        assert untold <= _left_turns(played), f"the planner was not told of turns {untold}"
        for past, results in zip(asked.past, asked.results, strict=True):
            calls = _requested(turn_of(played.script, past.number))
            assert len(results) == len(calls), f"turn {past.number}: {len(results)} results for {len(calls)} calls"
            for position, (call, result) in enumerate(zip(calls, results, strict=True)):
                where = f"turn {past.number}, call {position}"
                expected, given = _legal_id(call), result.tool_call_id
                given = given if given is not None and is_tool_call_id(given) else None
                assert given == expected, f"{where}: the result is of {given!a}, not of {expected!a}"
                assert (result.error is None) is (result.status is InvocationStatus.READY), where


def _left_turns(played: Played) -> set[int]:
    """Numbers of the planning turns that a stop, a cancellation or a near deadline left while the planner was asked."""
    asked: dict[int, int] = {}
    left: set[int] = set()
    for event in played.history.events:
        if event.activity_task_scheduled_event_attributes.activity_type.name == PLAN:
            body = event.activity_task_scheduled_event_attributes.input.payloads[0].data
            asked[event.event_id] = json.loads(body)["number"]
        of = {event.activity_task_cancel_requested_event_attributes.scheduled_event_id}
        if played.script.deadline_s < HASTE_S:
            of.add(event.activity_task_timed_out_event_attributes.scheduled_event_id)
        left |= {asked[scheduled] for scheduled in of & asked.keys()}
    return left


def _carried_out(played: Played) -> Iterator[PlannedTurn]:
    """The turns whose calls the run got to."""
    left = _left_turns(played)
    for event in played.history.events:
        attributes = event.activity_task_completed_event_attributes
        if type_of_activity(played.history, attributes.scheduled_event_id) != PLAN:
            continue
        turn = PlannedTurn.model_validate_json(attributes.result.payloads[0].data)
        number, mode, _ = turn.turn_key.split(":")
        calls = (turn.calls or turn.excess) and not turn.reported and turn.failure is None
        if calls and mode == TurnMode.PLAN and int(number) not in left:
            yield turn


def _each_call_became_something(played: Played) -> None:
    """Each call of each turn is READY, repeats one that is, once each, or is listed as what could not be checked."""
    lines = sum(len(turn.calls) + bool(turn.excess) for turn in _carried_out(played))
    ready = sum(stored.record.status is InvocationStatus.READY for stored in played.records.values())
    failed = len(played.result.could_not_check) + played.result.could_not_check_more
    repeats = lines - ready - failed
    most = ready if played.script.limits.repeat_window_s else 0
    assert 0 <= repeats <= most, f"{lines} calls, {ready} of them READY, {failed} failed, {repeats} something else"


def _never_scheduled(played: Played) -> set[str]:
    """Calls that a cancellation or stop met in the moment they were admitted: settled without an activity."""
    return {
        call_id
        for call_id, stored in played.records.items()
        if stored.record.error is not None
        and stored.record.error.code is ErrorCode.CANCELLED
        and stored.record.executions == 0
    }


def _admitted(played: Played) -> Iterator[str]:
    for event in played.history.events:
        attributes = event.activity_task_scheduled_event_attributes
        if attributes.activity_type.name and not attributes.activity_type.name.startswith("casebound."):
            yield json.loads(attributes.input.payloads[0].data)["tool_call_id"]


def _one_record_each(played: Played) -> None:
    admitted = list(_admitted(played))
    assert len(set(admitted)) == len(admitted), "an id was admitted twice"
    unscheduled = set(played.records) - set(admitted)
    assert set(admitted) <= set(played.records), f"without a record: {set(admitted) - set(played.records)}"
    assert unscheduled <= _never_scheduled(played), f"records of no call: {unscheduled}"
    open_records = [call_id for call_id, stored in played.records.items() if not stored.record.settled]
    assert not open_records, f"left PROJECTING: {open_records}"
    assert played.result.budget.tool_calls.used == len(played.records) <= played.script.limits.max_tool_calls
    plans = [asked for asked in played.asked if asked.plan.mode is TurnMode.PLAN]
    assert len(plans) <= played.script.limits.max_turns
    _none_was_lost(played)


def _none_was_lost(played: Played) -> None:
    """Only an endless tool takes its time-out, and none takes its worker with it."""
    for stored in played.records.values():
        name, error = stored.record.tool_name, stored.record.error
        code = error.code if error else None
        assert code is not ErrorCode.WORKER_LOST, f"{name}: {error}"
        cut = name in ENDLESS or played.script.deadline_s < HASTE_S
        assert code is not ErrorCode.EXECUTION_TIMEOUT or cut, f"{name}: {error}"
        assert code is not ErrorCode.CANCELLED or played.told.stops or played.told.cancels, f"{name}: {error}"


def _bytes_add_up(played: Played) -> None:
    used = played.result.budget.run_bytes.used
    total = sum(stored.bytes for stored in played.records.values())
    assert used == total, f"{used} bytes charged for records of {total}"
    assert used <= played.script.limits.max_run_bytes, f"{used} bytes used"
    for call_id, stored in played.records.items():
        bodies = len(stored.raw or b"") + len(stored.agent_result or b"")
        assert stored.bytes == len(stored.encoded) + bodies, f"{call_id}: its record does not say how large it is"
        assert stored.bytes <= played.script.limits.max_record_bytes


def _claims_stand_as_cited(played: Played) -> None:
    for claim in played.result.claims:
        assert claim.standing is _standing(played, claim), f"{claim.standing}: {ascii(claim)[:400]}"
        for citation in claim.citations:
            stored = played.records.get(citation.tool_call_id)
            if stored is None:
                assert citation.status is CitationStatus.UNKNOWN_CALL, f"{citation.status} without a record"
            if citation.status is CitationStatus.OK:
                assert stored is not None
                assert stored.record.status is InvocationStatus.READY
                assert citation.quote is None or _occurs(citation.quote, stored.agent_result or b"")
    if played.result.claims:
        assert played.result.verdict is verdict_of(played.result.claims)


def _standing(played: Played, claim: CheckedClaim) -> Standing:
    if not claim.citations or any(citation.status is not CitationStatus.OK for citation in claim.citations):
        return Standing.UNPROVEN
    for citation in claim.citations:
        found_nothing = played.records[citation.tool_call_id].record.evidence_status == "NO_EVIDENCE"
        assert not found_nothing or claim.kind == "absence", "a finding cites a call that found nothing"
        if citation.pointer is None and citation.quote is None and not found_nothing:
            return Standing.CITED
    return Standing.PROVEN


def _occurs(quote: str, agent_result: bytes) -> bool:
    """Look for the quote in the least clever way: in a text, or as the text of a number, truth value or null."""
    return json.dumps(quote, ensure_ascii=False)[1:-1].encode() in agent_result or quote.encode() in agent_result
