"""The servers behind the fixtures are real and do what tests rely on."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.support import redis_servers
from tests.support.waiting import wait_until


@workflow.defn
class SleepForAMonth:
    """Waits 30 days and tells how many passed."""

    @workflow.run
    async def run(self) -> int:
        """Wait by workflow time."""
        begin = workflow.now()
        await workflow.sleep(timedelta(days=30))
        return (workflow.now() - begin).days


@workflow.defn
class Echo:
    """Returns its input."""

    @workflow.run
    async def run(self, text: str) -> str:
        """Return the text."""
        return text


async def test_a_month_passes_in_seconds_on_the_time_skipping_server(
    time_skipping: WorkflowEnvironment, task_queue: str
) -> None:
    """Each workflow has a virtual clock that skips over timers."""
    assert await _sleep_for_a_month(time_skipping.client, task_queue) == 30


async def test_a_month_passes_in_seconds_on_the_java_server(
    java_time_skipping: WorkflowEnvironment, task_queue: str
) -> None:
    """The older server skips while the result is awaited."""
    assert await _sleep_for_a_month(java_time_skipping.client, task_queue) == 30


async def _sleep_for_a_month(client: Client, task_queue: str) -> int:
    begin = time.monotonic()
    async with Worker(
        client, task_queue=task_queue, workflows=[SleepForAMonth], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        days = await client.execute_workflow(SleepForAMonth.run, id=task_queue, task_queue=task_queue)
    assert time.monotonic() - begin < 20
    return days


@pytest.mark.parametrize("round_", [1, 2])
async def test_the_dev_server_serves_each_test_on_its_own_loop(
    temporal_client: Client, task_queue: str, round_: int
) -> None:
    """A client of one test does not outlive its loop; the server does."""
    async with Worker(
        temporal_client, task_queue=task_queue, workflows=[Echo], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        answer = await temporal_client.execute_workflow(Echo.run, str(round_), id=task_queue, task_queue=task_queue)
    assert answer == str(round_)


def test_a_key_without_ttl_is_found_and_only_own_keys_are_deleted(redis_url: str, key_prefix: str) -> None:
    """The invariant after each test sees what a store must not do."""
    with redis_servers.connected(redis_url) as client:
        client.set(f"{key_prefix}:a", "1", px=60_000)
        client.set(f"{key_prefix}:b", "1")
        assert redis_servers.keys_without_ttl(redis_url, f"{key_prefix}*") == [f"{key_prefix}:b"]
        redis_servers.delete_keys(redis_url, f"{key_prefix}:b")
        assert client.exists(f"{key_prefix}:a") == 1


async def test_wait_until_names_what_did_not_happen() -> None:
    """A wait is bounded and its failure says what was waited for."""
    with pytest.raises(AssertionError, match=r"not within 0\.05 s: pigs fly"):
        await wait_until(lambda: False, description="pigs fly", timeout=0.05)


async def test_wait_until_returns_the_answer_of_an_async_predicate() -> None:
    """Predicates may be coroutines."""

    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    assert await wait_until(answer, description="an answer") == 7
