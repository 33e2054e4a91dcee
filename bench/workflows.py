"""Workflows of the measurements; in a module of their own, as the sandbox wants it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.contracts import ToolCallInput
    from boundary.contracts import Frozen, Grant, ToolCallOutcome

BARE = "bench.bare"


class BenchInput(Frozen):
    """Which activity to call, how often, and how."""

    activity: str
    store_id: str
    calls: int
    parallel: bool = False


@workflow.defn
class BenchCalls:
    """Calls one activity, each time with a tool call's input."""

    @workflow.run
    async def run(self, request: BenchInput) -> None:
        """Call it, in sequence or side by side."""
        if request.parallel:
            await asyncio.gather(*[self._call(request, number) for number in range(request.calls)])
            return
        for number in range(request.calls):
            await self._call(request, number)

    async def _call(self, request: BenchInput, number: int) -> ToolCallOutcome:
        now_ms = round(workflow.now().timestamp() * 1000)
        return await workflow.execute_activity(
            request.activity,
            ToolCallInput(
                store_id=request.store_id,
                tool_call_id=f"call_{number}",
                arguments='{"q": 1}',
                turn=1,
                position=number,
                call_index=number + 1,
                grant=Grant(deadline_ms=now_ms + 60_000, expires_at_ms=now_ms + 3_600_000),
            ),
            result_type=ToolCallOutcome,
            start_to_close_timeout=timedelta(seconds=60),
            heartbeat_timeout=timedelta(seconds=5),
        )
