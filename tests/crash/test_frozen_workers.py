"""A worker is frozen past the heartbeat time-out and thawed when another has the call: a zombie.

It is told to shut down first, so that it takes no new work while frozen; what it has it keeps.
"""

from __future__ import annotations

import signal

import pytest

from boundary.contracts import InvocationStatus
from tests.crash.processes import WorkerProcess
from tests.crash.stage import Stage, heard, one_call, proved_once
from tests.crash.watched import Point
from tests.support.runs import RunHandle

TAKEN_S = 25.0
"""Longest wait for the server to miss a heartbeat (5 s) and start the next attempt (1 s)."""


async def frozen_at(stage: Stage, point: Point) -> tuple[WorkerProcess, RunHandle]:
    """Freeze a worker that waits at the point with the run's only call in its hands."""
    zombie = stage.process(one_call(), hold_at=point, graceful_shutdown_s=60)
    await zombie.serves()
    handle = await stage.start()
    await zombie.says(point)
    zombie.send(signal.SIGTERM)
    await zombie.says("shutting down")
    zombie.send(signal.SIGSTOP)
    return zombie, handle


@pytest.mark.proves("INV-LAST-BEGIN-WINS", "INV-SETTLED-NEVER-CHANGES")
async def test_a_thawed_worker_finds_the_call_settled_by_another(stage: Stage) -> None:
    """The zombie's late settle finds the other's record, which stays as it is."""
    zombie, handle = await frozen_at(stage, Point.BEFORE_SETTLE)
    async with stage.worker(one_call()):
        done = await stage.harness.finished(handle, await handle.result())
        zombie.release()
        zombie.send(signal.SIGCONT)
        await zombie.says("found it settled by another")
        assert await zombie.ends() == 0
    proved_once(done, executions=2)
    again = await stage.harness.finished(handle, done.result)
    assert again.records["one"].encoded == done.records["one"].encoded


@pytest.mark.proves("INV-LAST-BEGIN-WINS", "INV-CANCELLED-ONLY-ON-REQUEST")
async def test_a_thawed_worker_cannot_settle_what_another_owns(stage: Stage) -> None:
    """The zombie settles while the other's tool still runs: its settle fails, the last begin wins."""
    zombie, handle = await frozen_at(stage, Point.BEFORE_SETTLE)
    async with stage.worker(one_call(), hold_at=Point.IN_TOOL) as points:
        await heard(points, Point.IN_TOOL, within_s=TAKEN_S)
        zombie.release()
        zombie.send(signal.SIGCONT)
        await zombie.says("settle failed: StaleAttempt")
        assert await zombie.ends() == 0
        record = await stage.record(handle)
        assert record is not None
        assert (record.status, record.executions) == (InvocationStatus.PROJECTING, 2)
        points.release()
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=2)
    assert points.count("settled") == 1


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST")
async def test_a_thawed_worker_stops_its_tool(stage: Stage) -> None:
    """timed_out: the zombie's tool, still running, is told to stop; nothing is settled CANCELLED."""
    zombie, handle = await frozen_at(stage, Point.IN_TOOL)
    async with stage.worker(one_call(), hold_at=Point.IN_TOOL) as points:
        await heard(points, Point.IN_TOOL, within_s=TAKEN_S)
        zombie.send(signal.SIGCONT)
        await zombie.says("stopped probe")
        assert await zombie.ends() == 0
        points.release()
        done = await stage.harness.finished(handle, await handle.result())
    assert "probe cancelled timed_out" in zombie.said or "probe cancelled not_found" in zombie.said
    assert "settled" not in zombie.said
    proved_once(done, executions=2)
