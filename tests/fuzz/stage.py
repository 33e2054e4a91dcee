"""A worker with hostile tools and a planner that says what scripts say; runs many scripts side by side.

Above: the tests. Below: the real workflow, activities and store. What the planner was given is kept for the judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from temporalio.client import Client, WorkflowHistory

from activities.contracts import PlanInput, PlannerRef, RunInput, RunResult
from activities.planners.port import PastTurn, RunView, Turn
from activities.stored import RunBrief, StoredTurn
from activities.turns import requested_results
from boundary.contracts import ToolBoundaryResult
from boundary.store import StoredInvocation
from casebound.worker import Store
from tests.fuzz.scripts import Script
from workflows.agent_run import AgentRun

LONGEST_S = 90
"""For all runs of a batch. The slowest waits for a few retries; one that waits for a time-out has lost an answer."""


@dataclass
class Asked:
    """One question to the planner: the turns before it, and the results it was given of each."""

    plan: PlanInput
    past: Sequence[PastTurn]
    results: list[list[ToolBoundaryResult]]


@dataclass
class Played:
    """A run that ended, and all it left."""

    script: Script
    result: RunResult
    asked: list[Asked]
    history: WorkflowHistory
    records: dict[str, StoredInvocation]
    """By key without its head: the tool call id."""
    turns: dict[str, StoredTurn]


@dataclass
class ScriptsPlanner:
    """Plays the script of the run that asks. Implements `port.Planner`."""

    scripts: dict[str, Script] = field(default_factory=dict)
    asked: dict[str, list[Asked]] = field(default_factory=dict)

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Answer, or raise, what stands at the turn's number; past the end, report nothing."""
        past = await run.past_turns()
        ids = [call.tool_call_id for turn in past for call in turn.calls if isinstance(call.tool_call_id, str)]
        stored = await run.results(list(dict.fromkeys(ids)))
        given = [requested_results(turn, stored) for turn in past]
        self.asked.setdefault(run.brief.workflow_id, []).append(Asked(plan, past, given))
        item: Any = turn_of(self.scripts[run.brief.workflow_id], plan.number)
        if isinstance(item, BaseException):
            raise item
        return item


def turn_of(script: Script, number: int) -> Any:
    """What the script has for the turn of that number."""
    return script.turns[number - 1] if number <= len(script.turns) else Turn(report={"claims": []})


@dataclass
class Stage:
    """Plays scripts on one worker's queue."""

    client: Client
    store: Store
    prefix: str
    task_queue: str
    planner: ScriptsPlanner
    played: int = 0
    turns: int = 0
    calls: int = 0
    """Of all runs; admitted ones."""

    async def play(self, scripts: Sequence[Script]) -> list[Played]:
        """Carry all scripts out side by side; each must end in time."""
        async with asyncio.timeout(LONGEST_S):
            return await asyncio.gather(*[self._run(script) for script in scripts])

    async def _run(self, script: Script) -> Played:
        workflow_id = f"casebound-{uuid4()}"
        self.planner.scripts[workflow_id] = script
        request = RunInput(
            question=script.question,
            planner=PlannerRef(kind="scripts"),
            runbook=script.runbook,
            limits=script.limits,
            deadline_s=script.deadline_s,
        )
        handle = await self.client.start_workflow(AgentRun.run, request, id=workflow_id, task_queue=self.task_queue)
        try:
            result = await handle.result()
        except asyncio.CancelledError:
            raise AssertionError(f"did not end within {LONGEST_S} s: {script!r}") from None
        history = await handle.fetch_history()
        asked = self.planner.asked.pop(workflow_id, [])
        del self.planner.scripts[workflow_id]
        records, turns = await self._left(result.run_id)
        self.played, self.turns = self.played + 1, self.turns + len(asked)
        self.calls += len(records)
        return Played(script, result, asked, history, records, turns)

    async def _left(self, run_id: str) -> tuple[dict[str, StoredInvocation], dict[str, StoredTurn]]:
        now_ms = await self.store.backend.now_ms()
        head = f"{self.prefix}:{run_id}:"
        ids = [key.removeprefix(head) for key in await self.store.backend.keys_with(head)]
        records = await self.store.invocations.read(run_id, ids, now_ms=now_ms, raw=True)
        index = await self.store.runs.read(run_id, now_ms=now_ms)
        turns = {key: StoredTurn.model_validate_json(turn) for key, turn in index.turns.items()} if index else {}
        return records, turns
