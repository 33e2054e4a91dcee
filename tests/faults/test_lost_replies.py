"""Connections break in the middle of a script: what really happened decides, and the tool runs once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from boundary.contracts import AdmittedCall, InvocationStatus, call_error
from boundary.errors import ErrorCode, RecordExpired, StoreUnavailable
from boundary.preflight import RunScope
from boundary.redis_backend import RedisBackend
from boundary.registry import ToolRegistry
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, Owned, Settled, StoredInvocation
from boundary.tool_boundary import ToolBoundary
from tests.faults.complaints import create, loop_turns
from tests.faults.conftest import Open
from tests.faults.servers import PrivateServer
from tests.support.attempts import FakeAttempt
from tests.support.calls import HOUR_MS, NOW_MS, admitted, failed, ready
from tests.support.redis_proxy import Fault, RedisProxy
from tests.support.tools import FakeTool

PASS, LOSE, CUT = Fault.NONE, Fault.LOSE_REPLY, Fault.CUT_REQUEST
BROKEN = pytest.mark.parametrize("fault", [LOSE, CUT], ids=["reply lost", "request cut"])

REFUSED = call_error(ErrorCode.SCHEMA_VIOLATION, "no such field")


@pytest.fixture
def server(clean_server: PrivateServer) -> PrivateServer:
    """Nothing here changes the server itself."""
    return clean_server


async def owned(store: InvocationStore, nonce: str = "one", call: AdmittedCall | None = None) -> StoredInvocation:
    begun = await store.begin(call or admitted(), nonce=nonce, now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    return begun.held


async def stored(store: InvocationStore) -> StoredInvocation:
    return (await store.read("run-a", ["call_1"], now_ms=NOW_MS, raw=True))["call_1"]


@BROKEN
async def test_a_create_that_broke_is_the_first_execution_whether_it_happened_or_not(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, server: PrivateServer, fault: Fault
) -> None:
    """The create is repeated with the same nonce: its own record means created, no record means create it now."""
    proxy.plan(fault)
    held = await owned(proxied)
    assert (await stored(store)).encoded == held.encoded
    assert (held.record.owner, held.record.executions) == ("one", 1)
    assert proxy.commands == ["EVALSHA", "EVALSHA"]
    assert server.immortal() == []


@BROKEN
async def test_a_refusal_whose_create_broke_is_stored_once(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, fault: Fault
) -> None:
    """A failed verdict is created settled; its repeat finds its own record."""
    proxy.plan(fault)
    begun = await proxied.begin(admitted(), nonce="one", now_ms=NOW_MS, verdict=REFUSED)
    assert isinstance(begun, Settled)
    assert (await stored(store)).encoded == begun.stored.encoded


@pytest.mark.parametrize("faults", [(LOSE, LOSE), (LOSE, CUT), (CUT, LOSE)], ids=str)
async def test_a_create_that_broke_twice_leaves_a_record_for_the_next_begin(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, faults: tuple[Fault, Fault]
) -> None:
    """The attempt gives up with STORE_UNAVAILABLE; the next one takes over what is there."""
    proxy.plan(*faults)
    with pytest.raises(StoreUnavailable, match="closed the connection"):
        await owned(proxied)
    assert (await stored(store)).record.owner == "one"
    held = await owned(proxied, "two")
    assert (held.record.owner, held.record.executions) == ("two", 2)


async def test_a_create_cut_twice_leaves_nothing(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, server: PrivateServer
) -> None:
    """Half a request is no request: there is no record, with or without a TTL."""
    proxy.plan(CUT, CUT)
    with pytest.raises(StoreUnavailable):
        await owned(proxied)
    assert server.keys() == []
    assert (await owned(proxied, "two")).record.executions == 1


@BROKEN
async def test_a_take_over_that_broke_never_leaves_two_owners(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, fault: Fault
) -> None:
    """Whoever begins last owns the record, and nobody else can settle it."""
    first = await owned(store)
    proxy.plan(PASS, fault)
    try:
        second = await owned(proxied, "two")
    except StoreUnavailable:
        second = await owned(proxied, "three")
    done = await proxied.settle(second, ready(), now_ms=NOW_MS)
    late = await store.settle(first, failed(), now_ms=NOW_MS)
    assert late.encoded == done.encoded == (await stored(store)).encoded


@BROKEN
@pytest.mark.parametrize("settlement", [ready(), failed()], ids=["ready", "error"])
async def test_a_settle_that_broke_answers_the_same_when_repeated(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, settlement: object, fault: Fault
) -> None:
    """The identical replace is repeated: done before or done now, the record is this attempt's."""
    held = await owned(proxied)
    proxy.plan(fault)
    with pytest.raises(StoreUnavailable):
        await proxied.settle(held, settlement, now_ms=NOW_MS)  # pyright: ignore[reportArgumentType] - parametrized
    there = await stored(store)
    assert there.record.settled is (fault is LOSE)
    done = await proxied.settle(held, settlement, now_ms=NOW_MS)  # pyright: ignore[reportArgumentType] - as above
    there = await stored(store)
    assert (done.encoded, done.raw, done.agent_result) == (there.encoded, there.raw, there.agent_result)


