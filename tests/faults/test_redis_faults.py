"""A server that answers, but not as it should: each fault has a message that says what to do, or the right value."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Generator
from typing import cast

import pytest
import redis

from boundary.backend import Created
from boundary.redis_backend import RedisBackend
from boundary.redis_errors import ALLOW
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, Owned
from tests.faults.complaints import KEY, complaint, create
from tests.faults.conftest import KEYS, Open
from tests.faults.servers import PASSWORD, PrivateServer
from tests.support.calls import HOUR_MS, NOW_MS, admitted, ready
from tests.support.redis_servers import free_port

NEEDED = [f"+{word}" for word in re.findall(r"\+(\w+)", ALLOW) if word != "scan"]
"""What the message about rights says to allow."""


async def read_all(backend: RedisBackend) -> object:
    return await backend.read([KEY], ["record"], now_ms=NOW_MS)


async def test_a_server_full_under_noeviction_refuses_writes_whole_and_still_reads(
    server: PrivateServer, backend: RedisBackend, store: InvocationStore
) -> None:
    """At maxmemory: no record or the record as it was, each with its TTL; what is there stays readable."""
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    server.configure(maxmemory=1)
    assert "maxmemory" in await complaint(store.begin(admitted("call_2"), nonce="one", now_ms=NOW_MS))
    assert "maxmemory" in await complaint(store.settle(begun.held, ready(), now_ms=NOW_MS))
    assert server.keys() == [KEY]
    assert server.immortal() == []
    found = await store.read("run-a", ["call_1"], now_ms=NOW_MS, raw=True)
    assert (found["call_1"].encoded, found["call_1"].raw) == (begun.held.encoded, None)
    assert "maxmemory" in await complaint(backend.store_id(KEYS.store()))
    server.configure(maxmemory=0)
    await store.settle(begun.held, ready(), now_ms=NOW_MS)


async def test_a_full_store_that_is_known_can_still_be_opened_for_reading(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """The identity is read before anything is written, so `show` works where no new run could."""
    identity = await backend.store_id(KEYS.store())
    server.configure(maxmemory=1)
    assert await backend.store_id(KEYS.store()) == identity


async def test_a_read_only_replica_is_told_from_its_primary(server: PrivateServer, backend: RedisBackend) -> None:
    """Writes name the primary, also at the start where the identity is there; reads go on."""
    await backend.store_id(KEYS.store())
    await create(backend)
    with server.admin() as client:
        client.execute_command("REPLICAOF", "127.0.0.1", str(free_port()))
    assert "read-only replica" in await complaint(create(backend, "faults:run-a:call_2"))
    assert "read-only replica" in await complaint(backend.store_id(KEYS.store()))
    assert await read_all(backend) == [{"expires_at_ms": str(NOW_MS + HOUR_MS).encode(), "record": b"record"}]
    server.configure(replica_serve_stale_data="no")
    assert "lost its primary" in await complaint(read_all(backend))
    assert "lost its primary" in await complaint(create(backend))


async def test_a_wrong_or_missing_password_is_said_and_not_shown(server: PrivateServer, open_backend: Open) -> None:
    """The message names REDIS_URL, never what stands in it."""
    server.configure(requirepass="another")
    assert "user name or password" in await complaint(create(open_backend(server.url_of("default"))))
    assert "user name or password" in await complaint(create(open_backend(server.url_of("nobody"))))
    assert "user name or password" in await complaint(read_all(open_backend(server.url)))


async def test_a_user_with_the_named_rights_and_no_others_is_enough(server: PrivateServer, open_backend: Open) -> None:
    """What the message says to allow suffices for everything a store does, on the keys of its prefix alone."""
    backend = open_backend(server.add_user("~faults*", *NEEDED))
    store, runs = InvocationStore(backend, KEYS), RunIndex(backend, KEYS)
    assert len(await backend.store_id(KEYS.store())) == 8
    assert await backend.now_ms() > 0
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    await store.settle(await store.count_failure(begun.held, now_ms=NOW_MS), ready(), now_ms=NOW_MS)
    assert (await store.read("run-a", ["call_1"], now_ms=NOW_MS))["call_1"].record.settled
    await runs.open("run-a", b"brief", expires_at_ms=NOW_MS + HOUR_MS, now_ms=NOW_MS)
    await runs.put_turn("run-a", "t1", None, b"turn", now_ms=NOW_MS)
    assert await runs.chain("run-a", "t1", now_ms=NOW_MS) == [b"turn"]
    assert await runs.read("run-a", now_ms=NOW_MS) is not None
    assert await backend.warnings() == ()


@pytest.mark.parametrize("right", [right for right in NEEDED if right not in ("+del", "+eval")])
async def test_a_user_without_a_right_is_told_at_the_start_which(
    server: PrivateServer, open_backend: Open, right: str
) -> None:
    """The store is not opened, so that no run begins what it cannot record."""
    user = server.add_user("~faults*", *[other for other in NEEDED if other != right])
    with server.admin() as client:
        client.delete(KEYS.store())
    message = await complaint(open_backend(user).store_id(KEYS.store()))
    assert right in message
    assert server.immortal() == []


@pytest.mark.parametrize("rights", ["+@all -pexpire", "+@all -hset", "+@all -evalsha", "+@all -hmget"])
async def test_a_right_taken_away_later_never_leaves_a_key_without_a_ttl(
    server: PrivateServer, open_backend: Open, rights: str
) -> None:
    """A record whose TTL could not be set is taken back by the same script."""
    backend = open_backend(server.add_user("~faults*", *rights.split()))
    assert "lacks a command or key pattern" in await complaint(create(backend))
    assert server.keys() == []


async def test_a_user_of_other_keys_is_told(server: PrivateServer, open_backend: Open) -> None:
    """A key pattern that does not cover the prefix is a right that is lacking."""
    backend = open_backend(server.add_user("~others*", "+@all"))
    for operation in (create(backend), read_all(backend), backend.store_id(KEYS.store())):
        assert "key pattern" in await complaint(operation)


@contextlib.contextmanager
def endless_script(server: PrivateServer) -> Generator[None]:
    """Keep the server in a script of somebody's."""
    server.configure(lua_time_limit=1)
    with socket.create_connection(("127.0.0.1", server.port)) as raw, server.admin() as client:
        raw.sendall(b"EVAL 'while true do end' 0\r\n")
        while says(client, "PING") != "BUSY":
            pass
        try:
            yield
        finally:
            client.script_kill()
        while says(client, "PING") == "BUSY":
            pass


