"""Ownership and lifecycle of records, the same on every store: design section 4, row by row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from boundary.backend import Backend, Created
from boundary.contracts import AdmittedCall, EvidenceStatus, InvocationStatus, call_error
from boundary.errors import (
    DuplicateToolCallId,
    ErrorCode,
    LifecycleError,
    RecordExpired,
    RunMismatch,
    StaleAttempt,
)
from boundary.keys import ToolCallKeyFactory
from boundary.record import Failed, Ready, encode
from boundary.store import InvocationStore, Owned, Settled, StoredInvocation
from tests.support.calls import HOUR_MS, NOW_MS, admitted, failed, ready

REFUSED = call_error(ErrorCode.SCHEMA_VIOLATION, "no such field")


async def owned(store: InvocationStore, nonce: str = "one", call_id: str = "call_1") -> StoredInvocation:
    begun = await store.begin(admitted(call_id), nonce=nonce, now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    return begun.held


async def stored(store: InvocationStore, call_id: str = "call_1", now_ms: int = NOW_MS) -> StoredInvocation:
    return (await store.read("run-a", [call_id], now_ms=now_ms, raw=True))[call_id]


async def test_beginning_a_new_call_creates_its_projecting_record(store: InvocationStore) -> None:
    """Nothing there: PROJECTING, owned by the fresh nonce, one execution."""
    held = await owned(store)
    found = await stored(store)
    assert found.record == held.record
    assert found.record.status is InvocationStatus.PROJECTING
    assert found.record.evidence_status is EvidenceStatus.UNKNOWN
    assert (found.record.owner, found.record.executions, found.record.failures) == ("one", 1, 0)
    assert found.raw is None
    assert found.agent_result is None


@pytest.mark.proves("INV-LAST-BEGIN-WINS")
async def test_a_second_begin_takes_the_call_over_and_the_first_cannot_settle(store: InvocationStore) -> None:
    """PROJECTING, same identity: the last begin wins, whatever its attempt number."""
    first = await owned(store, "one")
    second = await owned(store, "two")
    assert (second.record.owner, second.record.executions) == ("two", 2)
    with pytest.raises(StaleAttempt):
        await store.settle(first, ready(), now_ms=NOW_MS)
    with pytest.raises(StaleAttempt):
        await store.count_failure(first, now_ms=NOW_MS)
    done = await store.settle(second, ready(), now_ms=NOW_MS)
    assert (await stored(store)).record == done.record


async def test_a_stale_owner_gets_the_outcome_of_the_one_that_settled(store: InvocationStore) -> None:
    """An owner whose settle fails reads again: settled by the other means that outcome."""
    first = await owned(store, "one")
    second = await owned(store, "two")
    done = await store.settle(second, ready(b'{"by":"two"}'), now_ms=NOW_MS)
    late = await store.settle(first, ready(b'{"by":"one"}'), now_ms=NOW_MS + 5)
    assert late.outcome(300) == done.outcome(300)
    assert late.agent_result == b'{"by":"two"}'


@pytest.mark.proves("INV-STORED-OUTCOME-WINS")
@pytest.mark.parametrize("settlement", [ready(), failed()], ids=["ready", "error"])
async def test_a_stored_outcome_wins_over_execution_and_verdict(store: InvocationStore, settlement: Ready) -> None:
    """READY or ERROR, same identity: returned as it is, even to an attempt that would refuse the call."""
    done = await store.settle(await owned(store), settlement, now_ms=NOW_MS)
    again = await store.begin(admitted(), nonce="two", now_ms=NOW_MS + 9)
    refused = await store.begin(admitted(), nonce="three", now_ms=NOW_MS + 9, verdict=REFUSED)
    assert isinstance(again, Settled)
    assert isinstance(refused, Settled)
    assert again.stored.outcome(300) == refused.stored.outcome(300) == done.outcome(300)


@pytest.mark.parametrize(
    "other",
    [admitted(turn=2), admitted(position=1), admitted(arguments='{"q": 2}'), admitted(tool="other")],
    ids=["turn", "position", "arguments", "tool"],
)
async def test_another_call_with_the_same_id_is_a_duplicate_and_changes_nothing(
    store: InvocationStore, other: AdmittedCall
) -> None:
    """Anything else under the key: DUPLICATE_TOOL_CALL_ID, the existing record stays untouched."""
    await owned(store)
    before = (await stored(store)).encoded
    with pytest.raises(DuplicateToolCallId):
        await store.begin(other, nonce="two", now_ms=NOW_MS)
    with pytest.raises(DuplicateToolCallId):
        await store.begin(other, nonce="two", now_ms=NOW_MS, verdict=REFUSED)
    assert (await stored(store)).encoded == before


async def test_a_record_that_names_another_run_is_a_run_mismatch_and_unchanged(
    store: InvocationStore, backend: Backend, keys: ToolCallKeyFactory
) -> None:
    """A record of another run under this run's key is neither used nor overwritten."""
    foreign = encode((await owned(store)).record)
    key = keys.record("run-b", "call_1")
    fields = {"record": foreign}
    created = await backend.create(key, fields, identity="record", expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS)
    assert created == Created()
    with pytest.raises(RunMismatch):
        await store.begin(admitted(run_id="run-b"), nonce="two", now_ms=NOW_MS)
    [row] = await backend.read([key], ["record"], now_ms=NOW_MS)
    assert (row or {})["record"] == foreign