@BROKEN
async def test_a_failure_whose_count_broke_is_counted_once(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, fault: Fault
) -> None:
    """Repeating the identical count changes nothing that was counted before."""
    held = await owned(proxied)
    proxy.plan(fault)
    with pytest.raises(StoreUnavailable):
        await proxied.count_failure(held, now_ms=NOW_MS)
    await proxied.count_failure(held, now_ms=NOW_MS)
    assert (await stored(store)).record.failures == 1


@BROKEN
async def test_the_parts_of_a_runs_index_are_written_once(
    proxy: RedisProxy, proxied_runs: RunIndex, server: PrivateServer, fault: Fault
) -> None:
    """Brief, turn and summary: the first that arrived stays, also where its writer never heard of it."""

    async def brief(value: bytes) -> bytes:
        return await proxied_runs.open("run-a", value, expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS)

    async def turn(value: bytes) -> bytes:
        return await proxied_runs.put_turn("run-a", "t1", None, value, now_ms=NOW_MS)

    async def summary(value: bytes) -> bytes:
        return await proxied_runs.put_summary("run-a", value, now_ms=NOW_MS)

    for write in (brief, turn, summary):
        proxy.plan(fault)
        with pytest.raises(StoreUnavailable):
            await write(b"first")
        stays = b"first" if fault is LOSE else b"second"
        assert await write(b"second") == stays
        assert await write(b"third") == stays
    assert server.immortal() == []


async def test_reads_that_broke_say_so_and_read_again(proxy: RedisProxy, proxied: InvocationStore) -> None:
    """A read changes nothing, so nothing is repeated on its own; the connection after it is a new one."""
    held = await owned(proxied)
    for fault in (LOSE, CUT):
        proxy.plan(fault, commands=frozenset({b"HMGET"}))
        with pytest.raises(StoreUnavailable):
            await stored(proxied)
        assert (await stored(proxied)).encoded == held.encoded


FAULTS = [
    (LOSE,),
    (CUT,),
    (LOSE, LOSE),
    (PASS, LOSE),
    (PASS, CUT),
    (CUT, LOSE),
    (LOSE, PASS, LOSE),
    (CUT, PASS, CUT, LOSE),
    (PASS, LOSE, LOSE, CUT),
]


@pytest.mark.proves("INV-RECORD-BEFORE-EXECUTION", "INV-SETTLE-IS-LAST")
@pytest.mark.parametrize("faults", FAULTS, ids=lambda faults: "-".join(fault.name.lower() for fault in faults))
async def test_a_call_over_a_breaking_connection_runs_its_tool_once(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore, faults: tuple[Fault, ...]
) -> None:
    """Create and settle break in any order: one record, READY, one execution of the tool in the end."""
    tool = FakeTool()
    proxy.plan(*faults)
    with ThreadPoolExecutor(2) as pool:
        boundary = ToolBoundary(ToolRegistry([tool]), proxied, pool)
        try:
            outcome = await boundary.invoke(admitted(), RunScope("run-a"), FakeAttempt())
        except StoreUnavailable:
            assert tool.executed == []
            outcome = await boundary.invoke(admitted(), RunScope("run-a"), FakeAttempt())
    assert outcome.status is InvocationStatus.READY
    assert len(tool.executed) == 1
    assert (await stored(store)).outcome(300) == outcome


