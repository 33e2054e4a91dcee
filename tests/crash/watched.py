"""A worker whose way a test can follow, hold and end, because it names the points it passes.

Above: `tests.crash.stage` runs one in the test's process, `tests.crash.worker_process` is one of its own.
Below: `casebound.worker`; its store, tools, planner and client are wrapped, nothing in it is replaced.
What happens at a point is real: SIGKILL, or a wait during which the worker goes on beating.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import temporalio.client
import temporalio.worker
from pydantic import TypeAdapter
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from activities.contracts import PlanInput
from activities.planners.port import RunView, Turn
from activities.planners.scripted import Scripted, ScriptedPlanner
from boundary.backend import Backend
from boundary.contracts import AdmittedCall, CallError, JsonObject, JsonValue
from boundary.keys import ToolCallKeyFactory
from boundary.record import Settlement
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, Owned, Settled, StoredInvocation
from boundary.tools import Tool, ToolContext
from casebound.worker import Store, store_over
from tests.support.tools import CANARY, FakeAsyncTool, FakeTool

SCRIPT: TypeAdapter[list[Turn]] = TypeAdapter(list[Turn])
"""A planner's turns as JSON, for the way into another process."""

TOOL_MAX_MS = 240_000
"""Longer than any test holds a tool, also across two minutes without a server."""


class Point(StrEnum):
    """Where a worker can be met."""

    AFTER_OPEN = "after the run was opened"
    """The brief is stored; the activity has not reported."""
    BEFORE_BEGIN = "before begin"
    """The activity has its task; the store holds nothing of the attempt yet."""
    AFTER_BEGIN = "after begin"
    """The call's record is PROJECTING and this attempt's; the tool has not started."""
    IN_TOOL = "in the tool"
    BEFORE_SETTLE = "before settle"
    """The tool has answered; the record is PROJECTING."""
    AFTER_SETTLE = "after settle"
    """The record is settled; the activity has not reported."""
    IN_PLANNER = "in the planner"
    AFTER_TURN = "after the turn was stored"
    """The planner's turn is stored; the activity has not reported."""
    IN_CHECK = "in the check"
    """EvidenceGuard, or a planner, reads records."""
    AFTER_SUMMARY = "after the summary was stored"
    """The cancelled run's summary is stored; the activity has not reported."""
    BEFORE_REPORT = "before the activity reports"
    """All its work is done, by this attempt or an earlier one."""


@dataclass
class Points:
    """What a worker passed, and what happens where it passes."""

    die_at: Point | None = None
    """Kills its own process, without a chance to tidy up."""
    hold_at: Point | None = None
    """Waits for `release`; the worker goes on beating meanwhile."""
    only: str | None = None
    """Name of the one tool that IN_TOOL, or the one activity that BEFORE_REPORT means; None: all."""
    work_s: float = 0
    """How long a tool or the planner takes, unless it is stopped."""
    said: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    show: Callable[[str], None] = lambda _: None
    """Told of each thing said, from any thread."""

    def say(self, text: str) -> None:
        """Say what happened."""
        self.said.append(text)
        self.show(text)

    def release(self) -> None:
        """Let the worker go on, here and at every later point."""
        self.released.set()

    def count(self, text: str) -> int:
        """How often it was said."""
        return self.said.count(text)

    def pass_by(self, point: Point) -> bool:
        """Say the point, die there, or tell whether to wait there."""
        self.say(point)
        if point is self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return point is self.hold_at and not self.released.is_set()

    async def reach(self, point: Point) -> None:
        """Pass the point, or wait there."""
        if self.pass_by(point):
            while not self.released.is_set():
                await asyncio.sleep(0.01)


class WatchedInvocations(InvocationStore):
    """The store of records, its points named."""

    def __init__(self, backend: Backend, keys: ToolCallKeyFactory, points: Points) -> None:
        super().__init__(backend, keys)
        self._points = points
        self.late: set[asyncio.Task[StoredInvocation]] = set()
        """Settles on their way, also of attempts that have ended."""

    async def begin(
        self, call: AdmittedCall, *, nonce: str, now_ms: int, verdict: CallError | None = None
    ) -> Owned | Settled:
        """See `InvocationStore.begin`."""
        await self._points.reach(Point.BEFORE_BEGIN)
        begun = await super().begin(call, nonce=nonce, now_ms=now_ms, verdict=verdict)
        if isinstance(begun, Owned):
            await self._points.reach(Point.AFTER_BEGIN)
        return begun

    async def settle(self, held: StoredInvocation, settlement: Settlement, *, now_ms: int) -> StoredInvocation:
        """See `InvocationStore.settle`; once on its way it arrives, whatever becomes of the attempt."""
        settling = asyncio.create_task(self._settle(held, settlement, now_ms))
        self.late.add(settling)
        return await asyncio.shield(settling)

    async def read(
        self, run_id: str, tool_call_ids: Sequence[str], *, now_ms: int, agent: bool = True, raw: bool = False
    ) -> dict[str, StoredInvocation]:
        """See `InvocationStore.read`."""
        if activity.in_activity() and activity.info().activity_type.startswith("casebound."):
            await self._points.reach(Point.IN_CHECK)
        return await super().read(run_id, tool_call_ids, now_ms=now_ms, agent=agent, raw=raw)

    async def _settle(self, held: StoredInvocation, settlement: Settlement, now_ms: int) -> StoredInvocation:
        await self._points.reach(Point.BEFORE_SETTLE)
        try:
            done = await super().settle(held, settlement, now_ms=now_ms)
        except Exception as error:
            self._points.say(f"settle failed: {type(error).__name__}")
            raise
        self._points.say("settled" if done.record.owner == held.record.owner else "found it settled by another")
        await self._points.reach(Point.AFTER_SETTLE)
        return done