def says(client: redis.Redis, command: str) -> str:
    """The first word of the server's answer."""
    try:
        return str(cast("object", client.execute_command(command))).split()[0]
    except redis.ResponseError as error:
        return str(error).split()[0]


async def test_a_server_busy_with_a_script_is_told_and_used_again_after_it(
    server: PrivateServer, backend: RedisBackend
) -> None:
    """BUSY is an outage that ends; nothing was written during it."""
    with endless_script(server):
        assert "busy with somebody's script" in await complaint(create(backend))
        assert "busy with somebody's script" in await complaint(read_all(backend))
    assert await create(backend) == Created()


async def test_a_server_that_still_loads_is_told(server: PrivateServer, open_backend: Open) -> None:
    """LOADING is an outage that ends by itself."""
    with server.loading():
        backend = open_backend(server.url)
        assert "still loading" in await complaint(create(backend))
        assert "still loading" in await complaint(read_all(backend))


async def test_a_server_that_misses_replicas_is_told(server: PrivateServer, backend: RedisBackend) -> None:
    """NOREPLICAS: Redis 6.2 does not hold scripts to it, later ones do."""
    server.configure(min_replicas_to_write=1)
    with server.admin() as client:
        version = int(str(client.info("server")["redis_version"]).split(".")[0])
    if version < 7:
        assert await create(backend) == Created()
    else:
        assert "misses replicas" in await complaint(create(backend))
        assert server.keys() == []


async def test_a_node_of_a_cluster_that_is_down_is_told(server: PrivateServer, open_backend: Open) -> None:
    """A cluster without its slots serves nothing."""
    server.kill()
    server.start("--cluster-enabled", "yes", "--appendonly", "no")
    backend = open_backend(server.url)
    for operation in (create(backend), read_all(backend)):
        assert "cluster that is down" in await complaint(operation)


async def test_a_cluster_of_one_node_serves_like_any_server(server: PrivateServer, open_backend: Open) -> None:
    """Each operation touches one key, and reads of several are not one command."""
    server.kill()
    server.start("--cluster-enabled", "yes", "--appendonly", "no")
    with server.admin() as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
    backend = open_backend(server.url)

    async def served() -> None:
        while "cluster_state:ok" not in str(await asyncio.to_thread(cluster_info, server)):
            await asyncio.sleep(0)

    await asyncio.wait_for(served(), 10)
    assert await create(backend) == Created()
    assert await create(backend, "faults:run-b:call_2") == Created()
    rows = await backend.read([KEY, "faults:run-b:call_2"], ["record"], now_ms=NOW_MS)
    assert [row["record"] for row in rows if row] == [b"record", b"record"]


def cluster_info(server: PrivateServer) -> object:
    with server.admin() as client:
        return cast("object", client.execute_command("CLUSTER", "INFO"))


async def test_trying_the_rights_leaves_the_identity_as_it_was(server: PrivateServer, backend: RedisBackend) -> None:
    """Commands tried on the identity's key are refused by its type; its value and TTL stay."""
    identity = await backend.store_id(KEYS.store())
    with server.admin() as client:
        client.pexpire(KEYS.store(), HOUR_MS)
    assert await backend.store_id(KEYS.store()) == identity
    with server.admin() as client:
        assert client.get(KEYS.store()) == identity.encode()
        assert client.pttl(KEYS.store()) <= HOUR_MS
    assert server.keys() == [KEYS.store()]


async def test_the_password_stands_in_no_message_of_any_url(open_backend: Open) -> None:
    """A password with its special characters unescaped makes a URL of anything; what is said names none of it."""
    dotted = PASSWORD.replace("/", ".")
    for url in (f"redis://:x@{dotted}.invalid:1/0", f"redis://:{PASSWORD[9:]}@127.0.0.1:1/0", f"unix:///no/{dotted}"):
        assert "REDIS_URL" in await complaint(create(open_backend(url)))
    for url in (
        f"http://:{PASSWORD}@127.0.0.1/0",
        f"redis://:{PASSWORD}@127.0.0.1/0",
        f"redis://127.0.0.1/0?{PASSWORD}=1",
        "redis://127.0.0.1/0?retry=hunter2",
    ):
        with pytest.raises(ValueError, match="the store's URL") as caught:
            open_backend(url)
        assert "hunter2" not in str(caught.value)