async def test_a_record_nobody_can_read_is_left_alone(
    store: InvocationStore, backend: Backend, keys: ToolCallKeyFactory
) -> None:
    """Bytes that are no record belong to somebody else: DUPLICATE_TOOL_CALL_ID, and no outcome is read."""
    key = keys.record("run-a", "call_1")
    await backend.create(key, {"record": b"{}"}, identity="record", expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS)
    with pytest.raises(DuplicateToolCallId):
        await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert await store.read("run-a", ["call_1"], now_ms=NOW_MS) == {}


async def test_a_failed_verdict_is_created_settled_and_never_executed(store: InvocationStore) -> None:
    """With no record, a failed verdict is created directly as ERROR in one command."""
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS, verdict=REFUSED)
    assert isinstance(begun, Settled)
    record = (await stored(store)).record
    assert (record.status, record.error, record.executions) == (InvocationStatus.ERROR, REFUSED, 0)


async def test_a_failed_verdict_settles_a_projecting_record(store: InvocationStore) -> None:
    """A PROJECTING record of the same call is settled ERROR by a verdict that fails now."""
    first = await owned(store)
    begun = await store.begin(admitted(), nonce="two", now_ms=NOW_MS, verdict=REFUSED)
    assert isinstance(begun, Settled)
    assert (await stored(store)).record.error == REFUSED
    assert (await store.settle(first, ready(), now_ms=NOW_MS)).record.error == REFUSED


async def test_the_fifth_begin_after_four_lost_owners_settles_worker_lost(store: InvocationStore) -> None:
    """More than 3 lost owners settle WORKER_LOST, so a call that kills its worker ends."""
    for nonce in ("one", "two", "three", "four"):
        assert isinstance(await store.begin(admitted(), nonce=nonce, now_ms=NOW_MS), Owned)
    begun = await store.begin(admitted(), nonce="five", now_ms=NOW_MS)
    assert isinstance(begun, Settled)
    assert begun.stored.record.error is not None
    assert begun.stored.record.error.code is ErrorCode.WORKER_LOST
    assert begun.stored.record.executions == 4


async def test_counted_failures_are_not_lost_owners(store: InvocationStore) -> None:
    """An owner that counted its failure is not lost: six failing executions are no lost worker."""
    for nonce in "abcdef":
        held = await owned(store, nonce)
        await store.count_failure(held, now_ms=NOW_MS)
    record = (await owned(store, "g")).record
    assert (record.executions, record.failures, record.lost_owners) == (7, 6, 1)


@pytest.mark.proves("INV-SETTLED-NEVER-CHANGES")
@pytest.mark.parametrize("settlement", [ready(), failed()], ids=["ready", "error"])
async def test_nothing_leaves_ready_or_error(store: InvocationStore, settlement: Ready) -> None:
    """A settled record refuses every further transition, and repeats of the same settle change nothing."""
    held = await owned(store)
    done = await store.settle(held, settlement, now_ms=NOW_MS)
    assert await store.settle(held, settlement, now_ms=NOW_MS) == done
    late = await store.settle(held, ready(b'{"late":1}'), now_ms=NOW_MS + 1)
    assert late.encoded == done.encoded
    with pytest.raises(LifecycleError):
        await store.settle(done, ready(), now_ms=NOW_MS)
    with pytest.raises(LifecycleError):
        await store.count_failure(done, now_ms=NOW_MS)
    assert (await stored(store)).encoded == done.encoded


