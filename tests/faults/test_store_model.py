"""Any sequence of owners on any store does what the model says; CASEBOUND_SOAK=1 tries a hundred times as many."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from hypothesis.stateful import run_state_machine_as_test as run_machine

from boundary.contracts import call_error
from boundary.errors import ErrorCode
from boundary.keys import ToolCallKeyFactory
from boundary.store import InvocationStore, Owned, StoredInvocation
from tests.faults.servers import PrivateServer
from tests.faults.store_model import Answer, Key, Model, Outcome, State
from tests.faults.store_stage import Handed, Held, Stage, answer_of, call_of, settlement_of, stage_of, state_of
from tests.support.calls import HOUR_MS, NOW_MS

SOAK = 100 if os.environ.get("CASEBOUND_SOAK") else 1
EXAMPLES = 80 * SOAK
PATIENCE = pytest.mark.timeout(180 * SOAK)

RUNS, IDS = ("run-a", "run-b"), ("call_1", "call:2")
KEYS: tuple[Key, ...] = tuple((run, call_id) for run in RUNS for call_id in IDS)
IDENTITIES = ((1, 0, '{"q": 1}'), (1, 0, '{"q": 2}'), (2, 0, '{"q": 1}'), (1, 1, '{"q": 1}'))

identities = st.sampled_from((IDENTITIES[0],) * 6 + IDENTITIES)
"""Mostly the same call."""

bodies = st.sampled_from(
    [b"null", b"[]", b'{"a":9223372036854775809}', '"é\\u0000"'.encode(), b'"' + b"x" * 999 + b'"']
)
found = st.sampled_from(["EVIDENCE_FOUND", "NO_EVIDENCE"])
outcomes = st.one_of(
    st.builds(Outcome, error=st.none(), evidence=found, raw=bodies, agent=bodies),
    st.builds(Outcome, error=st.sampled_from(["EXECUTION_ERROR", "CANCELLED"]), raw=st.none() | bodies),
)


class StoreMachine(RuleBasedStateMachine):
    """Owners begin, settle, count failures and read; the clock goes on."""

    held: Bundle[Held] = Bundle("held")

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.prefix = next(stage.prefixes)
        self.keys = ToolCallKeyFactory(self.prefix)
        self.store = InvocationStore(stage.backend, self.keys)
        self.model = Model()
        self.now_ms = NOW_MS
        self.nonces = 0
        self.settled: dict[Key, dict[str, bytes]] = {}
        self.ttls: dict[str, int] = {}

    @initialize(target=held, key=st.sampled_from(KEYS))
    def first(self, key: Key) -> Held:
        """There is an owner from the start."""
        held = self._begin(key, IDENTITIES[0], HOUR_MS, "n0", None)
        assert isinstance(held, Held)
        return held

    @rule(
        target=held,
        key=st.sampled_from(KEYS),
        identity=identities,
        ttl_ms=st.sampled_from([HOUR_MS, HOUR_MS, 3 * HOUR_MS, 0, -1]),
    )
    def begin(self, key: Key, identity: tuple[int, int, str], ttl_ms: int) -> Handed:
        """Begin with a nonce of its own."""
        self.nonces += 1
        return self._begin(key, identity, ttl_ms, f"n{self.nonces}", None)

    @rule(key=st.sampled_from(KEYS), identity=identities)
    def refuse(self, key: Key, identity: tuple[int, int, str]) -> None:
        """Begin with a verdict that failed."""
        self.nonces += 1
        self._begin(key, identity, HOUR_MS, f"n{self.nonces}", "SCHEMA_VIOLATION")

    @rule(target=held, owner=held)
    def begin_again(self, owner: Held) -> Handed:
        """Begin with a nonce that was used, as after a lost reply."""
        ttl_ms = owner.state.expires_ms - self.now_ms
        return self._begin(owner.key, owner.state.identity, ttl_ms, owner.state.owner, None)

    @rule(owner=held, outcome=outcomes)
    def settle(self, owner: Held, outcome: Outcome) -> None:
        """Settle what the owner holds, be it long taken over."""
        expected = self.model.settle(owner.key, owner.state, outcome, self.now_ms)
        self._expect(self.store.settle(owner.stored, settlement_of(outcome), now_ms=self.now_ms), expected)

    @rule(owner=consumes(held), outcome=outcomes)
    def settle_twice(self, owner: Held, outcome: Outcome) -> None:
        """The identical settle, repeated, answers the same."""
        self.settle(owner, outcome)
        self.settle(owner, outcome)

    @rule(target=held, owner=held)
    def count_failure(self, owner: Held) -> Handed:
        """Count a failure of what the owner holds; it holds the counted record from then on."""
        expected = self.model.count_failure(owner.key, owner.state, self.now_ms)
        got = self._expect(self.store.count_failure(owner.stored, now_ms=self.now_ms), expected)
        return self._in_hand(owner.key, got, expected)

    @rule(after_ms=st.sampled_from([1, 1000, HOUR_MS // 2, HOUR_MS - 1, HOUR_MS]))
    def time_passes(self, after_ms: int) -> None:
        """No store looks at its own clock."""
        self.now_ms += after_ms

    @invariant()
    def every_read_finds_what_the_model_knows(self) -> None:
        """READY, ERROR or PROJECTING: the same; expired: nothing."""
        visible = self.model.visible(self.now_ms)
        for run_id in RUNS:
            read = self.stage.run(self.store.read(run_id, IDS, now_ms=self.now_ms, raw=True))
            rows = cast("dict[str, StoredInvocation]", read)
            assert {(run_id, call_id): state_of(row) for call_id, row in rows.items()} == {
                key: state for key, state in visible.items() if key[0] == run_id
            }

    @invariant()
    def what_was_settled_stays_as_it_is(self) -> None:
        """Byte for byte, also past its expiry for as long as the server still holds it; so does every expiry."""
        keys = [self.keys.record(*key) for key in KEYS]
        fields = ["record", "expires_at_ms", "raw_response", "agent_result"]
        read = self.stage.run(self.stage.backend.read(keys, fields, now_ms=0))
        for key, row in zip(KEYS, cast("list[dict[str, bytes] | None]", read), strict=True):
            state = self.model.records.get(key)
            assert (row is None) == (state is None)
            if row is None or state is None:
                continue
            assert int(row["expires_at_ms"]) == state.expires_ms
            if state.settled:
                assert self.settled.setdefault(key, row) == row

    @invariant()
    def each_record_is_one_key_with_a_ttl_that_only_shrinks(self) -> None:
        """Nothing is written beside the records, and nothing extends a TTL."""
        ttls = cast("dict[str, int] | None", self.stage.run(self.stage.ttls(self.prefix)))
        if ttls is None:
            return
        assert ttls.keys() == {self.keys.record(*key) for key in self.model.records}
        for key, left in ttls.items():
            assert 0 < left <= self.ttls.get(key, 3 * HOUR_MS)
        self.ttls = ttls

    def _begin(self, key: Key, identity: tuple[int, int, str], ttl_ms: int, nonce: str, verdict: str | None) -> Handed:
        fresh = State(identity, nonce, self.now_ms, self.now_ms + ttl_ms)
        expected = self.model.begin(key, fresh, self.now_ms, verdict)
        refusal = call_error(ErrorCode(verdict), "told") if verdict else None
        call = call_of(key, identity, ttl_ms, self.now_ms)
        begun = self.store.begin(call, nonce=nonce, now_ms=self.now_ms, verdict=refusal)

        async def stored() -> StoredInvocation:
            answer = await begun
            assert isinstance(answer, Owned) is not (isinstance(expected, State) and expected.settled)
            return answer.held if isinstance(answer, Owned) else answer.stored

        return self._in_hand(key, self._expect(stored(), expected), expected)

    def _expect(self, operation: Awaitable[StoredInvocation], expected: Answer) -> StoredInvocation | None:
        """Carry the operation out; it answers with the expected state or raises the expected error."""
        got = self.stage.run(answer_of(operation))
        if not isinstance(got, StoredInvocation):
            assert got == expected
            return None
        assert isinstance(expected, State)
        there = state_of(got, raw=False)
        assert (there.owner, there.status, there.executions, there.failures, there.agent) == (
            expected.owner,
            expected.status,
            expected.executions,
            expected.failures,
            expected.agent,
        )
        return got

    def _in_hand(self, key: Key, got: StoredInvocation | None, expected: Answer) -> Handed:
        if got is None or not isinstance(expected, State):
            nothing: MultipleResults[Held] = multiple()
            return nothing
        return Held(key, got, expected)


def try_many(stage: Stage) -> None:
    """Run the machine on the stage's store."""
    ample = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    chosen = settings(max_examples=EXAMPLES, stateful_step_count=30, suppress_health_check=ample)

    class OnThisStage(StoreMachine):
        def __init__(self) -> None:
            super().__init__(stage)

    run_machine(OnThisStage, settings=chosen)


@PATIENCE
def test_any_sequence_of_owners_in_memory_follows_the_model() -> None:
    """The reference store, which tests and virtual time use."""
    with stage_of(None) as stage:
        try_many(stage)


@PATIENCE
@pytest.mark.proves("INV-ONE-RECORD", "INV-SETTLED-NEVER-CHANGES", "INV-TTL-NEVER-EXTENDED", "INV-LAST-BEGIN-WINS")
def test_any_sequence_of_owners_on_a_server_follows_the_model(server: PrivateServer) -> None:
    """The scripts, on each server there is."""
    server.configure(appendonly="no")
    with stage_of(server) as stage:
        try_many(stage)
    assert server.immortal() == []
