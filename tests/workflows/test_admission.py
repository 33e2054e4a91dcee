"""Admission, as a pure function: the first failure wins, in one order, whatever the call is made of."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.contracts import RecentCall, RunLimits, ToolLimits
from boundary.contracts import MESSAGE_MAX, ReplacedText, ToolCall
from boundary.errors import ErrorCode
from boundary.ids import is_tool_call_id
from boundary.limits import ARGUMENTS_MAX_BYTES
from workflows.admission import Gate, Repetition, legal_id, refusal, repetition, tool_label
from workflows.budget import Ledger
from workflows.marks import call_mark, id_mark

REPLACED = ReplacedText(reason="oversized", bytes=3_000_000, sha256="0" * 64)
FREE_CALL = ToolCall(tool_call_id="fresh", tool_name="probe", arguments="{}")
NOW_MS = 1_000_000


def open_gate() -> Gate:
    """A gate that lets every sensible call through."""
    return Gate(
        ledger=Ledger(RunLimits(max_tool_calls=5)),
        tools={"probe": ToolLimits(max_calls=2), "other": ToolLimits()},
        seen={id_mark("used")},
        now_ms=NOW_MS,
        deadline_ms=NOW_MS + 1,
    )


@dataclass
class Case:
    """A call before a gate, both changed by faults."""

    gate: Gate
    call: ToolCall

    def cancel(self) -> None:
        self.gate = replace(self.gate, cancelled=True)

    def stop(self) -> None:
        self.gate = replace(self.gate, active=False)

    def pass_the_deadline(self) -> None:
        self.gate = replace(self.gate, deadline_ms=self.gate.now_ms)

    def spend_the_budget(self) -> None:
        self.gate.ledger.tool_calls = self.gate.ledger.limits.max_tool_calls

    def name(self, tool_call_id: str | ReplacedText | None) -> None:
        self.call = self.call.model_copy(update={"tool_call_id": tool_call_id})

    def ask_for_no_tool(self) -> None:
        self.call = self.call.model_copy(update={"tool_name": "no_such_tool"})

    def spend_the_tool(self) -> None:
        self.gate.ledger.by_tool["probe"] = 2

    def argue_at_length(self) -> None:
        self.call = self.call.model_copy(update={"arguments": "x" * (ARGUMENTS_MAX_BYTES + 1)})


RUN_FAULTS = {
    ErrorCode.RUN_CANCELLED: Case.cancel,
    ErrorCode.RUN_NOT_ACTIVE: Case.stop,
    ErrorCode.DEADLINE_EXCEEDED: Case.pass_the_deadline,
    ErrorCode.BUDGET_EXCEEDED: Case.spend_the_budget,
}
"""What stands against every call, in the order in which it is looked at."""

ID_FAULTS: dict[ErrorCode, list[str | ReplacedText | None]] = {
    ErrorCode.MISSING_TOOL_CALL_ID: [None, ""],
    ErrorCode.INVALID_TOOL_CALL_ID: ["a b", "ä", "x" * 257, "\n", REPLACED],
    ErrorCode.DUPLICATE_TOOL_CALL_ID: ["used"],
}

TOOL_FAULTS = {
    ErrorCode.UNKNOWN_TOOL: Case.ask_for_no_tool,
    ErrorCode.BUDGET_EXCEEDED: Case.spend_the_tool,
    ErrorCode.INVALID_ARGUMENTS: Case.argue_at_length,
}
"""What stands against this call of this tool, in order."""


@given(
    run=st.sets(st.sampled_from(list(RUN_FAULTS))),
    named=st.none() | st.sampled_from([(code, value) for code, values in ID_FAULTS.items() for value in values]),
    tool=st.sets(st.sampled_from(list(TOOL_FAULTS))),
)
def test_the_first_failure_wins(
    run: set[ErrorCode], named: tuple[ErrorCode, str | ReplacedText | None] | None, tool: set[ErrorCode]
) -> None:
    """Run, then id, then tool, each in its own order; a call without a fault is admitted."""
    case = Case(open_gate(), FREE_CALL)
    for code in run:
        RUN_FAULTS[code](case)
    if named is not None:
        case.name(named[1])
    for code in tool:
        TOOL_FAULTS[code](case)
    expected = [
        *[code for code in RUN_FAULTS if code in run],
        *([named[0]] if named else []),
        *[code for code in TOOL_FAULTS if code in tool],
    ]
    error = refusal(case.call, case.gate)
    assert [error.code if error else None] == (expected[:1] or [None])


ANY_TEXT = st.text() | st.text(alphabet=st.characters(codec="ascii"), max_size=300)
ANY_FIELD = ANY_TEXT | st.just(REPLACED)


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@given(
    call_id=ANY_FIELD | st.none() | st.just("used"),
    name=ANY_FIELD | st.just("probe"),
    arguments=ANY_FIELD,
    active=st.booleans(),
)
def test_any_call_is_admitted_or_refused_in_words_and_changes_nothing(
    call_id: str | ReplacedText | None, name: str | ReplacedText, arguments: str | ReplacedText, active: bool
) -> None:
    """Never an exception; a refusal is bounded and can be written to the history; nothing is charged by asking."""
    gate = replace(open_gate(), active=active)
    before = copy.deepcopy(gate)
    call = ToolCall(tool_call_id=call_id, tool_name=name, arguments=arguments)
    error = refusal(call, gate)
    assert gate == before
    if error is None:
        assert legal_id(call) == call_id
        assert tool_label(call) == name
    else:
        assert 0 < len(error.message) <= MESSAGE_MAX
        assert error.message.encode()


@given(ANY_FIELD | st.none())
def test_a_legal_id_is_one_that_can_stand_in_a_key(value: str | ReplacedText | None) -> None:
    """What `legal_id` returns is what the planner sent, unchanged; anything else is None."""
    found = legal_id(ToolCall(tool_call_id=value))
    assert found == (value if isinstance(value, str) and is_tool_call_id(value) else None)


def test_one_free_place_admits_one_call_and_no_second() -> None:
    """The call that takes the last place is admitted; from then on the budget stands against all."""
    gate = replace(open_gate(), ledger=Ledger(RunLimits(max_tool_calls=1)))
    assert refusal(FREE_CALL, gate) is None
    gate.ledger.admit(1, "probe")
    error = refusal(FREE_CALL, gate)
    assert error is not None
    assert error.code is ErrorCode.BUDGET_EXCEEDED


@pytest.mark.parametrize(("left_ms", "admitted"), [(1, True), (0, False), (-1, False)])
def test_a_call_at_the_deadline_is_too_late(left_ms: int, admitted: bool) -> None:
    """The instant of the deadline is no time for calls any more."""
    error = refusal(FREE_CALL, replace(open_gate(), deadline_ms=NOW_MS + left_ms))
    assert (error is None) is admitted


@pytest.mark.parametrize(("age_ms", "repeats"), [(0, True), (600_000, True), (600_001, False)])
def test_a_call_older_than_the_window_may_be_made_again(age_ms: int, repeats: bool) -> None:
    """To the millisecond: what it saw may have changed since."""
    mark = call_mark("probe", "{}")
    assert mark is not None
    first = RecentCall(tool_call_id="first", ready_ms=NOW_MS - age_ms)
    gate = replace(open_gate(), recent={mark: first}, repeat_window_ms=600_000)
    assert repetition(FREE_CALL, gate) == (Repetition(mark, first) if repeats else None)