class WatchedRuns(RunIndex):
    """The index of runs, its points named."""

    def __init__(self, backend: Backend, keys: ToolCallKeyFactory, points: Points) -> None:
        super().__init__(backend, keys)
        self._points = points

    async def open(self, run_id: str, brief: bytes, *, expires_at_ms: int, now_ms: int) -> bytes:
        """See `RunIndex.open`."""
        stored = await super().open(run_id, brief, expires_at_ms=expires_at_ms, now_ms=now_ms)
        await self._points.reach(Point.AFTER_OPEN)
        return stored

    async def put_summary(self, run_id: str, summary: bytes, *, now_ms: int) -> bytes:
        """See `RunIndex.put_summary`."""
        stored = await super().put_summary(run_id, summary, now_ms=now_ms)
        await self._points.reach(Point.AFTER_SUMMARY)
        return stored

    async def put_turn(self, run_id: str, turn_key: str, parent: str | None, turn: bytes, *, now_ms: int) -> bytes:
        """See `RunIndex.put_turn`."""
        stored = await super().put_turn(run_id, turn_key, parent, turn, now_ms=now_ms)
        await self._points.reach(Point.AFTER_TURN)
        return stored


class WatchedPlanner(ScriptedPlanner):
    """The scripted planner; says which turn it is asked for."""

    def __init__(self, turns: Sequence[Scripted], points: Points) -> None:
        super().__init__(turns)
        self._points = points

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        self._points.say(f"asked for turn {plan.number} {plan.mode}")
        try:
            await self._points.reach(Point.IN_PLANNER)
            await asyncio.sleep(self._points.work_s)
        except asyncio.CancelledError:
            self._points.say("stopped the planner")
            raise
        return await super().next_turn(plan, run)


class WatchedAttempts(temporalio.client.Interceptor, temporalio.worker.Interceptor):
    """Says how each attempt of an activity ended, and with which flags of its cancellation."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def intercept_activity(
        self, next: temporalio.worker.ActivityInboundInterceptor
    ) -> temporalio.worker.ActivityInboundInterceptor:
        """See `temporalio.worker.Interceptor`."""
        return _WatchedAttempt(next, self._points)


class _WatchedAttempt(temporalio.worker.ActivityInboundInterceptor):
    def __init__(self, next: temporalio.worker.ActivityInboundInterceptor, points: Points) -> None:
        super().__init__(next)
        self._points = points

    async def execute_activity(self, input: temporalio.worker.ExecuteActivityInput) -> Any:
        ended = "returned"
        try:
            answer = await super().execute_activity(input)
            if self._points.only in (None, activity.info().activity_type):
                await self._points.reach(Point.BEFORE_REPORT)
            return answer
        except ApplicationError as error:
            ended = f"failed {error.type}"
            raise
        except asyncio.CancelledError:
            ended = "cancelled"
            raise
        finally:
            details = activity.cancellation_details()
            flags = [name for name, value in vars(details).items() if value] if details else []
            self._points.say(" ".join([activity.info().activity_type, ended, *flags]))


def watched_tools(points: Points) -> list[Tool]:
    """A tool in a thread, `probe`, and one on the loop, `probe_async`; both look at IN_TOOL while they work."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        points.say("executed probe")
        waits = points.only in (None, "probe") and points.pass_by(Point.IN_TOOL)
        while waits and not points.released.is_set() and not context.stop.is_set():
            time.sleep(0.01)
        done_at = time.monotonic() + points.work_s
        while time.monotonic() < done_at and not context.stop.is_set():
            time.sleep(0.01)
        if context.stop.is_set():
            points.say("stopped probe")
        return {"echo": arguments, "secret": CANARY}

    async def work_async(arguments: JsonObject, context: ToolContext) -> JsonValue:
        points.say("executed probe_async")
        try:
            if points.only in (None, "probe_async"):
                await points.reach(Point.IN_TOOL)
            await asyncio.sleep(points.work_s)
        except asyncio.CancelledError:
            points.say("stopped probe_async")
            raise
        return {"echo": arguments, "secret": CANARY}

    return [
        FakeTool(work=work, timeout_ms=TOOL_MAX_MS),
        FakeAsyncTool("probe_async", work_async=work_async, timeout_ms=TOOL_MAX_MS),
    ]


@dataclass(frozen=True)
class WatchedStore(Store):
    """A store whose points are named."""

    invocations: WatchedInvocations

    async def arrived(self) -> None:
        """Wait until every settle has arrived, also those whose attempt was stopped meanwhile."""
        await asyncio.gather(*self.invocations.late, return_exceptions=True)


async def watched_store(backend: Backend, prefix: str, points: Points) -> WatchedStore:
    """Open a store whose points are named."""
    store, keys = await store_over(backend, prefix), ToolCallKeyFactory(prefix)
    return WatchedStore(
        backend, WatchedInvocations(backend, keys, points), WatchedRuns(backend, keys, points), store.store_id
    )


def watched_client(client: Client, points: Points) -> Client:
    """The same client; workers made with it say how their attempts ended."""
    config = client.config()
    config["interceptors"] = [*config["interceptors"], WatchedAttempts(points)]
    return Client(**config)
