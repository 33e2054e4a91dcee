"""What a run carries into its next execution: everything it needs again, in bounded space."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.contracts import (
    CallProgress,
    CallResult,
    FailedCall,
    ListedCall,
    RecentCall,
    RunInput,
    RunLimits,
    ToolLimits,
)
from boundary.contracts import MESSAGE_MAX, EvidenceStatus, InvocationStatus, call_error
from boundary.errors import ErrorCode
from casebound.converter import casebound_data_converter
from workflows.budget import Ledger
from workflows.carrying import REFUSED_MAX, next_input, take_over
from workflows.conclusion import LISTED_MAX
from workflows.marks import id_mark
from workflows.recent_calls import RecentCalls
from workflows.run_state import SHOWN_CALLS, RunState

IDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
DIGEST = "ab" * 32


def state(request: RunInput, started_ms: int = 1_000) -> RunState:
    """A run that has just begun."""
    return RunState(
        input=request, run_id="first", named_run_id="", started_ms=started_ms, ledger=Ledger(request.limits)
    )


def carried_over(before: RunState) -> tuple[RunState, int]:
    """The state in the next execution, through the wire; and the bytes it took."""
    payload = casebound_data_converter.payload_converter.to_payload(next_input(before))
    assert payload is not None
    request = casebound_data_converter.payload_converter.from_payload(payload, RunInput)
    assert request.carried is not None
    after = state(request, started_ms=9_999)
    take_over(after, request.carried)
    return after, len(payload.data)


def kept(one: RunState) -> dict[str, Any]:
    """What must be the same in both: everything but the input's own text, and the phase."""
    fields = asdict(replace(one, input=RunInput(question="q"), phase="planning"))
    return {**fields, "expires": one.expires_ms, "deadline": one.deadline_ms, "gather": one.gather_ms}


@pytest.mark.proves("INV-CONTINUES-AS-ONE")
@given(
    admitted=st.dictionaries(IDS, st.none() | st.just(DIGEST), max_size=8),
    refused=st.sets(IDS, max_size=8),
    counters=st.tuples(*[st.integers(0, 5000)] * 4),
    notes=st.lists(st.text(max_size=20), max_size=3),
    extended_ms=st.integers(0, 10**9),
    index_expires_ms=st.none() | st.integers(10**10, 10**11),
)
def test_the_next_execution_goes_on_where_this_one_left_off(
    admitted: dict[str, str | None],
    refused: set[str],
    counters: tuple[int, ...],
    notes: list[str],
    extended_ms: int,
    index_expires_ms: int | None,
) -> None:
    """Ids, digests, budget, times, notes and results are the same; only the runbook's text is left behind."""
    before = state(RunInput(question="q", runbook="steps", limits=RunLimits(max_tokens=5)))
    before.digests = {id_mark(call_id): digest for call_id, digest in admitted.items()}
    before.seen = {*before.digests, *map(id_mark, refused)}
    ledger = before.ledger
    ledger.tool_calls, ledger.turns, ledger.run_bytes, ledger.tokens = counters
    ledger.by_tool.update({"probe": counters[0]})
    before.notes, before.extended_ms, before.index_expires_ms = notes, extended_ms, index_expires_ms
    before.results = (CallResult(), CallResult.refused(call_error(ErrorCode.UNKNOWN_TOOL, "none")))
    before.tools, before.store_id = {"probe": ToolLimits(max_calls=3)}, "store"
    before.turn, before.parent, before.cut_off, before.spent = 7, "7:plan:abc", True, "all used"
    before.recent = RecentCalls({"mark": RecentCall(tool_call_id="x", ready_ms=5, repeated=True)})
    before.failed_more, before.unsettled = 3, 1
    after, _ = carried_over(before)
    assert kept(after) == kept(before)
    assert after.input.runbook is None
    again, _ = carried_over(after)
    assert kept(again) == kept(before)


def test_the_largest_state_fits_well_into_a_payload() -> None:
    """5,000 calls and every list at its limit, each text at its longest: Temporal refuses 2 MiB."""
    before = state(RunInput(question="q" * 4000, limits=RunLimits(max_tool_calls=5000)))
    error = call_error(ErrorCode.EXECUTION_ERROR, "\x01" * MESSAGE_MAX)
    long_id = "~" * 256
    before.digests = {id_mark(str(number)): DIGEST for number in range(5000)}
    before.seen = {*before.digests, *(id_mark(f"r{number}") for number in range(20_000))}
    listed = ListedCall(
        tool_call_id=long_id,
        tool_name="t" * 64,
        status=InvocationStatus.ERROR,
        evidence_status=EvidenceStatus.ERROR,
    )
    before.listed = [listed] * LISTED_MAX
    before.failed = [FailedCall(tool_call_id=long_id, tool_name="t" * 64, error=error)] * LISTED_MAX
    longest = RecentCall(
        tool_call_id=long_id, ready_ms=10**13, evidence_status=EvidenceStatus.NO_EVIDENCE, repeated=True
    )
    for number in range(5000):
        before.recent.remember(id_mark(str(number)), longest)
    before.results = (CallResult.refused(error),) * 64
    line = CallProgress(tool_name="t" * 64, tool_call_id=long_id, arguments="a" * 80, state="ERROR", error=error)
    before.shown.extend([line] * SHOWN_CALLS)
    after, size = carried_over(before)
    assert size < 1.9 * 2**20
    assert len(after.seen) == 5000 + REFUSED_MAX
    calls_only = state(before.input)
    calls_only.digests = before.digests
    empty = carried_over(state(before.input))[1]
    assert (carried_over(calls_only)[1] - empty) / 5000 <= 150
