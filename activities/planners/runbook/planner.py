"""The runbook planner: follows a YAML file, deterministic and offline. Implements `port.Planner`.

Above: the `casebound.plan` activity. Below: `loader`, `progress`, `reporting`. It keeps nothing between
turns: where the run stands is read from its past turns, and only results that the runbook's
expressions read are fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from activities.contracts import CallResult, PlanInput, TurnMode
from activities.planners.port import PastTurn, PlannerError, RunView, Turn
from activities.planners.runbook.evaluation import Scope
from activities.planners.runbook.expressions import Use
from activities.planners.runbook.loader import RunbookError, load_runbook
from activities.planners.runbook.model import Runbook, step_of
from activities.planners.runbook.progress import advance
from activities.planners.runbook.reporting import draft_report
from activities.planners.runbook.values import Meter, TooMuchWork, View
from activities.planners.runbook.views import BODY_FIELDS, answered
from activities.stored import RunBrief, SourceStatus
from activities.turns import requested_results
from boundary.contracts import InvocationStatus, JsonObject, JsonValue, ToolBoundaryResult, ToolCall

_PARSED = 16
"""Runbooks kept parsed; parsing is pure, and a turn of a large one would spend most of its time on it."""


class RunbookPlanner:
    """Follows the runbook of the run's brief."""

    def check(self, brief: RunBrief) -> str | None:
        """Say what is wrong with the brief's runbook, each fault with its line, or None."""
        if brief.runbook is None:
            return "the runbook planner needs a runbook"
        try:
            load_runbook(brief.runbook, brief.planner.name or "runbook", brief.catalog)
        except RunbookError as error:
            return error.message
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Produce the calls of the next steps, or the report.

        Raises:
            PlannerError: the runbook cannot be followed.
        """
        # Threads, so that a heavy runbook holds neither heartbeats nor cancellation; sizes and the meter end it.
        try:
            runbook = await asyncio.to_thread(_parsed, run.brief.runbook or "")
        except RunbookError as error:
            raise PlannerError(error.errors[0]) from None
        past = await run.past_turns()
        needed = _needed(runbook, past)
        stored = _unread(past, needed) | await run.results(needed)
        try:
            return await asyncio.to_thread(_turn, runbook, plan, run.brief, past, stored)
        except TooMuchWork as error:
            raise PlannerError(error.message) from None


@lru_cache(maxsize=_PARSED)
def _parsed(text: str) -> Runbook:
    return load_runbook(text)


def _turn(
    runbook: Runbook,
    plan: PlanInput,
    brief: RunBrief,
    past: Sequence[PastTurn],
    stored: Mapping[str, ToolBoundaryResult],
) -> Turn:
    """Decide the turn; pure."""
    notes: list[JsonValue] = [note for given in (*(turn.notes for turn in past), plan.notes) for note in given]
    names: dict[str, JsonValue] = {
        "vars": runbook.vars,
        "question": brief.question,
        "notes": notes,
        "sources": _told(brief.sources),
    }
    scope = Scope(names, Meter())
    made = _calls_made(past, stored)
    progress = advance(runbook, made, scope, concluding=plan.mode is not TurnMode.PLAN)
    if progress.calls:
        return Turn(calls=progress.calls)
    draft = draft_report(runbook, progress, made, scope)
    return Turn(report=draft.report, remarks=draft.remarks)


def _told(sources: Sequence[SourceStatus]) -> JsonObject:
    """Statuses of sources as expressions read them: `sources.logs.app.available`."""
    told: JsonObject = {}
    for source in sources:
        kind: JsonObject = told.setdefault(source.kind, {})
        kind[source.name] = {"available": source.available, "reason": source.reason or ""}
    return told


def _calls_made(past: Sequence[PastTurn], stored: Mapping[str, ToolBoundaryResult]) -> dict[str, View]:
    """Make the view of every call so far; of two with one id the first counts, the other was refused."""
    made: dict[str, View] = {}
    for turn in past:
        for result in requested_results(turn, stored):
            if result.tool_call_id is not None:
                made.setdefault(result.tool_call_id, answered(f"step {result.tool_call_id!r}", result))
    return made


def _ready(past: Sequence[PastTurn]) -> Iterator[tuple[ToolCall, CallResult, str]]:
    """Name the calls so far that have a result in the store, their own or that of the call they repeat."""
    for turn in past:
        for call, result in zip(turn.calls, turn.results, strict=False):
            if isinstance(call.tool_call_id, str) and result.status is InvocationStatus.READY:
                yield call, result, call.tool_call_id


def _unread(past: Sequence[PastTurn], needed: Sequence[str]) -> dict[str, ToolBoundaryResult]:
    """Make results without a body for the calls of which only the status is read; the history knows that."""
    read = frozenset(needed)
    return {
        call_id: ToolBoundaryResult(
            tool_call_id=call_id,
            tool_name=call.tool_name if isinstance(call.tool_name, str) else "",
            status=result.status,
            evidence_status=result.evidence_status,
        )
        for call, result, call_id in _ready(past)
        if call_id not in read
    }


def _needed(runbook: Runbook, past: Sequence[PastTurn]) -> list[str]:
    """Name the calls whose stored results the runbook's expressions read."""
    steps = runbook.repeated
    uses = [use for part in (*runbook.steps, *runbook.claims) for use in part.uses]
    read = set(steps) if any(use.name == "steps" for use in uses) else set(_read(uses))
    return list(
        dict.fromkeys(
            result.repeats or call_id for _, result, call_id in _ready(past) if step_of(call_id, steps) in read
        )
    )


def _read(uses: Iterable[Use]) -> Iterable[str]:
    return (use.name for use in uses if not use.path or use.path[0] is None or use.path[0] in BODY_FIELDS)
