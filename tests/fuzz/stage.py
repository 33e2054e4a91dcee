"""A worker with hostile tools and a planner that says what scripts say; runs many scripts side by side.

Above: the tests. Below: the real workflow, activities and store. What the planner was given is kept for the judge.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from temporalio.client import Client, WorkflowFailureError, WorkflowHistory
from temporalio.exceptions import CancelledError

from activities.contracts import PlanInput, PlannerRef, RunInput, RunResult
from activities.planners.port import PastTurn, RunView, Turn
from activities.stored import RunBrief, StoredTurn
from activities.turns import requested_results
from boundary.contracts import ToolBoundaryResult
from boundary.store import StoredInvocation
from casebound.worker import Store
from tests.fuzz.people import RunHandle, Told, act
from tests.fuzz.scripts import Script
from workflows.agent_run import AgentRun

LONGEST_S = 240 if os.environ.get("CASEBOUND_SOAK") else 90
"""For all runs of a batch. The slowest waits for a few retries; one that waits for a planner's time-out has lost an
answer. A soak leaves the machine to others."""


@dataclass
class Asked:
    """One question to the planner: the turns before it, and the results it was given of each."""

    plan: PlanInput
    past: Sequence[PastTurn]
    results: list[list[ToolBoundaryResult]]


@dataclass
class Played:
    """A run that ended, and all it left."""

    number: int
    """In the order they were started."""
    script: Script
    outcome: RunResult | None
    """Of a cancelled run: its summary; None: there is none."""
    told: Told
    asked: list[Asked]
    history: WorkflowHistory
    records: dict[str, StoredInvocation]
    """By key without its head: the tool call id."""
    turns: dict[str, StoredTurn]

    @property
    def result(self) -> RunResult:
        """What the run said at its end."""
        assert self.outcome is not None, "it was cancelled and left no summary"
        return self.outcome


@dataclass
class ScriptsPlanner:
    """Plays the script of the run that asks. Implements `port.Planner`."""

    scripts: dict[str, Script] = field(default_factory=dict)
    asked: dict[str, list[Asked]] = field(default_factory=dict)
    moments: dict[str, dict[int, asyncio.Event]] = field(default_factory=dict)
    """Set when the planner of the run is asked for the turn of that number."""

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Answer, or raise, what stands at the turn's number; past the end, report nothing."""
        for number, moment in self.moments[run.brief.workflow_id].items():
            if number <= plan.number:
                moment.set()
        past = await run.past_turns()
        ids = [call.tool_call_id for turn in past for call in turn.calls if isinstance(call.tool_call_id, str)]
        stored = await run.results(list(dict.fromkeys(ids)))
        given = [requested_results(turn, stored) for turn in past]
        self.asked.setdefault(run.brief.workflow_id, []).append(Asked(plan, past, given))
        item: Any = turn_of(self.scripts[run.brief.workflow_id], plan.number)
        if isinstance(item, BaseException):
            raise item
        return item

    def forget(self, workflow_id: str) -> list[Asked]:
        """Say what the planner of the run was asked, and drop all that is kept of it."""
        del self.scripts[workflow_id], self.moments[workflow_id]
        return self.asked.pop(workflow_id, [])


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
    started: int = 0
    played: int = 0
    turns: int = 0
    calls: int = 0
    """Of all runs; admitted ones."""
    replayed: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)
    batch_began: float = 0

    def tally(self) -> str:
        """Say in one line what was played."""
        ends = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.most_common())
        took_s = time.monotonic() - self.began
        return (
            f"{self.played} runs, {self.turns} turns, {self.calls} calls, {self.replayed} replays"
            f" in {took_s:.0f} s ({ends})"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let Hypothesis show no more than this."""
        printer.text(f"<{self.tally()}>")

    async def play(self, scripts: Sequence[Script]) -> list[Played]:
        """Carry all scripts out side by side; each must end in time."""
        self.batch_began = time.monotonic()
        async with asyncio.timeout(LONGEST_S):
            return await asyncio.gather(*[self._run(script) for script in scripts])

    async def _run(self, script: Script) -> Played:
        self.started += 1
        number, workflow_id, told = self.started, f"casebound-{uuid4()}", Told()
        self.planner.scripts[workflow_id] = script
        moments = {action.turn: asyncio.Event() for action in script.actions}
        self.planner.moments[workflow_id] = moments
        request = RunInput(
            question=script.question,
            planner=PlannerRef(kind="scripts"),
            runbook=script.runbook,
            limits=script.limits,
            deadline_s=script.deadline_s,
        )
        handle = await self.client.start_workflow(AgentRun.run, request, id=workflow_id, task_queue=self.task_queue)
        moments.setdefault(0, asyncio.Event()).set()
        people = [asyncio.create_task(act(handle, action, moments[action.turn], told)) for action in script.actions]
        result = await self._end_of(handle, script)
        for moment in moments.values():  # what was to be done to a run that is over is done now
            moment.set()
        await asyncio.gather(*people)
        history = await handle.fetch_history()
        asked = self.planner.forget(workflow_id)
        run_id = handle.first_execution_run_id or ""
        records, turns, summary = await self._left(run_id)
        self.played, self.turns = self.played + 1, self.turns + len(asked)
        self.calls += len(records)
        ended = result or summary
        self.outcomes[ended.outcome if ended else "CANCELLED before it was opened"] += 1
        return Played(number, script, ended, told, asked, history, records, turns)

    async def _end_of(self, handle: RunHandle, script: Script) -> RunResult | None:
        """Wait for the run's result; None: it ended Cancelled."""
        try:
            return await handle.result()
        except WorkflowFailureError as error:
            if not isinstance(error.cause, CancelledError):
                raise AssertionError(f"ended with {error.cause!r}: {script!r}") from error
            return None
        except asyncio.CancelledError as error:
            took_s = time.monotonic() - self.batch_began
            raise AssertionError(f"left after {took_s:.0f} s of {LONGEST_S} s: {script!r}") from error

    async def _left(self, run_id: str) -> tuple[dict[str, StoredInvocation], dict[str, StoredTurn], RunResult | None]:
        now_ms = await self.store.backend.now_ms()
        head = f"{self.prefix}:{run_id}:"
        ids = [key.removeprefix(head) for key in await self.store.backend.keys_with(head)]
        records = await self.store.invocations.read(run_id, ids, now_ms=now_ms, raw=True)
        index = await self.store.runs.read(run_id, now_ms=now_ms)
        turns = {key: StoredTurn.model_validate_json(turn) for key, turn in index.turns.items()} if index else {}
        summary = RunResult.model_validate_json(index.summary) if index and index.summary else None
        return records, turns, summary
