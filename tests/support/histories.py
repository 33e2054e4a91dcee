"""Recorded histories: how they are made, kept and read. `python -m tests.support.histories` records them anew.

Each scenario is a whole run on a real dev server. Its history goes to `tests/histories/NAME.json`, one
event a line, without what replay does not look at: who polled, ids of requests and tasks, time-outs,
retry policies, summaries. A change of the workflow that replays all of them can be deployed under open
runs; one that does not needs `workflow.patched`. So record anew only what was never released.

Above: the tests in `tests/replay`. Below: `tests.support.runs`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from typing import Any, cast

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowFailureError, WorkflowHistory

from activities.contracts import PlanInput, RunOutcome, StopInput, TurnMode
from activities.planners.port import PlannerError, RunView, Turn
from activities.planners.scripted import ScriptedPlanner
from boundary.backend import Created, Existing, Expired, Fields
from boundary.contracts import JsonObject, JsonValue
from boundary.errors import ErrorCode, StoreUnavailable
from boundary.memory_backend import MemoryBackend
from boundary.tools import ToolContext, ToolFailure
from casebound.converter import casebound_data_converter
from casebound.worker import store_over
from tests.support import temporal, tree
from tests.support.runs import BlockingPlanner, Finished, Harness, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool, show_nothing
from workflows.agent_run import AgentRun

DIRECTORY = tree.ROOT / "tests" / "histories"

NOT_LOOKED_AT = frozenset(
    {
        "identity",
        "taskId",
        "workerVersion",
        "requestId",
        "meteringMetadata",
        "priority",
        "userMetadata",
        "retryPolicy",
        "workflowRunTimeout",
        "workflowTaskTimeout",
        "workflowExecutionTimeout",
        "scheduleToCloseTimeout",
        "scheduleToStartTimeout",
        "startToCloseTimeout",
        "heartbeatTimeout",
        "stackTrace",
        "historySizeBytes",
    }
)
"""Fields replay does without. Not among them: `sdkMetadata`, whose flags decide the order of events."""

Scenario = Callable[[Harness], Awaitable[Finished]]


# --- reading ---


def names() -> list[str]:
    """Name the recorded histories."""
    return sorted(path.stem for path in DIRECTORY.glob("*.json"))


def load(name: str) -> WorkflowHistory:
    """Read a recorded history."""
    return WorkflowHistory.from_json(f"casebound-{name}", (DIRECTORY / f"{name}.json").read_text())


def payloads(message: Message) -> Iterator[Payload]:
    """Find every payload in a history or a part of it, in order."""
    if isinstance(message, Payload):
        yield message
        return
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for part in _parts(value):
            yield from payloads(part)


def text_of(history: WorkflowHistory) -> str:
    """All text a history holds. Its JSON form would not do: payloads stand there as base64."""
    data = b"\n".join(event.SerializeToString() for event in history.events)
    return data.decode("utf-8", "replace")


def _parts(value: Any) -> Iterator[Message]:
    if isinstance(value, Message):
        yield value
    elif hasattr(value, "values"):
        yield from (part for part in value.values() if isinstance(part, Message))
    else:
        yield from (part for part in value if isinstance(part, Message))


# --- scenarios ---


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


async def repaired(harness: Harness) -> Finished:
    """A report with a wrong quote, mended in the repair turn."""
    wrong = claim("q was two", cite("first", pointer="/echo/q", quote="2"))
    return await harness.run([calls(call("first", arguments={"q": 1})), report(wrong), report(SEEN)], [FakeTool()])


async def stopped(harness: Harness) -> Finished:
    """Someone asks to conclude while a tool runs; the tool is left, the report has what there is."""
    entered = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        entered.set()
        return await _never(arguments, context)

    script = [calls(call("first", arguments={"q": 1})), calls(call("stuck", "search")), report(SEEN)]
    async with harness.worker(script, [FakeTool(), FakeAsyncTool("search", work_async=work)]):
        handle = await harness.start()
        await entered.wait()
        await handle.execute_update("stop", StopInput(reason="seen enough"))
        return await harness.finished(handle, await handle.result())


async def cancelled(harness: Harness) -> Finished:
    """Cancelled while a tool runs: its record is settled, the summary written."""
    entered = asyncio.Event()

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        entered.set()
        return await _never(arguments, context)

    script = [calls(call("first", arguments={"q": 1})), calls(call("stuck", "search"))]
    async with harness.worker(script, [FakeTool(), FakeAsyncTool("search", work_async=work)]):
        handle = await harness.start()
        await entered.wait()
        await handle.cancel()
        with contextlib.suppress(WorkflowFailureError):
            await handle.result()
    return await harness.finished(handle)


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


_OUTCOMES: dict[Scenario, RunOutcome] = {
    reported: RunOutcome.REPORTED,
    parallel_calls: RunOutcome.REPORTED,
    refused_calls: RunOutcome.REPORTED,
    repaired: RunOutcome.REPORTED,
    retried: RunOutcome.REPORTED,
    settled_by_the_finalizer: RunOutcome.REPORTED,
    stopped: RunOutcome.STOPPED,
    unsettled: RunOutcome.STOPPED,
    budget_exhausted: RunOutcome.BUDGET_EXHAUSTED,
    turns_exhausted: RunOutcome.BUDGET_EXHAUSTED,
    deadline_exceeded: RunOutcome.DEADLINE_EXCEEDED,
    planner_hung: RunOutcome.DEADLINE_EXCEEDED,
    planner_failed: RunOutcome.PLANNER_FAILED,
    never_usable: RunOutcome.PLANNER_FAILED,
    store_lost: RunOutcome.STORE_LOST,
    cancelled: RunOutcome.CANCELLED,
}

SCENARIOS = {scenario.__name__: (scenario, outcome) for scenario, outcome in _OUTCOMES.items()}
"""By name, each with the outcome it must have."""


# --- recording ---


def scrubbed(history: WorkflowHistory) -> str:
    """Write a history as JSON, one event a line, without what replay does not look at."""
    events = [json.dumps(_kept(event), ensure_ascii=False) for event in history.to_json_dict()["events"]]
    return '{"events": [\n' + ",\n".join(events) + "\n]}\n"


def _kept(value: Any) -> Any:
    match value:
        case dict():
            fields = cast(JsonObject, value)
            if fields.get("kind") == "TASK_QUEUE_KIND_STICKY":
                return {**fields, "name": "sticky"}
            return {name: _kept(field) for name, field in fields.items() if name not in NOT_LOOKED_AT}
        case list():
            return [_kept(item) for item in cast("list[Any]", value)]
        case _:
            return value


async def record(wanted: Sequence[str] = ()) -> None:
    """Run the scenarios one by one, all of them unless some are wanted, and keep their histories."""
    DIRECTORY.mkdir(exist_ok=True)
    async with await temporal.start_dev_server() as env:
        client = await env.connect_client(data_converter=casebound_data_converter, identity="recorder")
        for name in wanted or SCENARIOS:
            scenario, outcome = SCENARIOS[name]
            store = await store_over(Breakable(), "casebound")
            done = await scenario(Harness(client, store, name))
            assert done.result.outcome is outcome, f"{name}: {done.result}"
            path = DIRECTORY / f"{name}.json"
            path.write_text(scrubbed(done.history))
            print(f"{path.name}: {len(done.history.events)} events, {path.stat().st_size} bytes")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1:]))
