"""No server, or one that does not speak: each ends in bounded seconds with a message that says what to do."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Generator

import pytest
import pytest_asyncio

from boundary import redis_backend
from boundary.backend import Created
from boundary.contracts import InvocationStatus
from boundary.errors import RecordExpired
from boundary.redis_backend import RedisBackend
from boundary.store import InvocationStore, Owned
from tests.faults.complaints import complaint, create, loop_turns
from tests.faults.conftest import KEYS, Open
from tests.faults.servers import PrivateServer
from tests.support.calls import NOW_MS, admitted, ready
from tests.support.redis_proxy import Fault, RedisProxy
from tests.support.redis_servers import free_port


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's time-outs, a tenth as long."""
    monkeypatch.setattr(redis_backend, "CONNECT_TIMEOUT_S", redis_backend.CONNECT_TIMEOUT_S / 10)
    monkeypatch.setattr(redis_backend, "REPLY_TIMEOUT_S", redis_backend.REPLY_TIMEOUT_S / 10)


@pytest_asyncio.fixture
async def stranger() -> AsyncIterator[Callable[[bytes], int]]:
    """Start servers of some other protocol: they answer anything with the bytes and hang up. Gives the port."""
    async with contextlib.AsyncExitStack() as stack:
        sockets: list[socket.socket] = []

        def start(answer: bytes) -> int:
            listening = socket.create_server(("127.0.0.1", 0))
            sockets.append(listening)
            serving = asyncio.create_task(_serve(listening, answer))
            stack.push_async_callback(_stopped, serving)
            return int(listening.getsockname()[1])

        yield start


async def _serve(listening: socket.socket, answer: bytes) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(reply, sock=listening) as server:
        await server.serve_forever()


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@contextlib.contextmanager
def full_backlog() -> Generator[int]:
    """A port whose connections nobody takes, so that the next ones hang as those to an unreachable host do."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        port = int(listening.getsockname()[1])
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield port


async def test_a_port_nobody_listens_on_is_told_at_once(open_backend: Open) -> None:
    """Refused connections need no time-out."""
    assert "nothing listens" in await complaint(create(open_backend(f"redis://127.0.0.1:{free_port()}/0")))
    assert "nothing listens" in await complaint(create(open_backend("unix:///nowhere/store.sock")))


async def test_a_host_nobody_knows_is_told(open_backend: Open) -> None:
    """An unescaped special character of the password often makes one."""
    message = await complaint(create(open_backend("redis://no-such-host.invalid:6379/0")))
    assert "host name is not known" in message
    assert "no-such-host" not in message


@pytest.mark.usefixtures("hurried")
async def test_a_host_that_cannot_be_reached_is_given_up_on(open_backend: Open) -> None:
    """Packets that go nowhere: the time-out for connecting ends the wait, also that of begin's second try."""
    with full_backlog() as port:
        backend = open_backend(f"redis://127.0.0.1:{port}/0")
        assert "no connection to the store in time" in await complaint(backend.now_ms())
        store = InvocationStore(backend, KEYS)
        begun = store.begin(admitted(), nonce="one", now_ms=NOW_MS)
        assert "no connection to the store in time" in await complaint(begun)


@pytest.mark.usefixtures("hurried")
async def test_a_tls_url_to_a_plain_port_is_told(server: PrivateServer, open_backend: Open) -> None:
    """The server waits for the rest of what it takes for a command; the client does not wait for long."""
    message = await complaint(create(open_backend(server.url.replace("redis://", "rediss://"))))
    assert "is rediss:// used for a TLS port only" in message


async def test_a_tls_url_to_another_plain_server_is_told(stranger: Callable[[bytes], int], open_backend: Open) -> None:
    """Whoever answers in plain words does not speak TLS."""
    port = stranger(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert "does not speak TLS" in await complaint(create(open_backend(f"rediss://127.0.0.1:{port}/0")))


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\x12\x04\0\0\0\0\0"], ids=["http", "grpc"]
)
async def test_a_server_of_another_protocol_is_told(
    stranger: Callable[[bytes], int], open_backend: Open, answer: bytes
) -> None:
    """A port mixed up, Temporal's say, is no store."""
    message = await complaint(create(open_backend(f"redis://127.0.0.1:{stranger(answer)}/0")))
    assert "no Redis or Valkey server" in message


