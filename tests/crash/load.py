"""Runs that are kept going while something happens to their workers, each judged when it ends.

Above: the tests of restarts and of random kills. Below: `tests.crash.stage`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from temporalio.api.enums.v1 import EventType

from activities.contracts import RunOutcome
from activities.planners.port import Turn
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from boundary.report import Verdict
from tests.crash.stage import Stage
from tests.support.runs import Finished, RunHandle, call, calls, cite, claim, replay, report

MOST_EXECUTIONS = 4
"""Of one call: after the third takeover a lost owner settles it WORKER_LOST."""

DRAINED_S = 120.0
"""Longest wait for the runs under way when no more are started; one that hangs takes for ever."""

TOO_LATE = "TMPRL1101"
"""In the SDK's words for a workflow task that did not yield: of a worker that was frozen, or got no turn."""

CALL_IDS = ("first", "second", "third", "fourth", "fifth")


def several_calls() -> list[Turn]:
    """A script of two turns of calls, in threads and on the loop, and a report that cites one of each."""
    one, two, three, four, five = CALL_IDS
    return [
        calls(call(one, arguments={"q": 1}), call(two, "probe_async", {"q": 2}), call(three, arguments={"q": 3})),
        calls(call(four, "probe_async", {"q": 4}), call(five, arguments={"q": 5})),
        report(
            claim("q was one", cite(one, pointer="/echo/q", quote="1")),
            claim("q was four", cite(four, pointer="/echo/q", quote="4")),
        ),
    ]


@dataclass
class Tally:
    """What the runs that have ended left.

    Attributes:
        runs: how many.
        executions: how many calls were executed so often.
        lost: how many calls ended as WORKER_LOST.
        late: how many workflow tasks the SDK gave up because nothing moved for two seconds.
    """

    runs: int = 0
    executions: Counter[int] = field(default_factory=Counter[int])
    lost: int = 0
    late: int = 0

    @property
    def calls(self) -> int:
        """How many calls there were, one record each."""
        return self.executions.total()

    @property
    def begun(self) -> int:
        """How often a call was begun, all attempts together."""
        return sum(times * count for times, count in self.executions.items())

    def add(self, done: Finished) -> None:
        """Judge a run of `several_calls` by what the table of begin allows, and count it."""
        for event in done.events(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED):
            failure = event.workflow_task_failed_event_attributes.failure
            assert TOO_LATE in failure.message, failure
            self.late += 1
        assert done.result.unsettled == 0, done.result
        assert done.result.outcome is RunOutcome.REPORTED, done.result
        assert {*done.records} == {*CALL_IDS}, done.result
        assert done.result.budget.tool_calls.used == len(CALL_IDS), done.result
        assert done.result.budget.run_bytes.used == sum(stored.bytes for stored in done.records.values()), done.result
        lost = 0
        for stored in done.records.values():
            record = stored.record
            if record.status is InvocationStatus.ERROR:
                assert record.error is not None
                assert (record.error.code, record.executions) == (ErrorCode.WORKER_LOST, MOST_EXECUTIONS), record
                lost += 1
            else:
                assert record.status is InvocationStatus.READY, record
                assert 1 <= record.executions <= MOST_EXECUTIONS, record
            assert record.failures == 0, record
            self.executions[record.executions] += 1
        assert (done.result.verdict is Verdict.SUPPORTED) or lost, done.result
        self.lost += lost
        self.runs += 1


async def ended(stage: Stage, handle: RunHandle) -> Finished:
    """Gather what a run of `several_calls` left when it ends; its history replays."""
    result, history = await handle.result(), await handle.fetch_history()
    now_ms = await stage.store.backend.now_ms()
    records = await stage.store.invocations.read(result.run_id, CALL_IDS, now_ms=now_ms, raw=True)
    try:
        await replay(history)
    except RuntimeError as error:
        if TOO_LATE not in str(error):
            raise
        await replay(history)  # this process had no turn either
    return Finished(result, history, records, [])


@contextlib.asynccontextmanager
async def under_load(stage: Stage, width: int) -> AsyncGenerator[Tally]:
    """Keep so many runs of `several_calls` going until the block ends, then let those under way end.

    Raises:
        ExceptionGroup: a run did not end as it must; the block is left at once.
    """
    tally, stopping = Tally(), asyncio.Event()

    async def keep_going() -> None:
        while not stopping.is_set():
            handle = await stage.start()
            tally.add(await ended(stage, handle))

    async with asyncio.TaskGroup() as group:
        going = [group.create_task(keep_going()) for _ in range(width)]
        yield tally
        stopping.set()
        _, hanging = await asyncio.wait(going, timeout=DRAINED_S)
        assert not hanging, f"{len(hanging)} runs did not end within {DRAINED_S:.0f} s; {tally}"


def enough(tally: Tally, more: int) -> Callable[[], bool]:
    """Tell when so many more runs have ended than now."""
    wanted = tally.runs + more
    return lambda: tally.runs >= wanted
