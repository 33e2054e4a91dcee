"""Whole runs for tests: a real worker, real Temporal, a real store; scripted planner and fake tools.

Every run that ends here is held to what must hold for all: no failed workflow task, no record left
PROJECTING, and a history that replays in the sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle, WorkflowHistory

from activities.contracts import PlanInput, PlannerRef, RunInput, RunLimits, RunResult
from activities.planners.port import Planner, RequestedCall, RunView, Turn
from activities.planners.scripted import Scripted, ScriptedPlanner
from activities.stored import RunBrief, StoredTurn
from boundary.contracts import InvocationStatus, JsonValue
from boundary.store import StoredInvocation
from boundary.tools import Tool
from casebound.replay import replay as replay_history
from casebound.settings import Settings, WorkerSettings
from casebound.worker import Store, open_worker
from workflows.agent_run import AgentRun

REPLAYED: set[str] = set()
"""Executions that the test has replayed itself; the fixture that replays the rest leaves them out."""

RunHandle = WorkflowHandle[AgentRun, RunResult]


def call(call_id: str | None, tool: str = "probe", arguments: JsonValue = None) -> RequestedCall:
    """A requested call; arguments that are not text are written as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return RequestedCall(call_id, tool, text)


def calls(*requested: RequestedCall) -> Turn:
    """A turn of calls."""
    return Turn(calls=requested)


def report(*claims: dict[str, Any]) -> Turn:
    """A turn that reports."""
    return Turn(report={"claims": list(claims)})


def claim(text: str, *citations: dict[str, Any], kind: str = "finding") -> dict[str, Any]:
    """A claim of a report."""
    return {"text": text, "kind": kind, "citations": list(citations)}


def cite(call_id: str, *, pointer: str | None = None, quote: str | None = None) -> dict[str, Any]:
    """A citation of a claim."""
    return {"tool_call_id": call_id, "pointer": pointer, "quote": quote}


class BlockingPlanner:
    """Says when it was asked and never answers."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Wait for ever."""
        self.entered.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets that event")


@dataclass
class Finished:
    """A run that ended."""

    result: RunResult
    history: WorkflowHistory
    records: dict[str, StoredInvocation]
    turns: list[StoredTurn]

    def events(self, kind: EventType.ValueType) -> list[Any]:
        """The history's events of one type."""
        return [event for event in self.history.events if event.event_type == kind]

    @property
    def activity_types(self) -> list[str]:
        """Types of the activities, in the order they were scheduled."""
        return [
            event.activity_task_scheduled_event_attributes.activity_type.name
            for event in self.events(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
        ]


@dataclass
class Harness:
    """Starts workers and runs on one task queue and one store."""

    client: Client
    store: Store
    task_queue: str
    prefix: str = ""
    """Of the store's keys, for tests that plant one."""
    settings: Settings = field(default_factory=lambda: Settings(worker=WorkerSettings(graceful_shutdown_s=0)))

    @contextlib.asynccontextmanager
    async def worker(
        self, planner: Planner | Sequence[Scripted] = (), tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[None]:
        """Run a worker with these tools and this planner, or script."""
        scripted = planner if not isinstance(planner, Sequence) else ScriptedPlanner(planner)
        async with open_worker(
            self.settings,
            self.client,
            self.store,
            task_queue=self.task_queue,
            tools=tools,
            planners={"scripted": scripted},
        ):
            yield

    async def start(self, *, question: str = "What happened?", **options: Any) -> RunHandle:
        """Start a run; options are those of `RunInput` and `RunLimits`. Unless told, it may repeat its calls."""
        options = {"repeat_window_s": 0, **options}
        limits = {name: options.pop(name) for name in list(options) if name in RunLimits.model_fields}
        request = RunInput(
            question=question, planner=PlannerRef(kind="scripted"), limits=RunLimits(**limits), **options
        )
        return await self.client.start_workflow(
            AgentRun.run, request, id=f"casebound-{uuid4()}", task_queue=self.task_queue
        )

    async def run(self, script: Planner | Sequence[Scripted], tools: Sequence[Tool] = (), **options: Any) -> Finished:
        """Carry a whole run out and hold it to what holds for all."""
        async with self.worker(script, tools):
            handle = await self.start(**options)
            result = await handle.result()
        return await self.finished(handle, result)

    async def finished(self, handle: RunHandle, result: RunResult | None = None) -> Finished:
        """Gather what a run left, and check it."""
        history = await handle.fetch_history()
        description = await handle.describe()
        run_id = description.raw_description.workflow_execution_info.first_run_id or description.run_id
        now_ms = await self.store.backend.now_ms()
        index = await self.store.runs.read(run_id, now_ms=now_ms)
        turns = [StoredTurn.model_validate_json(value) for value in index.turns.values()] if index else []
        turns.sort(key=lambda turn: turn.input.number)
        if result is None and index is not None and index.summary is not None:
            result = RunResult.model_validate_json(index.summary)
        assert result is not None, "the run has neither a result nor a summary"
        finished = Finished(result, history, await self._records(run_id, turns, now_ms), turns)
        await check(finished)
        return finished

    async def _records(self, run_id: str, turns: Sequence[StoredTurn], now_ms: int) -> dict[str, StoredInvocation]:
        ids = {
            requested.tool_call_id
            for turn in turns
            for requested in turn.turn.calls
            if isinstance(requested.tool_call_id, str)
            and requested.tool_call_id.isprintable()
            and requested.tool_call_id.isascii()
            and " " not in requested.tool_call_id
            and requested.tool_call_id
        }
        return await self.store.invocations.read(run_id, sorted(ids), now_ms=now_ms, raw=True)


async def check(finished: Finished) -> None:
    """Hold a finished run to what must hold for every run."""
    assert not finished.events(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED), "a workflow task failed"
    open_records = [
        call_id for call_id, stored in finished.records.items() if stored.record.status is InvocationStatus.PROJECTING
    ]
    assert len(open_records) == finished.result.unsettled, f"left PROJECTING: {open_records}"
    await replay(finished.history)


async def replay(history: WorkflowHistory) -> None:
    """Hold a history against the code that made it: it replays in the sandbox, and asks for just the same."""
    verdict = await replay_history(history)
    assert verdict.same, verdict
    REPLAYED.add(verdict.run_id)


SOON = timedelta(seconds=20)
"""Longest wait for something that should happen at once."""