async def test_a_server_that_hangs_up_is_told(stranger: Callable[[bytes], int], open_backend: Open) -> None:
    """A TLS port does this to plain words."""
    message = await complaint(create(open_backend(f"redis://127.0.0.1:{stranger(b'')}/0")))
    assert "rediss:// if that speaks TLS" in message


@pytest.mark.usefixtures("hurried")
async def test_a_frozen_server_is_given_up_on_and_used_again(server: PrivateServer, open_backend: Open) -> None:
    """It takes commands and answers none: on an open connection and on a new one the wait is bounded."""
    backend = open_backend(server.url)
    assert await create(backend) == Created()
    server.freeze()
    assert "did not reply in time" in await complaint(create(backend, "faults:run-a:call_2"))
    assert "did not reply in time" in await complaint(create(open_backend(server.url), "faults:run-a:call_3"))
    server.thaw()
    assert await backend.read_all("faults:run-a:call_4", now_ms=NOW_MS) is None
    assert server.immortal() == []


async def test_a_pool_that_stays_busy_is_told(proxy: RedisProxy, open_backend: Open) -> None:
    """Commands wait for a connection, but not for ever."""
    backend = open_backend(f"{proxy.url}?max_connections=1&timeout=0.1")
    proxy.plan(Fault.HOLD_REPLY)
    first = asyncio.create_task(create(backend))
    await proxy.held.wait()
    assert "all connections to the store stayed busy" in await complaint(create(backend, "faults:run-a:call_2"))
    proxy.release()
    assert await first == Created()


async def test_more_commands_than_connections_wait_their_turn(server: PrivateServer, open_backend: Open) -> None:
    """A burst is slower, not an outage."""
    backend = open_backend(f"{server.url}?max_connections=2")
    answers = await asyncio.gather(*[create(backend, f"faults:run-a:{number}") for number in range(200)])
    assert set(answers) == {Created()}
    with server.admin() as client:
        assert len(client.client_list()) <= 3


async def test_a_server_without_room_for_a_connection_is_told(server: PrivateServer, open_backend: Open) -> None:
    """The server's maxclients, reached by others."""
    with server.admin() as client:
        client.config_set("maxclients", 1)
        # The connection may end before the reason was read.
        assert "maxclients" in await complaint(create(open_backend(server.url)))
        client.config_set("maxclients", 100)
    assert await create(open_backend(server.url)) == Created()


@pytest.mark.proves("INV-SETTLE-IS-LAST")
async def test_a_restart_with_its_data_loses_no_record(
    server: PrivateServer, backend: RedisBackend, store: InvocationStore
) -> None:
    """Killed and started again with its append-only file: identity, record, TTL and owner are what they were."""
    identity = await backend.store_id(KEYS.store())
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    await asyncio.gather(*[create(backend, f"faults:run-b:{number}") for number in range(8)])
    assert isinstance(begun, Owned)
    server.kill()
    await loop_turns()
    assert "nothing listens" in await complaint(store.settle(begun.held, ready(), now_ms=NOW_MS))
    server.start()
    done = await store.settle(begun.held, ready(), now_ms=NOW_MS)
    assert done.record.status is InvocationStatus.READY
    assert await backend.store_id(KEYS.store()) == identity
    assert (await store.read("run-a", ["call_1"], now_ms=NOW_MS))["call_1"].encoded == done.encoded
    assert server.immortal() == []


async def test_a_restart_without_its_data_is_another_store(
    server: PrivateServer, backend: RedisBackend, store: InvocationStore
) -> None:
    """A record that is gone cannot be settled, and the store's identity says that its data were lost."""
    identity = await backend.store_id(KEYS.store())
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    server.kill()
    await loop_turns()
    server.start("--appendonly", "no")
    with pytest.raises(RecordExpired):
        await store.settle(begun.held, ready(), now_ms=NOW_MS)
    assert await store.read("run-a", ["call_1"], now_ms=NOW_MS) == {}
    assert await backend.store_id(KEYS.store()) != identity
    assert server.keys() == [KEYS.store()]
