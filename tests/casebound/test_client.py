"""Ids, times to live and names of runs."""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.contracts import RECORD_TTL_MARGIN_S, RunInput
from casebound.client import RecordTtlTooShort, check_record_ttl, find_run, has_worker, new_workflow_id, uuid7
from casebound.replay_pytest import ReplayedRuns


@workflow.defn(name="AgentRun")
class Continued:
    """Stands in for a run whose history grew too long: two executions, one chain."""

    @workflow.run
    async def run(self, again: bool) -> str:
        """Continue once."""
        if again:
            workflow.continue_as_new(False)
        return workflow.info().first_execution_run_id


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ids_are_uuids_of_version_7(unix_ms: int, random: bytes) -> None:
    """RFC 9562: 48 bits of time, version, variant, and the rest random."""
    made = uuid7(unix_ms, random)
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == unix_ms
    kept = int.from_bytes(random, "big") & ~(0xF << 76) & ~(0x3 << 62)
    assert made.int & (2**80 - 1) & ~(0xF << 76) & ~(0x3 << 62) == kept


def test_workflow_ids_sort_by_time_and_differ() -> None:
    """In the UI, the newest run has the greatest id."""
    ids = [new_workflow_id() for _ in range(100)]
    assert len(set(ids)) == 100
    made = uuid.UUID(ids[0].removeprefix("casebound-")).int >> 80
    assert abs(made / 1000 - time.time()) < 60


@pytest.mark.proves("INV-EVIDENCE-OUTLIVES-REPORT")
@pytest.mark.parametrize("short", [timedelta(seconds=1), timedelta(seconds=659), timedelta(seconds=659.999)])
def test_records_that_would_not_outlive_the_run_are_refused_at_both_ends(short: timedelta) -> None:
    """The command line says it in its own words; the run's input holds for every other starter."""
    deadline = timedelta(minutes=10)
    with pytest.raises(RecordTtlTooShort, match="give at least 11m"):
        check_record_ttl(deadline, short)
    with pytest.raises(ValidationError):
        RunInput(question="?", deadline_s=deadline.total_seconds(), record_ttl_s=short.total_seconds())


@given(st.integers(1, 10**7), st.integers(0, 10**6))
def test_whatever_the_command_line_lets_through_the_input_takes(deadline_s: int, over_s: int) -> None:
    """The two checks agree."""
    ttl = timedelta(seconds=deadline_s + RECORD_TTL_MARGIN_S + over_s)
    check_record_ttl(timedelta(seconds=deadline_s), ttl)
    check_record_ttl(timedelta(seconds=deadline_s), None)
    assert RunInput(question="?", deadline_s=deadline_s, record_ttl_s=ttl.total_seconds()).ttl_s == ttl.total_seconds()


async def test_a_run_is_found_by_every_name_it_has(
    temporal_client: Client, task_queue: str, replayed_runs: ReplayedRuns
) -> None:
    """Workflow id, first run id and the run id of a later execution lead to the same chain."""
    client = temporal_client
    async with Worker(
        client, task_queue=task_queue, workflows=[Continued], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        workflow_id = new_workflow_id()
        replayed_runs.leave_out(workflow_id)
        handle = await client.start_workflow(Continued.run, True, id=workflow_id, task_queue=task_queue)
        first = await handle.result()
    assert first == handle.first_execution_run_id
    current = (await client.get_workflow_handle(workflow_id).describe()).run_id
    assert current != first
    for name in (workflow_id, first, current):
        found = await find_run(client, name)
        assert found is not None
        assert (found.workflow_id, found.run_id, found.running) == (workflow_id, first, False)
    for name in ("nobody's", "", "a\\", "two words", "x" * 3000, "01a22d7d-812e-71a8-8434-dbc04ca0459b"):
        assert await find_run(client, name) is None


async def test_a_worker_is_seen_by_its_polls(temporal_client: Client, task_queue: str) -> None:
    """And none where there is none."""
    assert not await has_worker(temporal_client, task_queue, wait_s=0.1)
    async with Worker(
        temporal_client, task_queue=task_queue, workflows=[Continued], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        assert await has_worker(temporal_client, task_queue, wait_s=10)
