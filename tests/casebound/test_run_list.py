"""Runs are listed from Temporal, the latest first, by what people know of them."""

from __future__ import annotations

from uuid import uuid4

import pytest
from temporalio.client import Client

from activities.contracts import RunInput
from boundary.keys import ToolCallKeyFactory
from boundary.memory_backend import MemoryBackend
from boundary.run_index import RunIndex
from casebound.client import StartedRun, start_run
from casebound.run_list import ListedRun, NotFilterable, Wanted, from_store, from_temporal
from tests.support import temporal
from tests.support.waiting import wait_until


async def started(client: Client, question: str, owner: str) -> StartedRun:
    """Start a run that no worker takes."""
    return await start_run(client, RunInput(question=question, owner=owner), task_queue=f"none-{uuid4()}", source="")


async def listed(client: Client, count: int, wanted: Wanted) -> list[ListedRun]:
    """List what is wanted once the server's list, which is a moment behind, has as many."""
    found: list[ListedRun] = []

    async def there() -> bool:
        found[:] = [run async for run in from_temporal(client, wanted)]
        return len(found) == count

    await wait_until(there, description=f"{count} runs are listed")
    return found


async def test_runs_are_found_by_owner_question_and_state(temporal_client: Client) -> None:
    """The latest first; a part of the question is enough, whatever its case; an odd owner is only a text."""
    owner = f"o'brien \\ {uuid4()}"
    first = await started(temporal_client, "Why did the checkout fail?", owner)
    second = await started(temporal_client, "Who restarted the gateway?", owner)
    both = await listed(temporal_client, 2, Wanted(owner=owner))
    assert [run.run_id for run in both] == [second.run_id, first.run_id]
    assert (both[1].question, both[1].owner, both[1].status) == ("Why did the checkout fail?", owner, "running")
    [found] = await listed(temporal_client, 1, Wanted(owner=owner, text="CHECKOUT"))
    assert found.workflow_id == first.handle.id
    await second.handle.terminate()
    [running] = await listed(temporal_client, 1, Wanted(owner=owner, running=True))
    assert running.run_id == first.run_id
    await first.handle.terminate()
    assert await listed(temporal_client, 0, Wanted(owner=owner, outcome="REPORTED")) == []
    assert await listed(temporal_client, 0, Wanted(owner="' OR WorkflowType != 'x")) == []


async def test_a_server_without_the_search_attributes_says_what_is_missing() -> None:
    """With the command that declares them; what needs none of them is listed all the same."""
    async with await temporal.start_dev_server(attributes=()) as env:
        client = await temporal.connect(env)
        with pytest.raises(NotFilterable, match=r"CaseboundOwner\n.*casebound setup"):
            await listed(client, 1, Wanted(owner="ada"))
        assert await listed(client, 0, Wanted(running=True)) == []


async def test_runs_that_only_the_store_still_has_are_listed_on_request() -> None:
    """Temporal forgets a run after its retention time; its evidence may live longer."""
    runs = RunIndex(MemoryBackend(), ToolCallKeyFactory("test"))
    brief = (
        b'{"run_id": "a", "workflow_id": "casebound-a", "question": "What?", "planner": {}, "deadline_ms": 5, '
        b'"expires_at_ms": 9}'
    )
    for run_id in ("a", "b"):
        await runs.open(run_id, brief, expires_at_ms=9, now_ms=1)
    [kept] = [run async for run in from_store(runs, frozenset({"b"}), Wanted(text="what"), 1)]
    assert (kept.run_id, kept.workflow_id, kept.question, kept.status) == ("a", "casebound-a", "What?", "expired")
    assert [run async for run in from_store(runs, frozenset(), Wanted(text="else"), 1)] == []
    assert [run async for run in from_store(runs, frozenset(), Wanted(), 9)] == []
