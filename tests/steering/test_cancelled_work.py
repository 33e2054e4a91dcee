"""A cancelled call's work is really stopped, of whatever kind it is, and its record is settled.

How soon is measured by `python -m bench.cancel_latency`, not tested.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from dataclasses import dataclass, field

import pytest
from temporalio.client import WorkflowFailureError

from activities.contracts import RunOutcome
from boundary.contracts import InvocationStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import ToolContext
from tests.support.runs import Harness, call, calls, report
from tests.support.tools import FakeAsyncTool, FakeTool
from tests.support.waiting import wait_until

LONG = ("sleep", "600")


@dataclass
class Work:
    """Work that ends only when it is told to."""

    begun: bool = False
    stopped: bool = False
    processes: list[int | None] = field(default_factory=list[int | None])
    """Exit codes of the processes it started, once it is stopped."""

    async def waits(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Wait on the event loop."""
        try:
            self.begun = True
            return await asyncio.Event().wait()
        finally:
            self.stopped = True

    def loops(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Work in a thread, looking at the stop flag."""
        self.begun = True
        while not context.stop.is_set():
            time.sleep(0.01)
        self.stopped = True
        return None

    async def runs_a_program(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Run a program, and end it with the call."""
        process = await asyncio.create_subprocess_exec(*LONG)
        try:
            self.begun = True
            return await process.wait()
        finally:
            process.kill()
            self.processes.append(await process.wait())
            self.stopped = True

    def runs_a_program_in_a_thread(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """The same, in a thread."""
        with subprocess.Popen(LONG) as process:
            self.begun = True
            while process.poll() is None and not context.stop.is_set():
                time.sleep(0.01)
            process.kill()
            self.processes.append(process.wait())
        self.stopped = True
        return None


def tool_of(kind: str, work: Work) -> FakeTool:
    """Make the tool of one kind."""
    match kind:
        case "async":
            return FakeAsyncTool(work_async=work.waits)
        case "thread":
            return FakeTool(work=work.loops)
        case "program":
            return FakeAsyncTool(work_async=work.runs_a_program)
        case _:
            return FakeTool(work=work.runs_a_program_in_a_thread)


@pytest.mark.parametrize("kind", ["async", "thread", "program", "program in a thread"])
@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST", "INV-NONE-PROJECTING")
async def test_the_work_of_a_cancelled_call_is_stopped(runs: Harness, kind: str) -> None:
    """No thread and no process of it goes on; its record says CANCELLED, and the run's summary is stored."""
    work = Work()
    async with runs.worker([calls(call("one")), report()], [tool_of(kind, work)]):
        handle = await runs.start()
        await wait_until(lambda: work.begun, description="the tool works")
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        await wait_until(lambda: work.stopped, description="the work is stopped")
        done = await runs.finished(handle)
    assert done.result.outcome is RunOutcome.CANCELLED
    record = done.records["one"].record
    assert (record.status, record.error and record.error.code) == (InvocationStatus.ERROR, ErrorCode.CANCELLED)
    assert None not in work.processes
