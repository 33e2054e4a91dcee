"""How far a running call is stands in its heartbeat, where the Temporal UI shows it."""

from __future__ import annotations

import threading

from boundary.contracts import JsonObject, JsonValue
from boundary.report import Verdict
from boundary.tools import ToolContext
from casebound.converter import casebound_data_converter
from tests.support.runs import Harness, RunHandle, call, calls, cite, claim, report
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until


async def _heartbeat(handle: RunHandle) -> list[object]:
    pending = (await handle.describe()).raw_description.pending_activities
    return [
        text
        for activity in pending
        for text in await casebound_data_converter.decode(list(activity.heartbeat_details.payloads))
    ]


async def test_progress_of_a_running_tool_is_in_its_heartbeat(runs: Harness) -> None:
    """The latest word; until the tool goes on, which it does only once that was seen."""
    seen = threading.Event()

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        context.progress("1 of 4 files read")
        context.progress("2 of 4 files read")
        assert seen.wait(60)
        return {"echo": 1}

    script = [calls(call("first")), report(claim("seen", cite("first", pointer="/echo")))]
    async with runs.worker(script, [FakeTool(work=work)]):
        handle = await runs.start()

        async def told() -> bool:
            return await _heartbeat(handle) == ["2 of 4 files read"]

        await wait_until(told, description="the heartbeat says how far the tool is")
        seen.set()
        result = await handle.result()
    assert result.verdict is Verdict.SUPPORTED
