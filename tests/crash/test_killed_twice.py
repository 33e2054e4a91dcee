"""The worker that takes over is killed where the first was, and a third completes the run: nothing adds up twice.

Side by side, a run and two doomed workers for each point; what a single kill leaves is in test_killed_workers.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from activities.planners.port import Turn
from tests.crash.operations import Operator
from tests.crash.processes import STARTED_S, WorkerProcess
from tests.crash.stage import Stage, one_call, proved_once
from tests.crash.watched import Point, Points
from tests.support.runs import Finished
from tests.support.waiting import wait_until

TOKENS = 7
"""What each turn of the planner costs."""

TOOL, PLAN, CHECK = "executed probe", "asked for turn 1 plan", "casebound.check_report returned"

pytestmark = pytest.mark.timeout(150)


@dataclass(frozen=True)
class Case:
    """One point, and what must be true when two workers were killed there."""

    point: Point
    activity_type: str
    begun: int
    """How often the doomed workers began the call."""
    work: str
    """What a worker says when it does the work in question."""
    doomed: int
    """How often the doomed two did it together."""
    again: bool
    """Whether the third had to."""
    only: str | None = None


CASES = (
    Case(Point.BEFORE_BEGIN, "probe", 0, TOOL, 0, again=True),
    Case(Point.AFTER_BEGIN, "probe", 2, TOOL, 0, again=True),
    Case(Point.IN_TOOL, "probe", 2, TOOL, 2, again=True),
    Case(Point.BEFORE_SETTLE, "probe", 2, TOOL, 2, again=True),
    Case(Point.BEFORE_REPORT, "probe", 1, TOOL, 1, again=False, only="probe"),
    Case(Point.IN_PLANNER, "casebound.plan", 0, PLAN, 2, again=True),
    Case(Point.BEFORE_REPORT, "casebound.plan", 0, PLAN, 1, again=False, only="casebound.plan"),
    Case(Point.IN_CHECK, "casebound.check_report", 1, CHECK, 0, again=True),
)


def script() -> list[Turn]:
    """A run of one call whose turns cost tokens."""
    return [replace(turn, tokens=TOKENS) for turn in one_call()]


async def killed_twice(
    stage: Stage, case: Case, doomed: WorkerProcess, numbers: Sequence[int]
) -> tuple[Finished, Points]:
    """Carry out a run whose first two workers are killed at the point."""
    ends = [f"{number} ended {-signal.SIGKILL}" for number in numbers]
    handle = await stage.start()
    await wait_until(lambda: {*ends} & {*doomed.said}, description=f"a kill {case.point}", timeout=STARTED_S)
    await Operator(stage.client, handle).shorten_heartbeats(case.activity_type)
    for end in ends:
        await doomed.says(end, within_s=STARTED_S)
    async with stage.worker(script()) as points:
        return await stage.harness.finished(handle, await handle.result()), points


@pytest.mark.proves("INV-LAST-BEGIN-WINS", "INV-ONE-RECORD", "INV-STORED-OUTCOME-WINS", "INV-NONE-PROJECTING")
async def test_a_run_outlives_two_workers_killed_at_the_same_point(stage: Stage) -> None:
    """One record and one charge each, and as many executions as were begun; what was stored is done by nobody again."""
    stages = [replace(stage, task_queue=f"{stage.task_queue}-{number}") for number in range(len(CASES))]
    doomed = stage.processes_for(
        [
            own.order(script(), die_at=case.point, only=case.only)
            for own, case in zip(stages, CASES, strict=True)
            for _ in range(2)
        ]
    )
    pairs = [(2 * number, 2 * number + 1) for number in range(len(CASES))]
    for number in range(2 * len(CASES)):
        await doomed.says(f"{number} serving", within_s=STARTED_S)
    async with asyncio.TaskGroup() as group:  # a failure lets the others shut their workers down in order
        tasks = [
            group.create_task(killed_twice(own, case, doomed, pair))
            for own, case, pair in zip(stages, CASES, pairs, strict=True)
        ]
    for case, pair, task in zip(CASES, pairs, tasks, strict=True):
        done, points = task.result()

        def said(text: str, pair: tuple[int, int] = pair) -> int:
            return sum(doomed.said.count(f"{number} {text}") for number in pair)

        # With heartbeats of a second the third may miss one, too, on a busy machine: it says so.
        assert said(Point.AFTER_BEGIN) == case.begun, case
        proved_once(done, executions=case.begun + points.count(Point.AFTER_BEGIN))
        assert (said(case.work), points.count(case.work) > 0) == (case.doomed, case.again), case
        assert [turn.input.number for turn in done.turns] == [1, 2], case
        assert done.result.budget.tokens.used == 2 * TOKENS, case
