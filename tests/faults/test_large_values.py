"""Values larger than the server takes: it answers and hangs up, and a person reads the same whoever is quicker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import pytest

from boundary import redis_backend
from boundary.backend import Created, Existing
from boundary.limits import RAW_MAX_BYTES
from boundary.redis_backend import RedisBackend
from boundary.store import InvocationStore, Owned
from tests.faults.complaints import complaint, create, loop_turns
from tests.faults.conftest import Open
from tests.faults.servers import PrivateServer
from tests.support.calls import NOW_MS, admitted, ready

MIB = 1024 * 1024

TOO_LARGE = "the record is larger than the store takes; raise its proto-max-bulk-len"


@contextlib.asynccontextmanager
async def answering_late(server: PrivateServer, size: int) -> AsyncGenerator[str]:
    """A way to the server on which its refusal of a value of this size arrives once the client has written it whole."""

    async def carry(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", server.port)
        with contextlib.closing(to_client), contextlib.closing(to_server):
            answers = asyncio.create_task(pass_on(from_server, to_client))
            line = b""
            while line != b"$%d\r\n" % size:
                line = await client.readuntil(b"\n")
                to_server.write(line)
            await client.readexactly(size + len(b"\r\n"))
            written.set()
            await answers
        ended.set()

    async def pass_on(from_server: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        while data := await from_server.read(65536):
            if b"invalid bulk length" in data:
                await written.wait()
            to_client.write(data)

    written, ended = asyncio.Event(), asyncio.Event()
    async with await asyncio.start_server(carry, "127.0.0.1", 0) as listening:
        yield f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"
        await ended.wait()


async def test_the_largest_record_is_stored_whole(server: PrivateServer, store: InvocationStore) -> None:
    """A raw response at its limit comes back byte for byte."""
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    body = b'"' + b"\x01" * (RAW_MAX_BYTES - 2) + b'"'
    await store.settle(begun.held, ready(raw=body), now_ms=NOW_MS)
    assert (await store.read("run-a", ["call_1"], now_ms=NOW_MS, raw=True))["call_1"].raw == body


async def test_a_value_larger_than_the_server_takes_leaves_nothing_half_written(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """The server hangs up while the client still writes, for no socket buffers this much; the next command works."""
    server.configure(proto_max_bulk_len=MIB)
    assert await complaint(create(backend, record=bytes(64 * MIB))) == TOO_LARGE
    await loop_turns()
    assert server.keys() == []
    assert await create(backend) == Created()
    assert await create(backend) == Existing(b"record")


async def test_a_refusal_that_comes_after_the_whole_value_says_the_same(
    server: PrivateServer, open_backend: Open
) -> None:
    """The client is quicker than the server: it reads the server's own answer."""
    server.configure(proto_max_bulk_len=MIB)
    async with answering_late(server, 3 * MIB) as url:
        assert await complaint(create(open_backend(url), record=bytes(3 * MIB))) == TOO_LARGE
    assert server.keys() == []


async def test_a_connection_that_broke_for_another_reason_is_not_blamed_on_that_limit(
    server: PrivateServer, backend: RedisBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some other limit: this one ends the connection without an answer, and the size alone is nothing to refuse."""
    monkeypatch.setattr(redis_backend, "CONNECT_TIMEOUT_S", 0.1)
    server.configure(client_query_buffer_limit=MIB)
    assert "the store closed the connection" in await complaint(create(backend, record=bytes(3 * MIB)))
