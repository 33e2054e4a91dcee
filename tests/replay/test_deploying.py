"""A changed workflow is deployed over a run that goes on: `casebound replay` tells beforehand, and no run is lost."""

from __future__ import annotations

import asyncio
import subprocess
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import Client

from activities.contracts import PlannerRef, RunInput, RunOutcome
from boundary.report import Verdict
from casebound.replay_pytest import ReplayedRuns
from tests.casebound.programs import casebound
from tests.replay.deployed import SCRIPT, version, worker
from tests.replay.deployed_worker import Order
from tests.steering.doubles import HeldPlanner
from tests.support.histories import DIRECTORY
from tests.support.runs import Harness, RunHandle
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun

pytestmark = pytest.mark.timeout(120)

BEGINNING = "        end = await self._open()\n"
UNPATCHED = (BEGINNING, f"        await self._leave_summary(self._close(CANCELLED, CheckedReport()))\n{BEGINNING}")
"""A version that does something before the run's first step."""

PATCHED = (
    BEGINNING,
    '        if workflow.patched("summary-first"):\n'
    f"            await self._leave_summary(self._close(CANCELLED, CheckedReport()))\n{BEGINNING}",
)
"""The same, for runs that begin with it."""

HANGING = (
    BEGINNING,
    "        with workflow.unsafe.sandbox_unrestricted():\n"
    f'            __import__("threading").Event().wait()\n{BEGINNING}',
)
"""A version whose code waits where no exception reaches it."""


async def half_a_run(runs: Harness) -> RunHandle:
    """Start a run with today's code, and stop its only worker while the planner thinks about the second turn."""
    planner = HeldPlanner(2, SCRIPT)
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.client.start_workflow(
            AgentRun.run,
            RunInput(question="What happened?", planner=PlannerRef(kind="scripted")),
            id=f"casebound-{uuid4()}",
            task_queue=runs.task_queue,
            # The SDK does not answer to a task that fails again; the server waits for so long.
            task_timeout=timedelta(seconds=1),
        )
        await planner.entered.wait()
    return handle


async def pending_failures(handle: RunHandle) -> int:
    """How often the run's current workflow task was tried in vain."""
    return max((await handle.describe()).raw_description.pending_workflow_task.attempt - 1, 0)


async def begun_anew(runs: Harness, replayed_runs: ReplayedRuns) -> set[str]:
    """Carry out another run on the worker that is there; returns the names of the markers in its history."""
    handle = await runs.start()
    replayed_runs.leave_out(handle.id)
    await handle.result()
    history = await handle.fetch_history()
    markers = [event for event in history.events if event.HasField("marker_recorded_event_attributes")]
    return {marker.marker_recorded_event_attributes.marker_name for marker in markers}


@pytest.mark.proves("INV-DEPLOYS-LOSE-NO-RUN")
async def test_a_changed_workflow_is_noticed_before_it_is_deployed_and_loses_no_run_if_it_is_not(
    tmp_path: Path,
    runs: Harness,
    replayed_runs: ReplayedRuns,
    temporal_client: Client,
    valkey_url: str,
    key_prefix: str,
    task_queue: str,
) -> None:
    """Unpatched, its workflow tasks fail and are tried again; behind a patch, the same change goes on with the run."""
    address = temporal_client.service_client.config.target_host
    order = Order(temporal=address, redis_url=valkey_url, prefix=key_prefix, task_queue=task_queue)
    unpatched, patched = version(tmp_path / "unpatched", UNPATCHED), version(tmp_path / "patched", PATCHED)
    handle = await half_a_run(runs)

    async def replayed(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        query = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Running'"
        more = {"TEMPORAL_ADDRESS": address, **environment}
        return await asyncio.to_thread(casebound, tmp_path, "replay", "--query", query, more=more)

    bad, good = await asyncio.gather(replayed(unpatched), replayed(patched))
    assert (bad.returncode, good.returncode) == (1, 0), bad.stderr + good.stderr
    assert "casebound.open_run: the code asks for the activity casebound.close_run instead" in bad.stdout
    with worker(order, unpatched):
        await wait_until(lambda: pending_failures(handle), description="a workflow task fails", timeout=30)
        failed = [
            event.workflow_task_failed_event_attributes
            for event in (await handle.fetch_history()).events
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        ]
    assert {one.cause for one in failed} == {WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR}
    with worker(order, patched):
        result = await handle.result()
        assert await begun_anew(runs, replayed_runs) == {"core_patch"}
    assert (result.outcome, result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    assert result.budget.tool_calls.used == 2


def test_the_command_ends_over_code_that_does_not(tmp_path: Path) -> None:
    """A history is given up after the time-out, the next one is replayed, and nothing is left running."""
    history = str(DIRECTORY / "store_lost.json")
    more = version(tmp_path / "hanging", HANGING)
    done = casebound(tmp_path, "replay", "--timeout", "500ms", history, history, more=more, seconds=50)
    assert done.returncode == 1
    assert done.stdout.count("no answer within 0.5 s") == 2
    assert "2 histories: 0 replay, 2 do not" in done.stdout
