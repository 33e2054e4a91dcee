"""Carries the calls of one turn: admits them in order, runs them side by side, settles what died.

Above: `agent_run`. Below: `admission` decides, `activity_calls` starts, `failures` explains.
Whatever happens, each call of the turn gets exactly one result, in request order.
"""

from __future__ import annotations

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError

from activities.contracts import CallResult, LostCall, PlannedTurn, SettleCallsInput, ToolCallInput
from boundary.contracts import (
    CallError,
    EvidenceStatus,
    Grant,
    InvocationStatus,
    ToolCall,
    ToolCallOutcome,
    call_error,
)
from boundary.errors import ErrorCode
from boundary.limits import TURN_MAX_BYTES, TURN_MAX_CALLS
from workflows import activity_calls
from workflows.admission import Repetition, legal_id, refusal, repetition, tool_label
from workflows.clock import now_ms
from workflows.failures import call_failure
from workflows.holding import while_paused
from workflows.marks import id_mark
from workflows.run_state import RunState
from workflows.summaries import call_summary


class TurnCalls:
    """The calls of one turn."""

    def __init__(self, state: RunState, turn: PlannedTurn) -> None:
        self._state = state
        self._turn = turn

    async def carry_out(self) -> tuple[CallResult, ...]:
        """Give every call its one result."""
        results: list[CallResult | asyncio.Task[CallResult]] = []
        for position, call in enumerate(self._turn.calls):
            results.append(await self._admit(position, call))
        if self._turn.excess:
            self._state.refuse_excess(self._turn.excess, excess_error())
        return tuple([await result if isinstance(result, asyncio.Task) else result for result in results])

    async def _admit(self, position: int, call: ToolCall) -> CallResult | asyncio.Task[CallResult]:
        """Wait while the run is paused and for room, then answer the call or start it."""
        state = self._state
        why_not = await self._why_not(call)
        call_id = legal_id(call)
        if call_id is not None:
            state.seen.add(id_mark(call_id))
        if isinstance(why_not, Repetition):
            return state.repeat(call, why_not)
        if why_not is not None or call_id is None:
            return state.refuse(call, why_not or call_error(ErrorCode.MISSING_TOOL_CALL_ID, "the call has no id"))
        call_index = state.ledger.tool_calls + 1
        grant = self._grant(tool_label(call), call_index)
        state.begin(call, call_id, call_index)
        return asyncio.create_task(self._run(position, call, call_id, call_index, grant))

    async def _why_not(self, call: ToolCall) -> CallError | Repetition | None:
        state = self._state
        while True:
            await while_paused(state)
            error = refusal(call, state.gate(now_ms()))
            if error is not None and error.code is not ErrorCode.BUDGET_EXCEEDED:
                return error
            # A running call may still free what this one needs.
            await workflow.wait_condition(
                lambda: state.interrupted or state.paused is not None or state.ledger.has_room()
            )
            if state.interrupted or state.paused is None or now_ms() >= state.gather_ms:
                gate = state.gate(now_ms())
                return refusal(call, gate) or repetition(call, gate)

    def _grant(self, tool_name: str, call_index: int) -> Grant:
        state, tool = self._state, self._state.tools[tool_name]
        return Grant(
            deadline_ms=min(state.gather_ms, now_ms() + activity_calls.CALL_MAX_MS),
            expires_at_ms=state.expires_ms,
            bytes=state.ledger.admit(call_index, tool_name),
            timeout_ms=tool.timeout_ms,
            attempts=tool.attempts,
        )

    async def _run(self, position: int, call: ToolCall, call_id: str, call_index: int, grant: Grant) -> CallResult:
        state, name = self._state, tool_label(call)
        handle = activity_calls.tool_call(
            name,
            ToolCallInput(
                run_id=state.named_run_id,
                store_id=state.store_id,
                tool_call_id=call_id,
                arguments=call.arguments,
                turn=state.turn,
                position=position,
                call_index=call_index,
                grant=grant,
                preview_chars=state.input.limits.preview_chars,
            ),
            left_ms=grant.deadline_ms - now_ms(),
            summary=call_summary(call_index, name, call.arguments),
            task_queue=state.tools[name].task_queue,
        )
        await workflow.wait_condition(lambda: handle.done() or state.interrupted)
        if not handle.done():
            handle.cancel()
        try:
            outcome = await handle
        except ActivityError as error:
            outcome = await self._settle_lost(
                LostCall(
                    tool_call_id=call_id,
                    tool_name=name,
                    arguments=call.arguments,
                    turn=state.turn,
                    position=position,
                    call_index=call_index,
                    bytes=grant.bytes,
                    error=call_failure(error),
                )
            )
        state.ledger.settle(call_index, outcome.record_bytes if outcome.record_sha256 is not None else None)
        return state.settle(call, call_index, outcome, now_ms())

    async def _settle_lost(self, lost: LostCall) -> ToolCallOutcome:
        """The finalizer: the record of a call whose activity died must not stay PROJECTING."""
        state = self._state
        request = SettleCallsInput(run_id=state.named_run_id, expires_at_ms=state.expires_ms, calls=(lost,))
        try:
            settled = await activity_calls.settle_calls(request)
        except ActivityError:
            state.unsettled += 1
            return unknown_outcome(lost.error)
        return settled.outcomes[0]


def excess_error() -> CallError:
    """Why calls beyond a turn's limits are refused."""
    message = f"a turn takes at most {TURN_MAX_CALLS} calls and {TURN_MAX_BYTES} bytes of arguments; ask in later turns"
    return call_error(ErrorCode.BUDGET_EXCEEDED, message)


def unknown_outcome(error: CallError) -> ToolCallOutcome:
    """The outcome of a call whose record could not be settled or read."""
    return ToolCallOutcome(
        status=InvocationStatus.ERROR,
        evidence_status=EvidenceStatus.ERROR,
        error=error,
    )