@pytest.mark.proves("INV-LAST-BEGIN-WINS")
async def test_a_settle_delivered_late_cannot_undo_a_take_over(
    proxy: RedisProxy, proxied: InvocationStore, store: InvocationStore
) -> None:
    """The reply to an owner's settle is on its way while another begins: that one finds the outcome, not a call."""
    held = await owned(proxied)
    proxy.plan(Fault.HOLD_REPLY)
    settling = asyncio.create_task(proxied.settle(held, ready(), now_ms=NOW_MS))
    await proxy.held.wait()
    begun = await store.begin(admitted(), nonce="two", now_ms=NOW_MS)
    proxy.release()
    assert isinstance(begun, Settled)
    assert begun.stored.encoded == (await settling).encoded


async def test_cancelled_commands_give_their_connections_back(proxy: RedisProxy, open_backend: Open) -> None:
    """A worker that stops calls in the middle of their commands can still use each connection it may have."""
    backend = open_backend(f"{proxy.url}?max_connections=4&timeout=1")
    for _ in range(3):
        proxy.plan(*[Fault.HOLD_REPLY] * 4)
        proxy.held.clear()
        stuck = [asyncio.create_task(create(backend, f"faults:run-a:{number}")) for number in range(9)]
        await proxy.held.wait()
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
    proxy.plan()
    await asyncio.gather(*[create(backend, f"faults:run-b:{number}") for number in range(9)])


async def test_a_cancellation_is_never_lost_in_a_command(backend: RedisBackend) -> None:
    """Whenever it arrives, also while a command is just being sent, the task ends with this command."""

    async def write_on() -> None:
        while True:
            await create(backend)

    for turns in range(60):
        writing = asyncio.create_task(write_on())
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing], timeout=5)
        assert writing.cancelled(), f"cancelled after {turns} turns of the loop, and still at work"


async def test_connections_that_were_reset_while_idle_fail_no_command(proxy: RedisProxy, open_backend: Open) -> None:
    """A middlebox ends idle connections without a word; the next commands open new ones instead of failing."""
    backend = open_backend(proxy.url)
    await asyncio.gather(*[create(backend, f"faults:run-a:{number}") for number in range(8)])
    proxy.reset_all()
    await loop_turns()
    await asyncio.gather(*[create(backend, f"faults:run-b:{number}") for number in range(8)])


async def test_a_store_that_refuses_connections_is_used_again_once_it_takes_them(
    proxy: RedisProxy, proxied: InvocationStore
) -> None:
    """Nothing of the outage stays in the client."""
    proxy.refusing = True
    with pytest.raises(StoreUnavailable):
        await owned(proxied)
    proxy.refusing = False
    assert (await owned(proxied)).record.executions == 1


async def test_scripts_that_the_server_forgot_are_sent_again(
    store: InvocationStore, runs: RunIndex, server: PrivateServer
) -> None:
    """SCRIPT FLUSH between any two commands changes nothing but one more round trip."""

    def forget() -> None:
        with server.admin() as client:
            client.script_flush()

    forget()
    held = await owned(store)
    forget()
    held = await store.count_failure(held, now_ms=NOW_MS)
    forget()
    done = await store.settle(held, ready(), now_ms=NOW_MS)
    assert (await stored(store)).encoded == done.encoded
    await runs.open("run-a", b"brief", expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS)
    forget()
    assert await runs.put_turn("run-a", "t1", None, b"turn", now_ms=NOW_MS) == b"turn"
    forget()
    assert await runs.chain("run-a", "t1", now_ms=NOW_MS) == [b"turn"]


async def test_a_reply_lost_while_the_record_expires_says_expired(proxy: RedisProxy, proxied: InvocationStore) -> None:
    """The repeat of a settle comes after the expiry: the record does not exist, whatever became of the first."""
    held = await owned(proxied)
    proxy.plan(LOSE)
    with pytest.raises(StoreUnavailable):
        await proxied.settle(held, ready(), now_ms=NOW_MS)
    with pytest.raises(RecordExpired):
        await proxied.settle(held, ready(), now_ms=NOW_MS + HOUR_MS)
