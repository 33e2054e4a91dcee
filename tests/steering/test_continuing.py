"""A long run goes on in further executions and stays one run: identity, budget, deadline, notes, evidence."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import replace

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError, WorkflowHistory

from activities.contracts import ExtendInput, NoteInput, PauseInput, PlanInput, ResumeInput, RunInput, RunOutcome
from activities.planners.port import RunView, Turn
from activities.stored import RunBrief
from boundary.contracts import InvocationStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.report import Verdict
from boundary.tools import ToolContext
from casebound.client import find_run
from casebound.converter import casebound_data_converter
from casebound.tool_settings import ToolSettings
from casebound.worker import open_worker
from tests.support.runs import Finished, Harness, RunHandle, call, calls, cite, claim, replay, report
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun

TURNS = 30

LAST_OF_FIRST = 8
"""The call after which a first execution has 100 events."""
"""About 12 events each: at 100 events an execution, the run has four executions."""


class LongPlanner:
    """Makes two calls a turn, one of them under an id used before, then reports on the first and the last."""

    def __init__(self, turns: int = TURNS) -> None:
        self.turns = turns
        self.asked: list[PlanInput] = []

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        self.asked.append(plan)
        if plan.number > self.turns:
            last = cite(f"call-{self.turns}", pointer="/echo/q")
            return report(claim("first", cite("call-1", pointer="/echo/q", quote="1")), claim("last", last))
        repeated = call("call-1" if plan.number % 2 else "no-such", "probe" if plan.number % 2 else "gone")
        return calls(call(f"call-{plan.number}", arguments={"q": plan.number}), repeated)


async def executions(handle: RunHandle, runs: Harness) -> list[WorkflowHistory]:
    """Read the histories of the run's chain, oldest first."""
    found: list[WorkflowHistory] = []
    run_id: str | None = handle.first_execution_run_id
    while run_id:
        history = await runs.client.get_workflow_handle(handle.id, run_id=run_id).fetch_history()
        found.append(history)
        run_id = history.events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found


async def carried_inputs(histories: list[WorkflowHistory]) -> list[RunInput]:
    """Decode the input of each execution."""
    return [
        (
            await casebound_data_converter.decode(
                list(history.events[0].workflow_execution_started_event_attributes.input.payloads), [RunInput]
            )
        )[0]
        for history in histories
    ]


@pytest.mark.proves("INV-CONTINUES-AS-ONE", "INV-ONE-RECORD", "INV-ONE-RESULT-EACH")
async def test_a_run_of_several_executions_is_one_run(short_histories: Harness) -> None:
    """Evidence of its first execution is cited by its last; ids are known over executions; the budget adds up."""
    planner, tool = LongPlanner(), FakeTool()
    async with short_histories.worker(planner, [tool]):
        handle = await short_histories.start(runbook="steps: none", max_turns=TURNS + 1, max_tool_calls=TURNS + 1)
        result = await handle.result()
        histories = await executions(handle, short_histories)
        done: Finished = await short_histories.finished(handle, result)
    assert len(histories) >= 3
    found = await find_run(short_histories.client, handle.id)
    assert found is not None
    assert (found.run_id, round(found.started_at.timestamp() * 1000)) == (result.run_id, result.started_at_ms)
    assert result.run_id == handle.first_execution_run_id
    assert result.verdict is Verdict.SUPPORTED
    assert result.budget.tool_calls.used == TURNS
    assert result.budget.turns.used == TURNS + 1
    assert [len(turn.input.results) for turn in done.turns] == [0] + [2] * TURNS
    codes = Counter(
        result.error.code for turn in done.turns for result in turn.input.results if result.error is not None
    )
    # The first turn's second call repeats the id of its first; the odd turns after it name an id of another execution.
    assert codes == {ErrorCode.DUPLICATE_TOOL_CALL_ID: TURNS - 1, ErrorCode.UNKNOWN_TOOL: 1}
    assert {record.record.status for record in done.records.values()} == {InvocationStatus.READY}
    assert len(tool.executed) == TURNS
    for history in histories:
        await replay(history)
        assert not [e for e in history.events if e.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED]


