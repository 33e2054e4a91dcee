"""A store that may evict evidence before its time is told at the start."""

from __future__ import annotations

import logging

import pytest

from boundary.redis_backend import RedisBackend
from casebound.settings import Settings
from casebound.worker import open_store
from tests.faults.conftest import Open
from tests.faults.servers import PrivateServer


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "volatile-lru", "allkeys-random"])
async def test_a_store_that_may_evict_is_warned_of_with_the_reason(
    server: PrivateServer, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    """Each of our keys has a TTL, so any policy but noeviction may take it early; it is logged and returned."""
    server.configure(maxmemory=64 * 1024 * 1024, maxmemory_policy=policy)
    with caplog.at_level(logging.WARNING, logger="casebound.worker"):
        async with open_store(Settings().with_store(server.url)) as store:
            [warning] = store.warnings
    assert policy in warning
    assert "noeviction" in warning
    assert "before its TTL" in warning
    assert [record.getMessage() for record in caplog.records] == [warning]


@pytest.mark.parametrize(("limit", "policy"), [(64 * 1024 * 1024, "noeviction"), (0, "allkeys-lru")])
async def test_a_store_that_never_evicts_is_not_warned_of(
    server: PrivateServer, caplog: pytest.LogCaptureFixture, limit: int, policy: str
) -> None:
    """Refusing writes when it is full is right, and without a limit nothing is evicted."""
    server.configure(maxmemory=limit, maxmemory_policy=policy)
    async with open_store(Settings().with_store(server.url)) as store:
        assert store.warnings == ()
    assert caplog.records == []


async def test_a_store_that_does_not_tell_is_not_warned_of(server: PrivateServer, open_backend: Open) -> None:
    """A user may lack INFO; nothing is guessed."""
    server.configure(maxmemory=64 * 1024 * 1024, maxmemory_policy="allkeys-lru")
    assert await open_backend(server.add_user("~*", "+@all", "-info")).warnings() == ()


async def test_opening_a_store_takes_two_round_trips(server: PrivateServer, backend: RedisBackend) -> None:
    """The identity with the rights, and the memory policy; connecting comes on top."""
    async with open_store(Settings().with_store(server.url)):
        pass
    before = commands_of(server)
    async with open_store(Settings().with_store(server.url)):
        pass
    after = commands_of(server)
    asked = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert (asked.pop("evalsha"), asked.pop("info")) == (1, 2)  # one of them is the test's own
    assert not {"eval", "config"} & set(asked)


def commands_of(server: PrivateServer) -> dict[str, int]:
    """How often each command was carried out, those of scripts included."""
    with server.admin() as client:
        told: dict[str, dict[str, int]] = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): stats["calls"] for name, stats in told.items()}
