"""The pytest fixture that replays what a test left on a server."""

from __future__ import annotations

from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner

from casebound.replay_pytest import ReplayedRuns
from tests.support.runs import REPLAYED, Harness, call, calls, report
from tests.support.tools import FakeTool
from workflows.agent_run import AgentRun

# pyright: reportPrivateUsage=false
# Another version of the workflow changes its own steps.

OPEN = AgentRun._open


async def sleeps_first(run: AgentRun) -> Any:
    """Begin later than today's code does."""
    await workflow.sleep(0.01)
    return await OPEN(run)


async def test_a_run_that_other_code_made_is_told_when_the_test_is_over(
    monkeypatch: pytest.MonkeyPatch,
    runs: Harness,
    temporal_client: Client,
    task_queue: str,
    replayed_runs: ReplayedRuns,
) -> None:
    """Beside one that replays; unless it was left out."""
    with monkeypatch.context() as patch:
        patch.setattr(AgentRun, "_open", sleeps_first)
        patch.setattr("casebound.worker.sandbox", UnsandboxedWorkflowRunner)
        async with runs.worker([calls(call("one")), report()], [FakeTool()]):
            other = await runs.start()
            await other.result()
    async with runs.worker([report()], [FakeTool()]):
        await (await runs.start()).result()
    watching = ReplayedRuns()
    watching.watch(temporal_client.service_client.config.target_host, f"TaskQueue = '{task_queue}'")
    [told] = await watching.failures()
    assert told.startswith(f"FAILED  {other.id} ")
    assert (
        "TimerStarted 1: the code asks for nothing" in told or "TimerStarted 1: the code asks for the activity" in told
    )
    for runs_of_this_test in (watching, replayed_runs):
        runs_of_this_test.leave_out(other.id)
    assert await watching.failures() == []


async def test_every_test_that_uses_the_dev_server_has_its_runs_replayed(
    request: pytest.FixtureRequest, runs: Harness, replayed_runs: ReplayedRuns
) -> None:
    """Without asking for it; what the harness has replayed is not replayed twice."""
    assert "every_run_replays" in request.fixturenames
    assert len(replayed_runs.watched) == 1
    done = await runs.run([report()], [FakeTool()])
    assert done.history.run_id in REPLAYED
