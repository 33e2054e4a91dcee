"""Scenarios of runs that nobody steers, except to stop one whose store is gone.

Above: `tests.support.scenarios`. Below: `tests.support.runs`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from dataclasses import replace
from typing import cast

from activities.contracts import PlanInput, StopInput, TurnMode
from activities.planners.port import PlannerError, RunView, Turn
from activities.planners.scripted import ScriptedPlanner
from boundary.backend import Created, Existing, Expired, Fields
from boundary.contracts import JsonObject, JsonValue
from boundary.errors import ErrorCode, StoreUnavailable
from boundary.memory_backend import MemoryBackend
from boundary.tools import ToolContext, ToolFailure
from casebound.settings import Settings, WorkerSettings
from casebound.tool_settings import ToolSettings
from casebound.worker import open_worker
from tests.support.runs import BlockingPlanner, Finished, Harness, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool, show_nothing
from workflows.agent_run import AgentRun


def _unavailable(arguments: JsonObject, context: ToolContext) -> JsonValue:
    raise ToolFailure("no answer", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)


async def _never(arguments: JsonObject, context: ToolContext) -> JsonValue:
    return await asyncio.Event().wait()


class _HangsWhilePlanning(BlockingPlanner):
    """Follows a script, but hangs from turn `number` on where it is asked for calls."""

    def __init__(self, number: int, *script: Turn) -> None:
        super().__init__()
        self._number = number
        self._script = ScriptedPlanner(script)

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        if plan.number >= self._number and plan.mode is TurnMode.PLAN:
            return await super().next_turn(plan, run)
        return await self._script.next_turn(plan, run)


class Breakable(MemoryBackend):
    """A store that stops answering: every operation looks first whether its key is there."""

    down = False

    async def create(
        self, key: str, fields: Fields, *, identity: str, expires_at_ms: int, now_ms: int
    ) -> Created | Existing | Expired:
        """See `Backend.create`."""
        self._alive(key, now_ms)
        return await super().create(key, fields, identity=identity, expires_at_ms=expires_at_ms, now_ms=now_ms)

    def _alive(self, key: str, now_ms: int) -> bool:
        if self.down:
            raise StoreUnavailable("the store is down")
        return super()._alive(key, now_ms)


SEEN = claim("q was one", cite("first", pointer="/echo/q", quote="1"))


async def reported(harness: Harness) -> Finished:
    """Three turns of calls, one of which finds nothing; a finding and an absence, both proven."""
    nothing = FakeTool("search", show=show_nothing)
    script = [
        calls(call("first", arguments={"q": 1})),
        calls(call("second", "search", {"q": 2}), call("third", arguments={"q": 3})),
        calls(call("fourth", "search", {"q": 4})),
        report(SEEN, claim("nothing else", cite("second"), kind="absence")),
    ]
    return await harness.run(script, [FakeTool(), nothing])


async def parallel_calls(harness: Harness) -> Finished:
    """More calls of two tools in one turn than may run at once."""
    script = [
        calls(call("first", arguments={"q": 1}), *[call(f"c{n}", ("probe", "search")[n % 2]) for n in range(1, 6)]),
        report(SEEN),
    ]
    return await harness.run(script, [FakeTool(), FakeTool("search", show=show_nothing)], max_parallel_calls=3)


async def refused_calls(harness: Harness) -> Finished:
    """A turn of nothing but refusals, and one where a good call stands between bad ones."""
    script = [
        calls(call(None), call("a b"), call("gone", "no_such_tool")),
        calls(call("first", arguments={"q": 1}), call("first"), call("bad", arguments='{"q": '), call("x" * 300)),
        calls(call("bad"), call("late", arguments={"q": "one"})),
        report(SEEN, claim("refused", cite("gone"))),
        report(SEEN),
    ]
    return await harness.run(script, [FakeTool()])


async def repeated_calls(harness: Harness) -> Finished:
    """A call made again is answered by the first; the third is refused."""
    again = [calls(call(name, arguments={"q": 1})) for name in ("again", "once_more")]
    script = [calls(call("first", arguments={"q": 1})), *again, report(SEEN)]
    return await harness.run(script, [FakeTool()], repeat_window_s=600)


async def own_queue(harness: Harness) -> Finished:
    """A tool that runs on the workers of its own task queue, beside one that does not."""
    queue = f"{harness.task_queue}-data"
    plain = Settings(worker=WorkerSettings(graceful_shutdown_s=0))
    configured = plain.model_copy(update={"tools": {"search": ToolSettings(task_queue=queue)}})
    own = replace(harness, settings=configured)
    tool = FakeTool("search")
    script = [calls(call("first", arguments={"q": 1}), call("second", "search", {"q": 2})), report(SEEN)]
    async with open_worker(plain, harness.client, harness.store, task_queue=queue, tools=[tool], planners={}):
        return await own.run(script, [FakeTool(), tool])


async def repaired(harness: Harness) -> Finished:
    """A report with a wrong quote, mended in the repair turn."""
    wrong = claim("q was two", cite("first", pointer="/echo/q", quote="2"))
    return await harness.run([calls(call("first", arguments={"q": 1})), report(wrong), report(SEEN)], [FakeTool()])


async def budget_exhausted(harness: Harness) -> Finished:
    """Two calls of four are over the run's limit; a concluding turn reports."""
    script = [calls(call("first", arguments={"q": 1}), *[call(f"c{n}") for n in range(3)]), report(SEEN)]
    return await harness.run(script, [FakeTool()], max_tool_calls=2)


