"""Somebody changed or took one of our keys by hand: it is never mistaken for a record, and never overwritten."""

from __future__ import annotations

import pytest

from boundary.backend import Expired
from boundary.errors import DuplicateToolCallId, RecordExpired
from boundary.redis_backend import RedisBackend
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, Owned
from tests.faults.complaints import KEY, complaint
from tests.faults.conftest import KEYS
from tests.faults.servers import PrivateServer
from tests.support.calls import HOUR_MS, NOW_MS, admitted, failed, ready


@pytest.fixture
def server(clean_server: PrivateServer) -> PrivateServer:
    """Nothing here changes the server itself."""
    return clean_server


async def test_a_key_of_another_type_is_somebody_elses(
    server: PrivateServer, backend: RedisBackend, store: InvocationStore
) -> None:
    """It is neither used nor overwritten, and other records of the same read are still found."""
    await store.begin(admitted("call_2"), nonce="one", now_ms=NOW_MS)
    with server.admin() as client:
        client.set(KEY, "theirs", px=HOUR_MS)
    with pytest.raises(DuplicateToolCallId):
        await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert list(await store.read("run-a", ["call_1", "call_2"], now_ms=NOW_MS)) == ["call_2"]
    assert await backend.replace(KEY, expected=b"", fields={"record": b"x"}, now_ms=NOW_MS) == Expired()
    assert await backend.put(KEY, {"a": b"x"}, identity="a", now_ms=NOW_MS) == Expired()
    assert await backend.chain(KEY, start="t", until="", max_bytes=1, now_ms=NOW_MS) is None
    assert await backend.read_all(KEY, now_ms=NOW_MS) is None
    with server.admin() as client:
        assert client.get(KEY) == b"theirs"


async def test_an_identity_key_of_another_type_is_told(server: PrivateServer, backend: RedisBackend) -> None:
    """Another prefix, or the key's end, helps; casebound does not delete what is not its own."""
    with server.admin() as client:
        client.hset(KEYS.store(), "theirs", "1")
        client.pexpire(KEYS.store(), HOUR_MS)
    assert "choose another [store] prefix" in await complaint(backend.store_id(KEYS.store()))


@pytest.mark.parametrize("expiry", ["soon", "", "-1", "0x7fffffffffff", "1e99"])
async def test_a_record_whose_expiry_was_altered_is_no_record(
    server: PrivateServer, backend: RedisBackend, store: InvocationStore, expiry: str
) -> None:
    """An expiry nobody can read is never taken for one: the record is not read, settled or made anew."""
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    with server.admin() as client:
        client.hset(KEY, "expires_at_ms", expiry)
    assert await store.read("run-a", ["call_1"], now_ms=NOW_MS) == {}
    with pytest.raises(RecordExpired):
        await store.settle(begun.held, ready(), now_ms=NOW_MS)
    with pytest.raises((DuplicateToolCallId, RecordExpired)):
        await store.begin(admitted(), nonce="two", now_ms=NOW_MS)
    with server.admin() as client:
        assert client.hget(KEY, "record") == begun.held.encoded


async def test_a_record_altered_by_hand_is_never_settled_or_overwritten(
    server: PrivateServer, store: InvocationStore
) -> None:
    """The compare-and-set sees any other byte; what cannot be read is another call's."""
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    for altered in (begun.held.encoded[:-1], b"null", b"\xff\xfe", b""):
        with server.admin() as client:
            client.hset(KEY, "record", altered)
        with pytest.raises(DuplicateToolCallId):
            await store.settle(begun.held, failed(), now_ms=NOW_MS)
        with pytest.raises(DuplicateToolCallId):
            await store.begin(admitted(), nonce="two", now_ms=NOW_MS)
        assert await store.read("run-a", ["call_1"], now_ms=NOW_MS) == {}
        with server.admin() as client:
            assert client.hget(KEY, "record") == altered


async def test_fields_with_names_nobody_can_read_hide_nothing(server: PrivateServer, runs: RunIndex) -> None:
    """Whatever somebody added to a run's index, what is ours is still read."""
    await runs.open("run-a", b"brief", expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS)
    with server.admin() as client:
        client.hset(KEYS.run("run-a"), b"\xff\xfe", "theirs")
    found = await runs.read("run-a", now_ms=NOW_MS)
    assert found is not None
    assert found.brief == b"brief"
