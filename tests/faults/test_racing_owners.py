"""Owners of one call at the same time, as many workers would be: one outcome, and all of them agree on it."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from boundary.contracts import InvocationStatus, call_error
from boundary.errors import ErrorCode, StaleAttempt
from boundary.memory_backend import MemoryBackend
from boundary.record import decode, sha256_hex
from boundary.redis_backend import RedisBackend, connect
from boundary.store import InvocationStore, Settled, StoredInvocation
from tests.faults.conftest import KEYS
from tests.faults.servers import PROGRAMS, PrivateServer
from tests.support.calls import NOW_MS, admitted, failed, ready

SOAK = 100 if os.environ.get("CASEBOUND_SOAK") else 1
SEEDS = range(5 * SOAK)
REFUSED = call_error(ErrorCode.SCHEMA_VIOLATION, "no such field")


@pytest_asyncio.fixture(params=["memory", *PROGRAMS])
async def workers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[InvocationStore, ...]]:
    """Stores of three workers over the same data, each with connections of its own."""
    if request.param == "memory":
        yield (InvocationStore(MemoryBackend(), KEYS),)
        return
    server = PrivateServer(request.param, tmp_path)
    server.start()
    server.configure(appendonly="no")
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        clients = [connect(server.url) for _ in range(3)]
        for client in clients:
            stack.push_async_callback(client.aclose)
        yield tuple(InvocationStore(RedisBackend(client), KEYS) for client in clients)
        assert server.immortal() == []


@dataclass
class Owner:
    """Attempts one call again and again, as Temporal would, until it has an outcome."""

    store: InvocationStore
    name: str
    chance: random.Random
    call_id: str
    executions: int = 0
    outcome: StoredInvocation | None = field(default=None)

    async def attempt_until_settled(self) -> None:
        """Begin, dawdle, and settle or fail."""
        while self.outcome is None:
            with suppress(StaleAttempt):
                self.outcome = await self._attempt()

    async def _attempt(self) -> StoredInvocation | None:
        await self._dawdle()
        verdict = REFUSED if self.chance.random() < 0.05 else None
        nonce = f"{self.name}.{self.executions}"
        begun = await self.store.begin(admitted(self.call_id), nonce=nonce, now_ms=NOW_MS, verdict=verdict)
        if isinstance(begun, Settled):
            return begun.stored
        self.executions += 1
        await self._dawdle()
        fate = self.chance.random()
        if fate < 0.2:
            counted = await self.store.count_failure(begun.held, now_ms=NOW_MS)
            return counted if counted.record.settled else None
        body = f'"{nonce}"'.encode()
        settlement = failed() if fate < 0.4 else ready(agent=body, raw=body)
        return await self.store.settle(begun.held, settlement, now_ms=NOW_MS)

    async def _dawdle(self) -> None:
        for _ in range(self.chance.randrange(6)):
            await asyncio.sleep(0)


async def watch(store: InvocationStore, call_id: str, seen: list[StoredInvocation]) -> None:
    """Read the record for as long as it may change."""
    while True:
        found = await store.read("run-a", [call_id], now_ms=NOW_MS, raw=True)
        seen.extend(found.values())
        await asyncio.sleep(0)


@pytest.mark.timeout(120 * SOAK)
@pytest.mark.proves("INV-ONE-RECORD", "INV-SETTLED-NEVER-CHANGES", "INV-LAST-BEGIN-WINS")
@pytest.mark.parametrize("count", [2, 3, 12])
async def test_owners_that_race_for_a_call_agree_on_one_outcome(
    workers: tuple[InvocationStore, ...], count: int
) -> None:
    """Whoever settles first has settled it for all; bodies and record are of the same owner, at every moment."""
    for seed in SEEDS:
        call_id = f"call_{seed}"
        owners = [
            Owner(workers[number % len(workers)], f"o{number}", random.Random(seed * 100 + number), call_id)
            for number in range(count)
        ]
        seen: list[StoredInvocation] = []
        watching = asyncio.create_task(watch(workers[0], call_id, seen))
        await asyncio.gather(*[owner.attempt_until_settled() for owner in owners])
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        final = (await workers[0].read("run-a", [call_id], now_ms=NOW_MS, raw=True))[call_id]
        assert {owner.outcome.encoded for owner in owners if owner.outcome} == {final.encoded}
        assert_of_one_owner(final)
        assert final.record.executions == sum(owner.executions for owner in owners)
        assert_grew([*seen, final])


def assert_of_one_owner(final: StoredInvocation) -> None:
    """A READY record has the bodies of the owner it names; an ERROR has none."""
    assert decode(final.encoded).settled
    body = f'"{final.record.owner}"'.encode() if final.record.status is InvocationStatus.READY else None
    assert (final.raw, final.agent_result) == (body, body)
    assert final.record.sha256.raw == (None if body is None else sha256_hex(body))


def assert_grew(seen: list[StoredInvocation]) -> None:
    """A reader sees executions and failures grow, then the one outcome whole, and nothing after it."""
    steps = [(one.record.settled, one.record.executions, one.record.failures) for one in seen]
    assert steps == sorted(steps)
    assert {(one.encoded, one.raw, one.agent_result) for one in seen if one.record.settled} == {
        (seen[-1].encoded, seen[-1].raw, seen[-1].agent_result)
    }
    assert all(one.raw is None for one in seen if not one.record.settled)