async def turns_exhausted(harness: Harness) -> Finished:
    """Two turns of planning are all there are; a concluding turn reports."""
    script = [calls(call("first", arguments={"q": 1})), calls(call("second")), report(SEEN)]
    return await harness.run(script, [FakeTool()], max_turns=2)


async def deadline_exceeded(harness: Harness) -> Finished:
    """A tool, then the planner, is cut off by the end of gathering; a concluding turn reports."""
    script = [calls(call("first", arguments={"q": 1}), call("stuck", "search")), report(SEEN), report(SEEN)]
    tools = [FakeTool(), FakeAsyncTool("search", work_async=_never)]
    return await harness.run(_HangsWhilePlanning(2, *script), tools, deadline_s=2)


async def planner_hung(harness: Harness) -> Finished:
    """The planner answers neither before the deadline nor for the report; the workflow publishes its own."""
    return await harness.run(BlockingPlanner(), [FakeTool()], deadline_s=1)


async def planner_failed(harness: Harness) -> Finished:
    """The planner gives up after its first turn."""
    return await harness.run([calls(call("first")), PlannerError("no such model")], [FakeTool()])


async def never_usable(harness: Harness) -> Finished:
    """Neither the report nor its repair can be taken; the workflow lists the calls itself."""
    bad = report({"text": ""})
    return await harness.run([calls(call("first")), bad, bad], [FakeTool()])


async def settled_by_the_finalizer(harness: Harness) -> Finished:
    """A call's activity dies for good, no retry fits into its time; its record is settled all the same."""
    stuck = FakeTool("search", work=_unavailable, max_attempts=100)
    turn = calls(call("first", arguments={"q": 1}), call("stuck", "search"))
    return await harness.run([turn, report(SEEN)], [FakeTool(), stuck], deadline_s=3)


async def retried(harness: Harness) -> Finished:
    """A failure the tool calls retryable, then an answer."""
    left = [1]

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        left[0] -= 1
        return {"echo": arguments} if left[0] < 0 else _unavailable(arguments, context)

    return await harness.run([calls(call("first", arguments={"q": 1})), report(SEEN)], [FakeTool(work=work)])


async def store_lost(harness: Harness) -> Finished:
    """The store answers nothing from the start; the run cannot even begin."""
    with _broken(harness):
        async with harness.worker([report()], [FakeTool()]):
            handle = await harness.start(deadline_s=2)
            result = await handle.result()
    return await harness.finished(handle, result)


async def unsettled(harness: Harness) -> Finished:
    """The store goes away while a tool runs, and is back too late for the finalizer; the result says so."""
    entered = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        entered.set()
        return await _never(arguments, context)

    async with harness.worker([calls(call("first")), report()], [FakeAsyncTool(work_async=work)]):
        handle = await harness.start()
        await entered.wait()
        with _broken(harness):
            await handle.execute_update("stop", StopInput())
            while (await handle.query(AgentRun.progress)).mode is not TurnMode.CONCLUDE:
                await asyncio.sleep(0.5)
        return await harness.finished(handle, await handle.result())


@contextlib.contextmanager
def _broken(harness: Harness) -> Generator[None]:
    """Let the store answer nothing until the block ends."""
    backend = cast(Breakable, harness.store.backend)
    backend.down = True
    yield
    backend.down = False
