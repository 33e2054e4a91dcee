"""A worker is killed at a named point; another takes over. The record says who may do what."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, replace

import pytest

from activities.contracts import RunOutcome
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from tests.crash.operations import Operator
from tests.crash.processes import SOON_S, STARTED_S
from tests.crash.stage import Stage, one_call, proved_once
from tests.crash.watched import Point
from tests.support.runs import RunHandle, call, calls, cite, claim, report
from tests.support.waiting import wait_until

PROJECTING, READY = InvocationStatus.PROJECTING, InvocationStatus.READY


async def begun(stage: Stage, handle: RunHandle, *, executions: int) -> None:
    """Wait until the call has been begun so often."""

    async def so_often() -> bool:
        record = await stage.record(handle)
        return record is not None and (record.status, record.executions) == (PROJECTING, executions)

    await wait_until(so_often, description=f"execution {executions}", timeout=SOON_S)


@dataclass(frozen=True)
class Case:
    """A point, what the worker killed there leaves, and what is true when another has completed the run."""

    point: Point
    left: InvocationStatus | None
    executions: int
    ran: tuple[int, int]
    """How often the killed worker started the tool, and the other."""


CASES = (
    Case(Point.BEFORE_BEGIN, None, 1, (0, 1)),
    Case(Point.AFTER_BEGIN, PROJECTING, 2, (0, 1)),
    Case(Point.IN_TOOL, PROJECTING, 2, (1, 1)),
    Case(Point.BEFORE_SETTLE, PROJECTING, 2, (1, 1)),
    Case(Point.AFTER_SETTLE, READY, 1, (1, 0)),
)


@pytest.mark.proves(
    "INV-LAST-BEGIN-WINS",
    "INV-ONE-RECORD",
    "INV-RECORD-BEFORE-EXECUTION",
    "INV-NONE-PROJECTING",
    "FIELD-CRASH-BETWEEN-CALL-AND-RESULT",
)
async def test_a_call_outlives_the_worker_killed_on_its_way(stage: Stage) -> None:
    """Before begin, nothing is left. Before the settle, it is taken over and run again. After it, it counts, once.

    Side by side, since each waits for a heartbeat to be missed.
    """
    stages = [replace(stage, task_queue=f"{stage.task_queue}-{number}") for number in range(len(CASES))]
    killed = stage.processes_for(
        [own.order(one_call(), die_at=case.point) for own, case in zip(stages, CASES, strict=True)]
    )
    for number in range(len(CASES)):
        await killed.says(f"{number} serving", within_s=STARTED_S)

    async def outlives(number: int, own: Stage, case: Case) -> None:
        handle = await own.start()
        await killed.says(f"{number} ended {-signal.SIGKILL}", within_s=STARTED_S)
        record = await own.record(handle)
        assert (record and (record.status, record.executions)) == (case.left and (case.left, 1)), case
        async with own.worker(one_call()) as points:
            done = await own.harness.finished(handle, await handle.result())
        proved_once(done, executions=case.executions)
        assert (killed.said.count(f"{number} executed probe"), points.count("executed probe")) == case.ran, case

    async with asyncio.TaskGroup() as group:
        for number, pair in enumerate(zip(stages, CASES, strict=True)):
            group.create_task(outlives(number, *pair))


@pytest.mark.proves("INV-ONE-RECORD", "INV-NONE-PROJECTING")
async def test_each_call_of_a_turn_is_where_it_was_when_the_worker_was_killed(stage: Stage) -> None:
    """One call settled, one running, one waiting for room: only the running one is executed twice."""
    turn = calls(call("done"), call("running", "probe_async"), call("waiting"))
    script = [turn, report(claim("done", cite("done", pointer="/echo")))]
    killed = stage.process(script, die_at=Point.IN_TOOL, only="probe_async")
    await killed.serves()
    handle = await stage.start(max_parallel_calls=1)
    assert await killed.ends() == -signal.SIGKILL
    await Operator(stage.client, handle).shorten_heartbeats("probe_async")
    async with stage.worker(script) as points:
        done = await stage.harness.finished(handle, await handle.result())
    records = {call_id: stored.record for call_id, stored in done.records.items()}
    assert {call_id: record.executions for call_id, record in records.items()} == {
        "done": 1,
        "running": 2,
        "waiting": 1,
    }
    assert {record.status for record in records.values()} == {READY}
    assert (killed.said.count("executed probe"), points.count("executed probe")) == (1, 1)
    assert done.result.budget.tool_calls.used == 3
    assert done.result.budget.run_bytes.used == sum(stored.bytes for stored in done.records.values())


@pytest.mark.parametrize(
    ("point", "activity_type", "asked"),
    [
        (Point.AFTER_OPEN, "casebound.open_run", (0, 1)),
        (Point.IN_PLANNER, "casebound.plan", (1, 1)),
        (Point.AFTER_TURN, "casebound.plan", (1, 0)),
    ],
)
async def test_a_stored_turn_is_not_asked_for_again(
    stage: Stage, point: Point, activity_type: str, asked: tuple[int, int]
) -> None:
    """Killed before the turn is stored: the planner is asked, again where it thought. Killed after: it is not."""
    killed = stage.process(one_call(), die_at=point)
    await killed.serves()
    handle = await stage.start()
    assert await killed.ends() == -signal.SIGKILL
    await Operator(stage.client, handle).shorten_heartbeats(activity_type)
    async with stage.worker(one_call()) as points:
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=1)
    assert (killed.said.count("asked for turn 1 plan"), points.count("asked for turn 1 plan")) == asked
    assert [turn.input.number for turn in done.turns] == [1, 2]


async def test_a_report_is_checked_again_when_its_check_was_killed(stage: Stage) -> None:
    """The check reads only, so another worker repeats it; neither planner nor tool is bothered again."""
    killed = stage.process(one_call(), die_at=Point.IN_CHECK)
    await killed.serves()
    handle = await stage.start()
    assert await killed.ends() == -signal.SIGKILL
    await Operator(stage.client, handle).shorten_heartbeats("casebound.check_report")
    async with stage.worker(one_call()) as points:
        done = await stage.harness.finished(handle, await handle.result())
    proved_once(done, executions=1)
    assert points.count("executed probe") == 0
    assert not [text for text in points.said if text.startswith("asked")]


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN", "FIELD-CRASH-BETWEEN-CALL-AND-RESULT")
async def test_a_call_that_kills_every_worker_ends_as_worker_lost(stage: Stage) -> None:
    """More than three lost owners settle WORKER_LOST; the tool is not started a fifth time, the run reports."""
    script = [calls(call("one")), report(claim("nothing can be said"))]
    deadly = [stage.process(script, die_at=Point.IN_TOOL) for _ in range(4)]
    for process in deadly:
        await process.serves()
    handle = await stage.start()
    operator = Operator(stage.client, handle)
    for lost in range(1, 5):
        await begun(stage, handle, executions=lost)
        if lost == 1:
            await operator.shorten_heartbeats("probe")
        await operator.between_attempts("probe")
        if lost < 4:
            await operator.reset_activity("probe")
    async with stage.worker(script) as points:
        done = await stage.harness.finished(handle, await handle.result())
    assert [await process.ends() for process in deadly] == [-signal.SIGKILL] * 4
    record = done.records["one"].record
    assert record.error is not None
    assert (record.error.code, record.executions, record.failures) == (ErrorCode.WORKER_LOST, 4, 0)
    assert points.count("executed probe") == 0
    assert done.result.outcome is RunOutcome.REPORTED
    assert [failed.error.code for failed in done.result.could_not_check] == [ErrorCode.WORKER_LOST]