async def test_what_is_carried_is_bounded_and_holds_no_texts_of_calls(short_histories: Harness) -> None:
    """At most 150 bytes a call; the runbook stands in the brief only, its digest is carried."""
    runbook = "# a long runbook\n" * 1000
    async with short_histories.worker(LongPlanner(), [FakeTool()]):
        handle = await short_histories.start(runbook=runbook, max_turns=TURNS + 1)
        await handle.result()
        histories = await executions(handle, short_histories)
    first, *later = await carried_inputs(histories)
    assert first.runbook == runbook
    for request in later:
        assert request.runbook is None
        assert request.carried is not None
        assert request.carried.runbook_sha256 is not None
        assert len(request.carried.calls) == request.carried.budget.tool_calls
        assert max(len(line) for line in request.carried.calls) <= 150
    assert [request.carried.executions for request in later if request.carried] == list(range(1, len(later) + 1))


class _HeldLate(LongPlanner):
    """Says when it is in its 25th turn, which is of the run's third execution, and waits there."""

    def __init__(self) -> None:
        super().__init__()
        self.late, self.open = asyncio.Event(), asyncio.Event()

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        if plan.number == 25:
            self.late.set()
            await self.open.wait()
        return await super().next_turn(plan, run)


@pytest.mark.proves("INV-CONTINUES-AS-ONE")
async def test_a_cancellation_reaches_a_later_execution(short_histories: Harness) -> None:
    """The summary is the whole run's."""
    planner = _HeldLate()
    async with short_histories.worker(planner, [FakeTool()]):
        handle = await short_histories.start(max_turns=TURNS + 1)
        await planner.late.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        histories = await executions(handle, short_histories)
        done = await short_histories.finished(handle)
    assert len(histories) >= 3
    assert done.result.outcome is RunOutcome.CANCELLED
    assert done.result.run_id == handle.first_execution_run_id
    assert done.result.budget.tool_calls.used == len(done.records) == 24


@pytest.mark.proves("INV-CONTINUES-AS-ONE", "INV-PAUSE")
async def test_a_cancellation_that_meets_the_continuation_ends_the_run(soon_long: Harness) -> None:
    """Both come with one workflow task: the end of the call after which the run would go on in another execution."""
    queue = f"{soon_long.task_queue}-data"
    settings = soon_long.settings.model_copy(update={"tools": {"probe": ToolSettings(task_queue=queue)}})
    runs = replace(soon_long, settings=settings)
    begun, go_on = threading.Event(), threading.Event()

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        if arguments["q"] == LAST_OF_FIRST:
            begun.set()
            assert go_on.wait(60)
        return {"echo": arguments}

    tool = FakeTool(work=work)
    async with open_worker(soon_long.settings, runs.client, runs.store, task_queue=queue, tools=[tool], planners={}):
        async with runs.worker(LongPlanner(), [tool]):
            handle = await runs.start(max_turns=TURNS + 1)
            assert await asyncio.to_thread(begun.wait, 60)
        go_on.set()

        async def over() -> bool:
            history = await handle.fetch_history()
            return history.events[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED

        await wait_until(over, description="the call has ended and nobody has told the run")
        await handle.cancel()
        async with runs.worker(LongPlanner(), [tool]):
            with pytest.raises(WorkflowFailureError):
                await handle.result()
            histories = await executions(handle, runs)
            done = await runs.finished(handle)
    assert len(histories) == 1
    suggested = [
        event.workflow_task_started_event_attributes.suggest_continue_as_new
        for event in histories[0].events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
    ]
    assert (suggested[0], suggested[-1]) == (False, True)
    assert done.result.outcome is RunOutcome.CANCELLED
    assert done.result.budget.tool_calls.used == len(done.records) == LAST_OF_FIRST


async def test_a_later_execution_is_steered_like_the_first(short_histories: Harness) -> None:
    """Paused, extended, hinted, resumed and stopped by the workflow id, whatever execution it has got to."""
    planner = _HeldLate()
    async with short_histories.worker(planner, [FakeTool()]):
        handle = await short_histories.start(max_turns=TURNS + 1)
        await planner.late.wait()
        before = (await handle.query(AgentRun.progress)).deadline_ms
        await handle.execute_update(AgentRun.pause, PauseInput())
        extended = await handle.execute_update(AgentRun.extend, ExtendInput(seconds=60))
        await handle.execute_update(AgentRun.note, NoteInput(text="almost there"))
        await handle.execute_update(AgentRun.resume, ResumeInput())
        planner.open.set()
        result = await handle.result()
        done = await short_histories.finished(handle, result)
    assert extended.deadline_ms == before + 60_000
    assert result.verdict is Verdict.SUPPORTED
    assert [plan.number for plan in planner.asked if plan.notes] == [26]
    assert len(done.records) == TURNS
