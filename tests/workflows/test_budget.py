"""The ledger of a run: whatever is admitted and settled, in whatever order, capacity holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from activities.contracts import RunLimits
from boundary.limits import MIN_RECORD_BYTES
from workflows.budget import Ledger

SIZES = st.integers(min_value=1, max_value=40 * MIN_RECORD_BYTES)

LIMITS = st.builds(
    RunLimits,
    max_tool_calls=st.integers(min_value=0, max_value=12),
    max_turns=st.integers(min_value=1, max_value=5),
    max_run_bytes=SIZES,
    max_record_bytes=st.integers(min_value=MIN_RECORD_BYTES, max_value=40 * MIN_RECORD_BYTES),
    max_tokens=st.none() | st.integers(min_value=1, max_value=100),
    max_parallel_calls=st.integers(min_value=1, max_value=6),
)


def held(ledger: Ledger) -> int:
    """Bytes used and reserved together."""
    return ledger.run_bytes + sum(ledger.reserved.values())


class Runs(RuleBasedStateMachine):
    """Admits as `TurnCalls` does, when there is room and nothing is exhausted; settles in any order."""

    running: Bundle[tuple[int, int]] = Bundle("running")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(RunLimits())
        self.charged = 0
        self.admitted = 0
        self.at_once = 0

    @precondition(lambda self: not self.admitted)
    @rule(limits=LIMITS)
    def begin(self, limits: RunLimits) -> None:
        self.ledger = Ledger(limits)

    @precondition(lambda self: self.ledger.has_room() and self.ledger.exhausted() is None)
    @rule(target=running, tool=st.sampled_from(["probe", "search"]))
    def admit(self, tool: str) -> tuple[int, int]:
        self.admitted += 1
        grant = self.ledger.admit(self.admitted, tool)
        assert grant >= MIN_RECORD_BYTES
        assert grant <= self.ledger.limits.max_record_bytes
        self.at_once = max(self.at_once, self.ledger.running)
        return self.admitted, grant

    @rule(call=consumes(running), share=st.floats(min_value=0, max_value=1))
    def settle(self, call: tuple[int, int], share: float) -> None:
        index, grant = call
        size = round(grant * share)
        self.ledger.settle(index, size)
        self.charged += size

    @rule(call=consumes(running))
    def settle_without_a_size(self, call: tuple[int, int]) -> None:
        index, grant = call
        before = self.ledger.run_bytes
        self.ledger.settle(index, None)
        assert self.ledger.run_bytes == before + grant, "a size never learnt is charged as the whole grant"
        self.charged += grant

    @rule(tokens=st.integers(min_value=0, max_value=60))
    def plan(self, tokens: int) -> None:
        self.ledger.turns += 1
        self.ledger.tokens += tokens

    @invariant()
    def capacity_holds(self) -> None:
        assert held(self.ledger) <= self.ledger.limits.max_run_bytes
        assert self.ledger.run_bytes == self.charged

    @invariant()
    def calls_are_counted_once(self) -> None:
        assert self.ledger.tool_calls == self.admitted == sum(self.ledger.by_tool.values())
        assert self.admitted <= self.ledger.limits.max_tool_calls
        assert self.at_once <= self.ledger.limits.max_parallel_calls

    @invariant()
    def nothing_waits_for_ever(self) -> None:
        """Where nothing runs there is room, so a waiting call is admitted or refused."""
        assert self.ledger.running or self.ledger.has_room()

    @invariant()
    def what_is_left_is_never_negative(self) -> None:
        left = self.ledger.left()
        assert min(left.tool_calls, left.turns, left.run_bytes, left.tokens or 0) >= 0
        if not self.admitted or not self.ledger.running:
            assert left.run_bytes == self.ledger.unreserved


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=150, stateful_step_count=40)
TestRuns = pytest.mark.proves("INV-CAPACITY")(TestRuns)


@given(limits=LIMITS, used=SIZES | st.just(0), reserved=st.lists(SIZES, max_size=4))
def test_a_grant_is_worth_having_or_nothing(limits: RunLimits, used: int, reserved: list[int]) -> None:
    """Never more than a record may take or than nobody holds; never a rest too small for a record."""
    ledger = Ledger(limits, run_bytes=used, reserved=dict(enumerate(reserved)))
    grant = ledger.byte_grant()
    free = limits.max_run_bytes - used - sum(reserved)
    worth_having = MIN_RECORD_BYTES
    assert grant == (min(free, limits.max_record_bytes) if free >= worth_having else 0)
    assert (ledger.exhausted() is None) == (
        limits.max_tool_calls > 0 and grant > 0 and (limits.max_tokens is None or limits.max_tokens > 0)
    )


@given(limits=LIMITS, calls=st.integers(min_value=0, max_value=20), turns=st.integers(min_value=0, max_value=9))
def test_what_a_person_is_shown_is_what_was_charged(limits: RunLimits, calls: int, turns: int) -> None:
    """Used and limit of each line, also where more was used than allowed."""
    shown = Ledger(limits, tool_calls=calls, turns=turns, run_bytes=7, tokens=3).used()
    assert (shown.tool_calls.used, shown.tool_calls.limit) == (calls, limits.max_tool_calls)
    assert (shown.turns.used, shown.turns.limit) == (turns, limits.max_turns)
    assert (shown.run_bytes.used, shown.tokens.used, shown.tokens.limit) == (7, 3, limits.max_tokens)


def test_a_call_waits_while_a_running_one_may_still_free_the_bytes_it_wants() -> None:
    """With less than a whole record unreserved there is no room until the running call has settled."""
    record = 2 * MIN_RECORD_BYTES
    ledger = Ledger(RunLimits(max_run_bytes=3 * MIN_RECORD_BYTES, max_record_bytes=record))
    assert ledger.admit(1, "probe") == record
    assert not ledger.has_room()
    ledger.settle(1, 100)
    assert ledger.has_room()
    assert ledger.admit(2, "probe") == record
