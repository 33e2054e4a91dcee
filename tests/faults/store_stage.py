"""A store under a model: the loop it lives on, what owners hold of it, and how its records read as the model's."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from hypothesis.stateful import MultipleResults
from redis.asyncio import Redis

from boundary.backend import Backend
from boundary.contracts import AdmittedCall, EvidenceStatus, call_error
from boundary.errors import CaseboundError, ErrorCode
from boundary.memory_backend import MemoryBackend
from boundary.record import Failed, Ready, Settlement
from boundary.redis_backend import RedisBackend, connect
from boundary.store import StoredInvocation
from tests.faults.servers import PrivateServer
from tests.faults.store_model import Key, Outcome, State
from tests.support.calls import admitted


@dataclass(frozen=True)
class Held:
    """What an owner has in hand: the record as the store gave it, and as the model knows it."""

    key: Key
    stored: StoredInvocation
    state: State


Handed = Held | MultipleResults[Held]
"""What an owner got in hand; nothing where it was refused."""


@dataclass
class Stage:
    """A store to try, and the loop its connections live on."""

    runner: asyncio.Runner
    backend: Backend
    client: Redis | None = None
    prefixes: Iterator[str] = field(default_factory=lambda: (f"m{number}" for number in range(10**9)))

    def run(self, operation: Awaitable[object]) -> object:
        """Carry out one operation."""

        async def awaited() -> object:
            return await operation

        return self.runner.run(awaited())

    async def ttls(self, prefix: str) -> dict[str, int] | None:
        """Real time to live by key, as the server tells; None: the store is no server."""
        if self.client is None:
            return None
        keys = sorted(cast("list[bytes]", await self.client.keys(f"{prefix}:*")))
        pipeline = self.client.pipeline(transaction=False)
        for key in keys:
            pipeline.pttl(key)
        left = cast("list[int]", await pipeline.execute())
        return {key.decode(): ttl for key, ttl in zip(keys, left, strict=True)}


@contextmanager
def stage_of(server: PrivateServer | None) -> Generator[Stage]:
    """Open the store of the server; None: the one in memory."""
    with asyncio.Runner() as runner:
        if server is None:
            yield Stage(runner, MemoryBackend())
            return
        client = connect(server.url)
        stage = Stage(runner, RedisBackend(client), client)
        try:
            yield stage
        finally:
            stage.run(client.aclose())


def call_of(key: Key, identity: tuple[int, int, str], ttl_ms: int, now_ms: int) -> AdmittedCall:
    run_id, call_id = key
    turn, position, arguments = identity
    return admitted(
        call_id, run_id=run_id, arguments=arguments, turn=turn, position=position, now_ms=now_ms, ttl_ms=ttl_ms
    )


def settlement_of(outcome: Outcome) -> Settlement:
    if outcome.error is not None:
        return Failed(call_error(ErrorCode(outcome.error), "told"), raw=outcome.raw)
    assert outcome.raw is not None
    assert outcome.agent is not None
    return Ready(outcome.raw, outcome.agent, EvidenceStatus(outcome.evidence))


def digest(body: bytes | None) -> str | None:
    return None if body is None else hashlib.sha256(body).hexdigest()


def ms(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def state_of(stored: StoredInvocation, *, raw: bool = True) -> State:
    """The model's view of a stored record; checks that it is consistent in itself."""
    record = stored.record
    if raw:
        assert record.sha256.raw == digest(stored.raw)
        assert record.sizes.kept == len(stored.raw or b"") + len(stored.agent_result or b"")
    assert record.sha256.agent_result == digest(stored.agent_result)
    return State(
        identity=(record.turn, record.position, str(record.request.arguments)),
        owner=record.owner,
        created_ms=ms(record.created_at) or 0,
        expires_ms=ms(record.expires_at) or 0,
        status=record.status,
        executions=record.executions,
        failures=record.failures,
        settled_ms=ms(record.settled_at),
        evidence=record.evidence_status,
        error=record.error.code if record.error else None,
        raw=stored.raw,
        agent=stored.agent_result,
    )


async def answer_of(operation: Awaitable[StoredInvocation]) -> StoredInvocation | str:
    try:
        return await operation
    except CaseboundError as error:
        return type(error).__name__
