"""One agent run, told as a story.

1. Open: store the brief; learn the catalog, its limits and which store holds the evidence.
2. Gather: ask the planner for a turn, admit its calls, carry them out, and ask again with their
   results, until the planner reports or a limit, a `stop` or a cancellation says enough.
3. Conclude: at a limit or a stop, ask once more, for the report only.
4. Check: EvidenceGuard checks every citation; one repair turn may mend the faults.
5. Close: publish what stands. Where no report can be had, publish an INCONCLUSIVE one.

People steer it meanwhile (`steered`), and a long one goes on in further executions (`carrying`).
The run decides and holds budget, deadline and cancellation; everything that touches the world is
an activity. A cancellation is a flag like any other: it never cuts through this code.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TypeVar

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ActivityError, RetryState

from activities.contracts import (
    CheckedReport,
    CheckReportInput,
    CloseRunInput,
    OpenRunInput,
    PlanInput,
    PlannedTurn,
    RunInput,
    RunOutcome,
    RunResult,
    TurnMode,
)
from boundary.report import Verdict
from workflows import activity_calls
from workflows.attributes import FIRST_RUN, OUTCOME, STARTED, VERDICT
from workflows.budget import Ledger
from workflows.carrying import next_input, take_over
from workflows.clock import now_ms
from workflows.conclusion import LAST_MOMENT_MS, Conclusion, due
from workflows.failures import message_of, store_lost
from workflows.holding import while_paused
from workflows.marks import id_mark
from workflows.run_state import RunState
from workflows.steered import SteeredRun
from workflows.summaries import closed_details
from workflows.tool_calls import TurnCalls

_T = TypeVar("_T")

CANCELLED = Conclusion(RunOutcome.CANCELLED, "the run was cancelled")


@workflow.defn(name="AgentRun", failure_exception_types=[ValidationError])
class AgentRun(SteeredRun):
    """One diagnosis. Its result is the report."""

    @workflow.init
    def __init__(self, request: RunInput) -> None:
        info = workflow.info()
        first = info.first_execution_run_id
        self._state = RunState(
            input=request,
            run_id=first,
            named_run_id="" if info.run_id == first else first,
            started_ms=now_ms(),
            ledger=Ledger(request.limits),
        )
        if request.carried is not None:
            take_over(self._state, request.carried)

    @workflow.run
    async def run(self, request: RunInput) -> RunResult:
        """Conduct the run; a cancelled one still settles its records and leaves its summary."""
        conducting = asyncio.create_task(self._conduct())
        try:
            result = await asyncio.shield(conducting)
        except asyncio.CancelledError:
            if conducting.done() and conducting.result() is not None:
                raise
            self._state.cancelled = True
            await self._leave_summary(await conducting or self._close(CANCELLED, CheckedReport()))
            raise
        if result is None:
            begun = {FIRST_RUN: self._state.run_id, STARTED: self._state.started_ms}
            workflow.continue_as_new(next_input(self._state), memo={**workflow.memo(), **begun})
        return result

    async def _conduct(self) -> RunResult | None:
        """Make the report; None: the run goes on in another execution."""
        turn: PlannedTurn | None = None
        end = await self._open()
        if end is None:
            end, turn = await self._gather()
        if end is None:
            return None
        if turn is None and not end.fallback:
            end, turn = await self._conclude(end)
        checked = CheckedReport()
        if turn is not None:
            end, checked = await self._check(end, turn)
        return self._close(end, checked)

    async def _open(self) -> Conclusion | None:
        """Store the brief; a Conclusion says why the run cannot even begin."""
        state = self._state
        if state.input.carried is not None:
            return None
        request = OpenRunInput(
            run_id=state.named_run_id,
            question=state.input.question,
            planner=state.input.planner,
            runbook=state.input.runbook,
            deadline_ms=state.deadline_ms,
            expires_at_ms=state.expires_ms,
        )
        handle = activity_calls.open_run(request, left_ms=state.gather_ms - now_ms())
        try:
            opened = await self._leavable(handle)
        except ActivityError as error:
            if store_lost(error):
                return self._store_lost(error)
            end = self._due() or Conclusion(RunOutcome.PLANNER_FAILED, message_of(error))
            return replace(end, fallback=True)
        if opened.fault is not None:
            return Conclusion(RunOutcome.PLANNER_FAILED, opened.fault.message, fallback=True)
        state.tools, state.store_id = opened.tools, opened.store_id
        state.index_expires_ms = opened.expires_at_ms
        return None

    async def _gather(self) -> tuple[Conclusion | None, PlannedTurn | None]:
        """Plan and call until there is a report (a turn), a reason to conclude, or a history that is long enough."""
        state = self._state
        while True:
            await while_paused(state)
            end = self._due()
            if end is not None:
                return end, None
            if workflow.info().is_continue_as_new_suggested() and workflow.all_handlers_finished():
                return None, None
            state.ledger.turns += 1
            planned = await self._plan(TurnMode.PLAN)
            if isinstance(planned, Conclusion):
                return planned, None
            if (planned.calls or planned.excess) and not planned.reported:
                self._show("calling")
                state.results = await TurnCalls(state, planned).carry_out()
                continue
            await while_paused(state)
            # Someone said something meanwhile: the planner reports anew, if it may still be asked.
            if not state.notes or self._due() is not None:
                return Conclusion(RunOutcome.REPORTED), planned

    async def _conclude(self, end: Conclusion) -> tuple[Conclusion, PlannedTurn | None]:
        """Ask for the report, with no tools left and while there is time for it."""
        if now_ms() >= self._state.deadline_ms:
            return replace(end, detail=f"{end.detail}; the deadline had passed before a report could be had"), None
        planned = await self._plan(TurnMode.CONCLUDE)
        if isinstance(planned, PlannedTurn):
            return end, planned
        if planned.outcome in (RunOutcome.STORE_LOST, RunOutcome.CANCELLED):
            return planned, None
        return replace(end, detail=f"{end.detail}; no report could be had: {planned.detail}"), None

    async def _check(self, end: Conclusion, turn: PlannedTurn) -> tuple[Conclusion, CheckedReport]:
        """Check the report; where it has faults, let the planner repair it once."""
        checked = await self._check_once(turn)
        if isinstance(checked, CheckedReport) and checked.faults and self._may_repair():
            repaired = await self._plan(TurnMode.REPAIR, checked.faults)
            if isinstance(repaired, PlannedTurn):
                again = await self._check_once(repaired)
                checked = again if isinstance(again, Conclusion) or again.usable else checked
        if isinstance(checked, Conclusion):
            return checked, CheckedReport()
        if not checked.usable and end.outcome is RunOutcome.REPORTED:
            detail = f"the planner handed in no usable report: {checked.faults[0] if checked.faults else ''}"
            end = Conclusion(RunOutcome.PLANNER_FAILED, detail, fallback=True)
        return end, checked

    def _may_repair(self) -> bool:
        return not self._state.cancelled and now_ms() < self._state.deadline_ms

    async def _check_once(self, turn: PlannedTurn) -> CheckedReport | Conclusion:
        if not turn.reported:
            return CheckedReport(faults=turn.faults, usable=False)
        self._show("checking")
        digests = self._state.digests
        marks = {call_id: id_mark(call_id) for call_id in turn.cites}
        seen = {call_id: digests[mark] for call_id, mark in marks.items() if mark in digests}
        request = CheckReportInput(run_id=self._state.named_run_id, turn_key=turn.turn_key, seen=seen)
        try:
            return await self._leavable(activity_calls.check_report(request), also_stop=False)
        except ActivityError as error:
            if self._state.cancelled:
                return Conclusion(RunOutcome.CANCELLED)
            return self._store_lost(error)

    def _close(self, end: Conclusion, checked: CheckedReport) -> RunResult:
        state = self._state
        if state.cancelled:
            end = CANCELLED
        self._show("closing")
        result = RunResult(
            run_id=state.run_id,
            question=state.input.question,
            outcome=end.outcome,
            verdict=checked.verdict if checked.claims else Verdict.INCONCLUSIVE,
            claims=checked.claims,
            could_not_check=tuple(state.failed),
            could_not_check_more=state.failed_more,
            calls=() if checked.claims else tuple(state.listed),
            unsettled=state.unsettled,
            detail=end.detail,
            budget=state.ledger.used(),
            started_at_ms=state.started_ms,
            ended_at_ms=now_ms(),
        )
        self._publish({OUTCOME: result.outcome, VERDICT: result.verdict})
        self._show("closed")
        workflow.set_current_details(closed_details(result, state.progress(), state.input.owner))
        return result

    async def _plan(self, mode: TurnMode, faults: tuple[str, ...] = ()) -> PlannedTurn | Conclusion:
        """Ask for one turn; a Conclusion says why there is none."""
        state = self._state
        state.turn, state.mode = state.turn + 1, mode
        self._show("planning")
        request = PlanInput(
            run_id=state.named_run_id,
            number=state.turn,
            mode=mode,
            parent=state.parent,
            results=state.results,
            notes=tuple(state.notes),
            faults=faults,
            budget=state.ledger.left(),
            deadline_ms=self._until_ms(mode),
        )
        try:
            planned = await self._planned(request)
        except ActivityError as error:
            return self._no_turn(error)
        state.parent, state.results = planned.turn_key, ()
        del state.notes[: len(request.notes)]
        state.ledger.tokens += planned.tokens
        if planned.failure is not None:
            return Conclusion(RunOutcome.PLANNER_FAILED, planned.failure.message, fallback=True)
        return planned

    async def _planned(self, request: PlanInput) -> PlannedTurn:
        """Ask until there is an answer or no time; who moves the deadline meanwhile gives the question more."""
        while True:
            handle = activity_calls.plan(request, left_ms=request.deadline_ms - now_ms())
            try:
                return await self._leavable(handle, also_stop=request.mode is TurnMode.PLAN)
            except ActivityError as error:
                until_ms = self._until_ms(request.mode)
                if error.retry_state is not RetryState.TIMEOUT or until_ms <= request.deadline_ms:
                    raise
                request = request.model_copy(update={"deadline_ms": until_ms})

    def _until_ms(self, mode: TurnMode) -> int:
        return self._state.gather_ms if mode is TurnMode.PLAN else self._state.deadline_ms

    async def _leavable(self, handle: workflow.ActivityHandle[_T], *, also_stop: bool = True) -> _T:
        """Wait for the activity; leave it when the run is cancelled, or stopped where that matters."""
        state = self._state
        await workflow.wait_condition(
            lambda: handle.done() or state.cancelled or (also_stop and state.stopped is not None)
        )
        if not handle.done():
            handle.cancel()
        return await handle

    def _due(self) -> Conclusion | None:
        state, ledger = self._state, self._state.ledger
        return due(
            cancelled=state.cancelled,
            stopped=state.stopped,
            late=now_ms() >= state.gather_ms - (LAST_MOMENT_MS if state.cut_off else 0),
            spent=state.spent or ledger.out_of_turns() or ledger.out_of_tokens(),
        )

    def _no_turn(self, error: ActivityError) -> Conclusion:
        """Say why the planner's activity has no turn: an interruption, the clock, the store, or the planner."""
        last_chance = self._state.mode is not TurnMode.PLAN
        end = self._due()
        if end is None and not last_chance and error.retry_state is RetryState.TIMEOUT:
            # It asked for another attempt, and there is no time for one before the gathering ends.
            return Conclusion(RunOutcome.DEADLINE_EXCEEDED, message_of(error))
        if end is not None and not (last_chance and store_lost(error)):
            return replace(end, detail=message_of(error)) if last_chance and not end.fallback else end
        if store_lost(error):
            return self._store_lost(error)
        return Conclusion(RunOutcome.PLANNER_FAILED, message_of(error), fallback=True)

    def _store_lost(self, error: ActivityError) -> Conclusion:
        return Conclusion(RunOutcome.STORE_LOST, message_of(error), fallback=True)

    async def _leave_summary(self, result: RunResult) -> None:
        """Write the summary of a cancelled run to the store, so that `show` needs no worker."""
        try:
            await activity_calls.close_run(CloseRunInput(result=result))
        except ActivityError as error:
            workflow.logger.warning("the summary of the cancelled run was not stored: %s", message_of(error))

    def _publish(self, values: dict[SearchAttributeKey[str], str]) -> None:
        """Write the search attributes the server knows; an unknown one would be retried for ever."""
        known = self._state.input.search_attributes
        updates = [key.value_set(value) for key, value in values.items() if key.name in known]
        if updates:
            workflow.upsert_search_attributes(updates)
