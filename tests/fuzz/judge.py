"""What must hold for every run, whatever its planner, tools and person sent.

Reads what the run left; changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from temporalio.api.enums.v1 import EventType

from activities.contracts import RunOutcome, TurnMode
from activities.planners.port import RequestedCall, Turn
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from boundary.ids import is_tool_call_id
from boundary.limits import KIB, MIB
from boundary.report import CheckedClaim, CitationStatus, Standing, verdict_of
from tests.fuzz.stage import Played, turn_of
from tests.support.histories import payloads

PAYLOAD_MAX = 2 * MIB
"""Temporal's own limit."""
PAYLOAD_WARNED = 512 * KIB
"""Temporal warns from here on; of all a run writes only checked reports and its result may be larger."""

_LARGER = (EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,)


def judge(played: Played) -> None:
    """Hold the run to everything that needs no server."""
    try:
        _no_task_failed(played)
        _payloads_are_small(played)
        _results_are_in_order(played)
        _one_record_each(played)
        _bytes_add_up(played)
        _claims_stand_as_cited(played)
    except AssertionError as error:
        raise AssertionError(f"{error}\nin {played.script!r}") from error


def _no_task_failed(played: Played) -> None:
    failed = [
        event.workflow_task_failed_event_attributes.failure.message
        for event in played.history.events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
    ]
    assert not failed, f"workflow tasks failed: {failed}"
    ended = played.history.events[-1].event_type
    assert ended == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, f"ended with {EventType.Name(ended)}"
    assert played.result.outcome not in (RunOutcome.STORE_LOST, RunOutcome.CANCELLED), played.result.detail
    assert not played.result.unsettled


def _payloads_are_small(played: Played) -> None:
    scheduled = {
        event.event_id: event.activity_task_scheduled_event_attributes.activity_type.name
        for event in played.history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    }
    for event in played.history.events:
        of = scheduled.get(event.activity_task_completed_event_attributes.scheduled_event_id, "")
        larger = event.event_type in _LARGER or of == "casebound.check_report"
        limit = PAYLOAD_MAX if larger else PAYLOAD_WARNED
        sizes = [payload.ByteSize() for payload in payloads(event)]
        size = max(sizes, default=0)
        assert size < limit, f"a payload of {size} bytes in {EventType.Name(event.event_type)} {of}"
        assert event.ByteSize() < PAYLOAD_MAX, f"an event of {event.ByteSize()} bytes"


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
        assert len(asked.past) == asked.plan.number - 1, "the planner was not told of every turn"
        for past, results in zip(asked.past, asked.results, strict=True):
            calls = _requested(turn_of(played.script, past.number))
            assert len(results) == len(calls), f"turn {past.number}: {len(results)} results for {len(calls)} calls"
            for position, (call, result) in enumerate(zip(calls, results, strict=True)):
                where = f"turn {past.number}, call {position}"
                expected, given = _legal_id(call), result.tool_call_id
                given = given if given is not None and is_tool_call_id(given) else None
                assert given == expected, f"{where}: the result is of {given!a}, not of {expected!a}"
                assert (result.error is None) is (result.status is InvocationStatus.READY), where


def _admitted(played: Played) -> Iterator[str]:
    for event in played.history.events:
        attributes = event.activity_task_scheduled_event_attributes
        if attributes.activity_type.name and not attributes.activity_type.name.startswith("casebound."):
            yield json.loads(attributes.input.payloads[0].data)["tool_call_id"]


def _one_record_each(played: Played) -> None:
    admitted = list(_admitted(played))
    assert len(set(admitted)) == len(admitted), "an id was admitted twice"
    assert sorted(played.records) == sorted(admitted), "records and admitted calls differ"
    open_records = [call_id for call_id, stored in played.records.items() if not stored.record.settled]
    assert not open_records, f"left PROJECTING: {open_records}"
    assert played.result.budget.tool_calls.used == len(admitted) <= played.script.limits.max_tool_calls
    plans = [asked for asked in played.asked if asked.plan.mode is TurnMode.PLAN]
    assert len(plans) <= played.script.limits.max_turns
    lost = [
        (stored.record.tool_name, stored.record.error.message)
        for stored in played.records.values()
        if stored.record.error and stored.record.error.code in (ErrorCode.WORKER_LOST, ErrorCode.EXECUTION_TIMEOUT)
    ]
    assert not lost, f"no tool takes long or ends its worker: {lost}"


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
