"""Scenarios of runs that people steer, and of runs that go on in further executions.

Above: `tests.support.scenarios`. Below: `tests.support.runs`; the doubles are those of `tests.steering`.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

from temporalio.client import WorkflowFailureError, WorkflowHistory

from activities.contracts import ExtendInput, NoteInput, PauseInput, ResumeInput, StopInput
from tests.steering.doubles import Gate, HeldPlanner
from tests.support.runs import Finished, Harness, RunHandle, call, calls, check, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun

SEEN = claim("q was one", cite("first", pointer="/echo/q", quote="1"))
FIRST = calls(call("first", arguments={"q": 1}))
PAUSE = PauseInput(by="ada", reason="wait for the release")


async def stopped(harness: Harness) -> Finished:
    """Someone asks to conclude while a tool runs; the tool is left, the report has what there is."""
    gate = Gate()
    script = [FIRST, calls(call("stuck", "search")), report(SEEN)]
    async with harness.worker(script, [FakeTool(), FakeAsyncTool("search", work_async=gate)]):
        handle = await harness.start()
        await gate.entered.wait()
        await handle.execute_update("stop", StopInput(reason="seen enough"))
        return await harness.finished(handle, await handle.result())


async def cancelled(harness: Harness) -> Finished:
    """Cancelled while a tool runs: its record is settled, the summary written."""
    gate = Gate()
    script = [FIRST, calls(call("stuck", "search"))]
    async with harness.worker(script, [FakeTool(), FakeAsyncTool("search", work_async=gate)]):
        handle = await harness.start()
        await gate.entered.wait()
        await handle.cancel()
        with contextlib.suppress(WorkflowFailureError):
            await handle.result()
    return await harness.finished(handle)


async def paused(harness: Harness) -> Finished:
    """Paused while a call runs: it ends, the turn's other call waits until the run is resumed."""
    gate = Gate()
    script = [calls(call("held", "search"), call("first", arguments={"q": 1})), report(SEEN)]
    async with harness.worker(script, [FakeTool(), FakeAsyncTool("search", work_async=gate)]):
        handle = await harness.start(max_parallel_calls=1)
        await gate.entered.wait()
        await handle.execute_update(AgentRun.pause, PAUSE)
        gate.open.set()
        await _no_call_runs(handle)
        await handle.execute_update(AgentRun.resume, ResumeInput(by="ada"))
        return await harness.finished(handle, await handle.result())


async def paused_to_the_end(harness: Harness) -> Finished:
    """Nobody resumes it: its timer ends the gathering, and a concluding turn reports."""
    planner = HeldPlanner(2, [FIRST, calls(call("late")), report(SEEN)])
    async with harness.worker(planner, [FakeTool()]):
        handle = await harness.start(deadline_s=6)
        await planner.entered.wait()
        await handle.execute_update(AgentRun.pause, PAUSE)
        planner.open.set()
        return await harness.finished(handle, await handle.result())


async def extended(harness: Harness) -> Finished:
    """The planner thinks over the old deadline, and is asked the same once more."""
    planner = HeldPlanner(2, [FIRST, calls(call("second")), report(SEEN)])
    async with harness.worker(planner, [FakeTool()]):
        handle = await harness.start(deadline_s=4)
        await planner.entered.wait()
        await handle.execute_update(AgentRun.extend, ExtendInput(by="ada", seconds=600))
        await wait_until(lambda: len(planner.asked) == 3, description="the planner is asked again")
        planner.open.set()
        return await harness.finished(handle, await handle.result())


async def noted(harness: Harness) -> Finished:
    """Two notes while the planner thinks; its next turn has both."""
    planner = HeldPlanner(1, [FIRST, report(SEEN)])
    async with harness.worker(planner, [FakeTool()]):
        handle = await harness.start()
        await planner.entered.wait()
        for text in ("look at the first call", "and at nothing else"):
            await handle.execute_update(AgentRun.note, NoteInput(by="ada", text=text))
        planner.open.set()
        return await harness.finished(handle, await handle.result())


async def report_answered(harness: Harness) -> Finished:
    """A report that comes while the run is paused is answered by a note: the planner reports anew."""
    planner = HeldPlanner(2, [FIRST, report(), report(SEEN)])
    async with harness.worker(planner, [FakeTool()]):
        handle = await harness.start()
        await planner.entered.wait()
        await handle.execute_update(AgentRun.pause, PAUSE)
        planner.open.set()
        await handle.execute_update(AgentRun.note, NoteInput(by="ada", text="look at the first call"))
        await handle.execute_update(AgentRun.resume, ResumeInput(by="ada"))
        return await harness.finished(handle, await handle.result())


async def continued_first(harness: Harness) -> Finished:
    """The first execution of a run that went on in another."""
    done, [first, _] = await _continued(harness)
    return await _of(done, first)


async def continued_last(harness: Harness) -> Finished:
    """The last execution of such a run: it refuses, repeats and reports what the first one knew."""
    done, [_, last] = await _continued(harness)
    return await _of(done, last)


async def _continued(harness: Harness) -> tuple[Finished, list[WorkflowHistory]]:
    """Carry out a run of two executions: ids, a READY call, a refusal and a note are carried over."""
    script = [
        calls(call("first", arguments={"q": 1}), call("gone", "no_such_tool")),
        calls(call("first"), call("gone"), call("again", arguments={"q": 1}), call("second", arguments={"q": 2})),
        report(SEEN),
    ]
    planner = HeldPlanner(1, script)
    async with harness.worker(planner, [FakeTool()]):
        handle = await harness.start(runbook="steps: none", repeat_window_s=600)
        await planner.entered.wait()
        await handle.execute_update(AgentRun.extend, ExtendInput(by="ada", seconds=60))
        planner.open.set()
        done = await harness.finished(handle, await handle.result())
    first = await harness.client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id).fetch_history()
    return done, [first, done.history]


async def _of(done: Finished, history: WorkflowHistory) -> Finished:
    """The run as one of its executions tells it."""
    told = replace(done, history=history)
    await check(told)
    return told


async def _no_call_runs(handle: RunHandle) -> None:
    async def none_runs() -> bool:
        return (await handle.query(AgentRun.progress)).calls_running == 0

    await wait_until(none_runs, description="the running call has ended")