async def test_ready_takes_found_or_not_found_and_nothing_else(store: InvocationStore) -> None:
    """READY with evidence status UNKNOWN or ERROR does not exist."""
    held = await owned(store)
    for status in (EvidenceStatus.UNKNOWN, EvidenceStatus.ERROR):
        with pytest.raises(LifecycleError):
            await store.settle(held, Ready(b"1", b"1", status), now_ms=NOW_MS)
    assert (await stored(store)).record.status is InvocationStatus.PROJECTING


JSON_VALUES: list[Any] = [[], {}, None, "", 2**63 + 1, -(2**70), 0.1, "é\u2028\U0001f600\0", {"a": [{"": []}]}]


@pytest.mark.parametrize("value", JSON_VALUES, ids=repr)
async def test_any_json_value_round_trips_exactly(store: InvocationStore, value: object) -> None:
    """Bodies come back byte for byte: no script decodes or re-encodes them."""
    body = json.dumps(value, ensure_ascii=False).encode()
    await store.settle(await owned(store), ready(body, body), now_ms=NOW_MS)
    found = await stored(store)
    assert (found.raw, found.agent_result) == (body, body)
    assert found.agent_view().agent_result == value


@pytest.mark.proves("INV-TTL-NEVER-EXTENDED")
async def test_nothing_after_the_creation_moves_the_expiry(
    store: InvocationStore, backend: Backend, keys: ToolCallKeyFactory
) -> None:
    """Take-over, failure, read and settle leave `expires_at_ms` where it was; a later grant does not move it."""
    key = keys.record("run-a", "call_1")

    async def expiry() -> bytes:
        [row] = await backend.read([key], ["expires_at_ms"], now_ms=NOW_MS)
        return (row or {})["expires_at_ms"]

    await owned(store, "one")
    first = await expiry()
    assert first == str(NOW_MS + HOUR_MS).encode()
    longer = admitted(ttl_ms=9 * HOUR_MS)
    begun = await store.begin(longer, nonce="two", now_ms=NOW_MS + 1000)
    assert isinstance(begun, Owned)
    counted = await store.count_failure(begun.held, now_ms=NOW_MS + 2000)
    await store.read("run-a", ["call_1"], now_ms=NOW_MS + 3000, raw=True)
    await store.settle(counted, ready(), now_ms=NOW_MS + 4000)
    assert await expiry() == first
    assert await store.read("run-a", ["call_1"], now_ms=NOW_MS + HOUR_MS - 1) != {}
    assert await store.read("run-a", ["call_1"], now_ms=NOW_MS + HOUR_MS) == {}


async def test_an_expired_record_cannot_be_settled_taken_over_or_created_again(store: InvocationStore) -> None:
    """At its expiry a record does not exist, and its leftover is never recreated."""
    held = await owned(store)
    late = NOW_MS + HOUR_MS
    with pytest.raises(RecordExpired):
        await store.settle(held, ready(), now_ms=late)
    with pytest.raises(RecordExpired):
        await store.begin(admitted(), nonce="two", now_ms=late)
    with pytest.raises(RecordExpired):
        await store.begin(admitted(ttl_ms=9 * HOUR_MS), nonce="two", now_ms=late, verdict=REFUSED)
    assert await store.read("run-a", ["call_1"], now_ms=late) == {}


@pytest.mark.parametrize("ttl_ms", [0, -1])
async def test_a_record_without_time_to_live_is_never_written(store: InvocationStore, ttl_ms: int) -> None:
    """A TTL must be above 0."""
    with pytest.raises(RecordExpired):
        await store.begin(admitted(ttl_ms=ttl_ms), nonce="one", now_ms=NOW_MS)
    assert await store.read("run-a", ["call_1"], now_ms=NOW_MS) == {}


async def test_a_run_is_charged_record_and_kept_bodies(store: InvocationStore) -> None:
    """What was dropped leaves size and digest in the record but costs no bytes."""
    kept = await store.settle(await owned(store, call_id="kept"), ready(b"[1]", b"[12345]"), now_ms=NOW_MS)
    assert kept.bytes == len(kept.encoded) + len(b"[1]") + len(b"[12345]")
    dropped = Failed(call_error(ErrorCode.RESULT_TOO_LARGE, "too large"), dropped_raw=b"x" * 1000)
    gone = await store.settle(await owned(store, call_id="gone"), dropped, now_ms=NOW_MS)
    assert gone.bytes == len(gone.encoded)
    assert gone.record.sizes.raw == 1000
    assert (await stored(store, "gone")).raw is None
