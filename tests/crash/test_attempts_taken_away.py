"""An attempt is stopped for reasons that are not the run's: it writes nothing, the next one goes on.

Each flag of Temporal's cancellation details but `cancel_requested`; `timed_out` is in test_frozen_workers.
"""

from __future__ import annotations

import signal

import pytest
from temporalio.client import WorkflowExecutionStatus

from boundary.contracts import InvocationStatus
from tests.crash.operations import Operator
from tests.crash.stage import Stage, heard, one_call, proved_once
from tests.crash.watched import Point
from tests.support.runs import RunHandle

BOTH_KINDS = pytest.mark.parametrize("tool", ["probe", "probe_async"])
"""A tool in a thread and one on the loop."""


async def left_projecting(stage: Stage, handle: RunHandle) -> None:
    record = await stage.record(handle)
    assert record is not None
    assert (record.status, record.executions, record.error) == (InvocationStatus.PROJECTING, 1, None)


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST")
@BOTH_KINDS
async def test_a_worker_that_shuts_down_leaves_the_record_to_the_next_begin(stage: Stage, tool: str) -> None:
    """worker_shutdown: SIGTERM stops the tool, nothing is settled; a second worker completes the call."""
    leaving = stage.process(one_call(tool), hold_at=Point.IN_TOOL)
    await leaving.serves()
    handle = await stage.start()
    await leaving.says(Point.IN_TOOL)
    leaving.send(signal.SIGTERM)
    assert await leaving.ends() == 0
    assert f"{tool} cancelled worker_shutdown" in leaving.said
    assert f"stopped {tool}" in leaving.said
    await left_projecting(stage, handle)
    async with stage.worker(one_call(tool)) as points:
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=2)
    assert points.count(f"executed {tool}") == 1


async def test_a_worker_that_shuts_down_lets_a_tool_finish_in_time(stage: Stage) -> None:
    """Within the graceful time a running tool ends as ever: one execution, and its worker settles it."""
    leaving = stage.process(one_call(), hold_at=Point.IN_TOOL, graceful_shutdown_s=20)
    await leaving.serves()
    handle = await stage.start()
    await leaving.says(Point.IN_TOOL)
    leaving.send(signal.SIGTERM)
    await leaving.says("shutting down")
    leaving.release()
    assert await leaving.ends() == 0
    assert "probe returned" in leaving.said
    async with stage.worker(one_call()) as points:
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=1)
    assert points.count("executed probe") == 0


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST")
@BOTH_KINDS
async def test_a_paused_activity_leaves_the_record_until_it_goes_on(stage: Stage, tool: str) -> None:
    """paused: the tool is stopped, the record stays PROJECTING; unpaused, the next attempt completes it."""
    async with stage.worker(one_call(tool), hold_at=Point.IN_TOOL) as points:
        handle = await stage.start()
        operator = Operator(stage.client, handle)
        await heard(points, Point.IN_TOOL)
        await operator.pause(tool)
        await heard(points, f"{tool} cancelled paused")
        await heard(points, f"stopped {tool}")
        await left_projecting(stage, handle)
        points.release()
        await operator.unpause(tool)
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=2)


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST")
@BOTH_KINDS
async def test_a_reset_activity_is_taken_over_by_its_first_attempt(stage: Stage, tool: str) -> None:
    """reset: the tool is stopped and started anew; that the attempt's number fell back to 1 changes nothing."""
    async with stage.worker(one_call(tool), hold_at=Point.IN_TOOL) as points:
        handle = await stage.start()
        await heard(points, Point.IN_TOOL)
        await Operator(stage.client, handle).reset_activity(tool)
        await heard(points, f"{tool} cancelled reset")
        await left_projecting(stage, handle)
        points.release()
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=2)
    assert points.count(f"executed {tool}") == 2


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST")
@BOTH_KINDS
async def test_a_terminated_run_stops_its_tool_and_harms_nothing(stage: Stage, tool: str) -> None:
    """not_found: the tool is told to stop, the record stays PROJECTING, and the worker serves the next run."""
    async with stage.worker(one_call(tool), hold_at=Point.IN_TOOL) as points:
        handle = await stage.start()
        await heard(points, Point.IN_TOOL)
        await handle.terminate("a test")
        await heard(points, f"{tool} cancelled not_found")
        await heard(points, f"stopped {tool}")
        await left_projecting(stage, handle)
        points.release()
        next_run = await stage.start()
        proved_once(await stage.harness.finished(next_run, await next_run.result()), executions=1)
    await left_projecting(stage, handle)
    assert (await handle.describe()).status is WorkflowExecutionStatus.TERMINATED
