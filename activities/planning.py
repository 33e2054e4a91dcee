"""The `casebound.plan` activity: one stored turn per question, however often it is asked.

Above: the workflow asks with a `PlanInput`. Below: a `Planner`, `turns` that bounds its answer,
and the `RunIndex`. A turn is stored, create-once, before it is returned, so a retried activity
or a reset workflow gets the stored turn and no token is paid twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.contracts import PLAN, CallResult, PlanInput, PlannedTurn
from activities.edge import codes_only
from activities.heartbeat import ActivityAttempt, attempt, of_run
from activities.masking import masked_trace, masked_turn
from activities.planners.port import PastTurn, Planner, PlannerError, Turn
from activities.run_memory import RunMemory
from activities.stored import RunBrief, StoredTurn, read_stored
from activities.turns import bound_turn, turn_key
from boundary.contracts import CallError, ToolBoundaryResult, ToolCall, call_error
from boundary.errors import CaseboundError, ErrorCode
from boundary.evidence import explain
from boundary.ids import is_tool_call_id
from boundary.redaction import Redactor
from boundary.run_index import RunIndex
from boundary.store import InvocationStore

PLANNER_ATTEMPTS = 3
"""Attempts of one turn whose planner says that asking again may help; the third failure is final."""

PLANNER_FAILED = "PLANNER_FAILED"
"""Type of the retryable failure between those attempts."""


class Planning:
    """Asks planners for turns.

    Args:
        planners: by kind.
        runs, store: where brief, turns and agent results are kept.
        redactor: masks secrets in what a failing planner says.
    """

    def __init__(
        self, planners: Mapping[str, Planner], runs: RunIndex, store: InvocationStore, redactor: Redactor
    ) -> None:
        self._planners = planners
        self._runs = runs
        self._memory = RunMemory(runs, store)
        self._redactor = redactor

    @activity.defn(name=PLAN)
    async def plan(self, plan: PlanInput) -> PlannedTurn:
        """Return the stored turn for this input, or let the planner make it."""
        with codes_only():
            async with attempt() as current:
                plan = of_run(plan)
                key = turn_key(plan)
                brief, stored = await self._runs.turn(plan.run_id, key, now_ms=current.now_ms())
                if stored is not None:
                    return read_stored(StoredTurn, stored).turn
                return await self._make(plan, key, read_stored(RunBrief, brief), current)

    async def _make(self, plan: PlanInput, key: str, brief: RunBrief, current: ActivityAttempt) -> PlannedTurn:
        planner = self._planners.get(brief.planner.kind)
        if planner is None:
            message = f"this worker has no planner {brief.planner.kind!r}"
            return _failed(key, call_error(ErrorCode.TOOL_UNAVAILABLE, message))
        try:
            turn = await planner.next_turn(plan, StoredRunView(brief, plan, self._memory, current))
        except PlannerError as error:
            return self._failure(key, error)
        except CaseboundError:
            raise
        except Exception as error:
            activity.logger.error("planner %r failed\n%s", brief.planner.kind, masked_trace(error, self._redactor))
            message = f"the planner failed: {explain(error, self._redactor)}"
            return _failed(key, call_error(ErrorCode.EXECUTION_ERROR, message))
        made = await asyncio.to_thread(self._bounded, turn, key, plan)
        stored = await self._runs.put_turn(
            plan.run_id, key, plan.parent, made.model_dump_json().encode(), now_ms=current.now_ms()
        )
        if made.turn.reported:  # most often its last turn; a later one reads anew
            self._memory.forget(plan.run_id)
        return read_stored(StoredTurn, stored).turn

    def _bounded(self, turn: Turn, key: str, plan: PlanInput) -> StoredTurn:
        return masked_turn(bound_turn(turn, turn_key=key, plan=plan), self._redactor)

    def _failure(self, key: str, error: PlannerError) -> PlannedTurn:
        message = self._redactor.message(error.message)
        if error.retryable and activity.info().attempt < PLANNER_ATTEMPTS:
            # From None: the failure's cause would stand in the history, and in the log, as the planner worded it.
            raise ApplicationError(
                call_error(ErrorCode.EXECUTION_ERROR, message).message, type=PLANNER_FAILED
            ) from None
        code = ErrorCode.UPSTREAM_UNAVAILABLE if error.retryable else ErrorCode.EXECUTION_ERROR
        return _failed(key, call_error(code, message))


class StoredRunView:
    """What a planner sees of its run, read from the store. Implements `planners.port.RunView`."""

    def __init__(self, brief: RunBrief, plan: PlanInput, memory: RunMemory, current: ActivityAttempt) -> None:
        self.brief = brief
        self._plan = plan
        self._memory = memory
        self._current = current

    async def past_turns(self) -> Sequence[PastTurn]:
        """Read the chain of turns; each turn's results stand in the input of the turn after it."""
        if self._plan.parent is None:
            return []
        stored = await self._memory.turns(self._plan.run_id, self._plan.parent, now_ms=self._current.now_ms())
        answers = [turn.input.results for turn in stored[1:]] + [self._plan.results]
        return [
            PastTurn(
                number=turn.input.number,
                mode=turn.input.mode,
                calls=turn.turn.calls,
                results=_named(turn.turn.calls, results),
                excess_ids=turn.excess_ids,
                notes=turn.input.notes,
                faults=turn.input.faults,
            )
            for turn, results in zip(stored, answers, strict=True)
        ]

    async def results(self, tool_call_ids: Sequence[str]) -> dict[str, ToolBoundaryResult]:
        """Read agent results in one round trip; an illegal id has no record."""
        legal = [call_id for call_id in tool_call_ids if is_tool_call_id(call_id)]
        return await self._memory.results(self._plan.run_id, legal, now_ms=self._current.now_ms())


def _named(calls: Sequence[ToolCall], results: Sequence[CallResult]) -> tuple[CallResult, ...]:
    """Give each result the id of the call at its place."""
    return tuple(
        result.model_copy(update={"tool_call_id": call.tool_call_id})
        if isinstance(call.tool_call_id, str) and is_tool_call_id(call.tool_call_id)
        else result
        for call, result in zip(calls, results, strict=True)
    )


def _failed(key: str, error: CallError) -> PlannedTurn:
    return PlannedTurn(turn_key=key, failure=error)
