"""A worker remembers turns and results of runs: each is read from the store once, and the store stays the truth."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from activities.contracts import BudgetLeft, PlanInput, PlannedTurn
from activities.run_memory import RunMemory
from activities.stored import StoredTurn
from boundary.contracts import AdmittedCall, EvidenceStatus, Grant
from boundary.errors import RecordExpired
from boundary.keys import ToolCallKeyFactory
from boundary.memory_backend import MemoryBackend
from boundary.record import Ready
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, Owned

NOW_MS, EXPIRES_MS = 1_000, 100_000
BUDGET = BudgetLeft(tool_calls=1, turns=1, run_bytes=1)


class CountingBackend(MemoryBackend):
    """Counts what is read of it: keys, and turns of chains."""

    keys_read = 0
    turns_read = 0

    async def read(self, keys: Sequence[str], fields: Sequence[str], *, now_ms: int) -> list[dict[str, bytes] | None]:
        """See `Backend.read`."""
        self.keys_read += len(keys)
        return await super().read(keys, fields, now_ms=now_ms)

    async def chain(self, key: str, *, start: str, until: str, max_bytes: int, now_ms: int) -> list[bytes] | None:
        """See `Backend.chain`."""
        found = await super().chain(key, start=start, until=until, max_bytes=max_bytes, now_ms=now_ms)
        self.turns_read += len(found or ())
        return found


class Place:
    """A store with one run, and a worker's memory of it."""

    def __init__(self, max_bytes: int = 10**6) -> None:
        self.backend = CountingBackend()
        keys = ToolCallKeyFactory("test")
        self.runs, self.store = RunIndex(self.backend, keys), InvocationStore(self.backend, keys)
        self.memory = RunMemory(self.runs, self.store, max_bytes=max_bytes)

    async def put(self, key: str, parent: str | None) -> None:
        """Store a turn."""
        await self.runs.open("run", b"{}", expires_at_ms=EXPIRES_MS, now_ms=NOW_MS)
        turn = StoredTurn(
            input=PlanInput(number=1, parent=parent, budget=BUDGET, deadline_ms=0), turn=PlannedTurn(turn_key=key)
        )
        await self.runs.put_turn("run", key, parent, turn.model_dump_json().encode(), now_ms=NOW_MS)

    async def turns(self, key: str, now_ms: int = NOW_MS) -> list[str]:
        """Name the turns up to one."""
        return [turn.turn.turn_key for turn in await self.memory.turns("run", key, now_ms=now_ms)]

    async def settle(self, call_id: str) -> None:
        """Store a READY call."""
        grant = Grant(deadline_ms=EXPIRES_MS, expires_at_ms=EXPIRES_MS)
        call = AdmittedCall(
            run_id="run",
            tool_call_id=call_id,
            tool_name="t",
            arguments="",
            turn=1,
            position=0,
            call_index=1,
            grant=grant,
        )
        begun = await self.store.begin(call, nonce=call_id, now_ms=NOW_MS)
        assert isinstance(begun, Owned)
        ready = Ready(raw=b"1", agent_result=b'{"found": [1]}', evidence_status=EvidenceStatus.EVIDENCE_FOUND)
        await self.store.settle(begun.held, ready, now_ms=NOW_MS)


async def test_each_turn_is_read_once_however_many_turns_there_are() -> None:
    """The store is asked for what is new; a run of n turns reads n, not n squared."""
    place = Place()
    for number in range(50):
        await place.put(f"t{number}", f"t{number - 1}" if number else None)
        assert await place.turns(f"t{number}") == [f"t{one}" for one in range(number + 1)]
    assert place.backend.turns_read == 50


async def test_another_branch_of_turns_is_told_from_the_one_remembered() -> None:
    """A reset run goes on from an earlier turn: what is remembered of the other branch is no part of it."""
    place = Place()
    for key, parent in (("a", None), ("b", "a"), ("c", "b"), ("b2", "a"), ("c2", "b2")):
        await place.put(key, parent)
    assert await place.turns("c") == ["a", "b", "c"]
    assert await place.turns("c2") == ["a", "b2", "c2"]
    assert await place.turns("c") == ["a", "b", "c"]
    assert await place.turns("b") == ["a", "b"]


async def test_what_was_forgotten_is_read_again() -> None:
    """A memory of no size gives the same answers."""
    place = Place(max_bytes=300)
    for number in range(6):
        await place.put(f"t{number}", f"t{number - 1}" if number else None)
        assert await place.turns(f"t{number}") == [f"t{one}" for one in range(number + 1)]
    assert place.backend.turns_read > 6


async def test_a_run_that_is_gone_is_noticed_though_it_is_remembered() -> None:
    """Its index has expired: what is remembered does not stand in for it."""
    place = Place()
    await place.put("a", None)
    assert await place.turns("a") == ["a"]
    with pytest.raises(RecordExpired):
        await place.turns("a", now_ms=EXPIRES_MS)


async def test_each_result_is_read_once_until_it_expires() -> None:
    """What the planner does with its view stays the planner's; an expired result does not exist."""
    place = Place()
    await place.settle("one")
    first = await place.memory.results("run", ["one", "none"], now_ms=NOW_MS)
    first["one"].agent_result["found"].append(2)
    again = await place.memory.results("run", ["one"], now_ms=NOW_MS)
    assert again["one"].agent_result == {"found": [1]}
    assert place.backend.keys_read == 2
    assert await place.memory.results("run", ["one"], now_ms=EXPIRES_MS) == {}


async def test_a_call_that_is_not_settled_is_asked_for_again() -> None:
    """Only what never changes is remembered."""
    place = Place()
    assert await place.memory.results("run", ["one"], now_ms=NOW_MS) == {}
    await place.settle("one")
    assert set(await place.memory.results("run", ["one"], now_ms=NOW_MS)) == {"one"}


async def test_a_run_that_was_forgotten_is_read_anew() -> None:
    """Once it has reported, nothing of it is held any more."""
    place = Place()
    await place.put("a", None)
    assert await place.turns("a") == ["a"]
    place.memory.forget("run")
    assert await place.turns("a") == ["a"]
    assert place.backend.turns_read == 2
