"""The ToolBoundary: gates, executes, projects and settles one tool call.

Above: the tool-call activity gives it an admitted call and an `Attempt`. Below: `preflight`,
`execution`, `evidence` and the `InvocationStore`. The order is the invariant: the record exists
before the tool runs, and nothing that can fail comes after the settle. A bad call is a value;
an exception means that this attempt ended and another may finish the call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from boundary.attempt import Attempt
from boundary.contracts import (
    AdmittedCall,
    CallError,
    EvidenceStatus,
    InvocationStatus,
    ToolCallOutcome,
    call_error,
)
from boundary.errors import (
    AttemptFailed,
    CaseboundError,
    DuplicateToolCallId,
    ErrorCode,
    RecordExpired,
    RunMismatch,
    StoreUnavailable,
)
from boundary.evidence import EvidenceRules, explain, settlement_of, too_large
from boundary.execution import TimedOut, leavable, run_tool
from boundary.limits import RecordLimits
from boundary.preflight import Failed as Refused
from boundary.preflight import Passed, RunScope, preflight
from boundary.record import Failed, Ready, Settlement
from boundary.redaction import Redactor
from boundary.registry import ToolRegistry
from boundary.store import InvocationStore, Settled, StoredInvocation
from boundary.tools import ToolContext, ToolFailure

SETTLE_MARGIN_MS = 300
"""Kept free before a deadline, so that the settle still happens inside it."""

SETTLE_BACKOFF_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Waits between repeats of a settle the store did not answer; the last one repeats."""

LAST_SETTLE_S = 2.0
"""How long a cancelled call may still try to settle; then the finalizer has it."""

PROGRESS_READ = 2000
"""Characters of a tool's word on its progress; fewer are shown."""

_T = TypeVar("_T")

Write = Callable[[], Awaitable[StoredInvocation]]
"""A write to the store that answers the same when it is repeated."""

_NO_RECORD = frozenset({ErrorCode.MISSING_TOOL_CALL_ID, ErrorCode.INVALID_TOOL_CALL_ID, ErrorCode.RUN_MISMATCH})
"""Refused without touching the store: there is no key that could be theirs."""


@dataclass(frozen=True)
class ToolBoundary:
    """Makes tool calls safe and recorded. One instance serves all calls of a worker.

    Attributes:
        registry: the worker's tools.
        store: where records live.
        pool: threads for synchronous tools and for projections.
        limits: record limits in bytes.
        redactor: masks secrets in agent results and messages.
    """

    registry: ToolRegistry
    store: InvocationStore
    pool: Executor
    limits: RecordLimits = field(default_factory=RecordLimits)
    redactor: Redactor = field(default_factory=Redactor)

    async def invoke(
        self, call: AdmittedCall, run: RunScope, attempt: Attempt, *, preview_chars: int = 300
    ) -> ToolCallOutcome:
        """Carry the call to its one outcome.

        Raises:
            AttemptFailed, StaleAttempt, StoreUnavailable: this attempt ended; another may go on.
            asyncio.CancelledError: the attempt was stopped, and not because the run gave the call up.
        """
        verdict = self._verdict(call, run, attempt)
        if isinstance(verdict, Refused) and verdict.error.code in _NO_RECORD:
            return unrecorded(verdict.error)
        try:
            begun = await self.store.begin(
                call,
                nonce=uuid4().hex[:16],
                now_ms=attempt.now_ms(),
                verdict=verdict.error if isinstance(verdict, Refused) else None,
            )
            if isinstance(begun, Settled) or isinstance(verdict, Refused):
                stored = begun.stored if isinstance(begun, Settled) else begun.held
            else:
                stored = await self._carry_out(call, verdict, begun.held, attempt)
        except (DuplicateToolCallId, RunMismatch, RecordExpired) as error:
            return unrecorded(_as_value(error))
        return stored.outcome(preview_chars)

    def _verdict(self, call: AdmittedCall, run: RunScope, attempt: Attempt) -> Passed | Refused:
        """Preflight the call; a refusal may repeat an argument."""
        verdict = preflight(call, run, self.registry, self.limits, attempt.now_ms())
        if isinstance(verdict, Passed):
            return verdict
        return Refused(call_error(verdict.error.code, self.redactor.message(verdict.error.message)))

    async def _carry_out(
        self, call: AdmittedCall, passed: Passed, held: StoredInvocation, attempt: Attempt
    ) -> StoredInvocation:
        until_ms = call.grant.deadline_ms
        try:
            settlement = await self._observe(call, passed, attempt)
        except asyncio.CancelledError:
            if not attempt.cancel_requested():
                raise
            until_ms = attempt.now_ms() + round(LAST_SETTLE_S * 1000)
            settlement = Failed(call_error(ErrorCode.CANCELLED, "the call was cancelled while the tool ran"))
        except ToolFailure as failure:
            message = await self._aside(self.redactor.message, failure.message)
            error = call_error(failure.code or ErrorCode.EXECUTION_ERROR, message)
            if failure.retryable and held.record.failures + 1 < call.grant.attempts:
                return await self._failed_once(held, error, call, attempt)
            settlement = Failed(error, counts_failure=failure.retryable)
        return await self._settle(held, settlement, call, attempt, until_ms)

    async def _observe(self, call: AdmittedCall, passed: Passed, attempt: Attempt) -> Settlement:
        """Run the tool and make its settlement; retryable failures and cancellation come out as exceptions."""
        stop = threading.Event()
        context = ToolContext(stop, self._progress(attempt), self.limits.raw)
        limit_ms, cut = _limit(call, attempt.now_ms())
        rules = EvidenceRules(self.limits, call.grant.bytes, self.redactor)
        try:
            raw = await run_tool(passed.tool, passed.arguments, context, stop, self.pool, limit_ms / 1000)
            making = asyncio.get_running_loop().run_in_executor(
                self.pool, settlement_of, passed.tool, passed.arguments, raw, rules
            )
            limit_ms, cut = _limit(call, attempt.now_ms())
            return await leavable(making, stop, limit_ms / 1000)
        except TimedOut:
            return Failed(cut)
        except ToolFailure:
            raise
        except Exception as error:  # a tool may raise anything
            return Failed(call_error(ErrorCode.EXECUTION_ERROR, await self._aside(explain, error, self.redactor)))

    async def _aside(self, work: Callable[..., _T], *args: Any) -> _T:
        """Work in a thread: a text of megabytes takes seconds, and the loop beats for every call of the worker."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work, *args)

    def _progress(self, attempt: Attempt) -> Callable[[str], None]:
        """Let a tool say how far it is, secrets masked before anything cuts the text."""
        return lambda detail: attempt.progress(self.redactor.text(detail[:PROGRESS_READ])[0])

    async def _failed_once(
        self, held: StoredInvocation, error: CallError, call: AdmittedCall, attempt: Attempt
    ) -> StoredInvocation:
        now_ms = attempt.now_ms()
        counted = await self._persist(
            lambda: self.store.count_failure(held, now_ms=now_ms), attempt, call.grant.deadline_ms
        )
        if counted.record.settled:
            return counted
        raise AttemptFailed(error.code, error.message)

    async def _settle(
        self, held: StoredInvocation, settlement: Settlement, call: AdmittedCall, attempt: Attempt, until_ms: int
    ) -> StoredInvocation:
        now_ms = attempt.now_ms()
        fitting = self._fitted(held, settlement, call, now_ms)
        return await self._persist(lambda: self.store.settle(held, fitting, now_ms=now_ms), attempt, until_ms)

    def _fitted(self, held: StoredInvocation, settlement: Settlement, call: AdmittedCall, now_ms: int) -> Settlement:
        """Drop the bodies where the record with them is over the record limit or the grant."""
        size = self.store.size_of(held, settlement, now_ms=now_ms)
        for what, limit in (("byte grant", call.grant.bytes), ("record limit", self.limits.record)):
            if size > limit and settlement.kept:
                error = too_large(f"record, measured against its {what},", size, limit)
                agent = settlement.agent_result if isinstance(settlement, Ready) else None
                return Failed(error, dropped_raw=settlement.raw, dropped_agent_result=agent)
        return settlement

    async def _persist(self, write: Write, attempt: Attempt, until_ms: int) -> StoredInvocation:
        """Repeat the identical write until the store answers or the time is over."""
        try:
            return await self._repeat(write, attempt, until_ms)
        except asyncio.CancelledError:
            if not attempt.cancel_requested():
                raise
            try:
                return await asyncio.wait_for(write(), LAST_SETTLE_S)
            except TimeoutError:
                raise StoreUnavailable("the store did not answer before the cancelled call had to end") from None

    async def _repeat(self, write: Write, attempt: Attempt, until_ms: int) -> StoredInvocation:
        tries = 0
        while True:
            try:
                return await write()
            except StoreUnavailable:
                wait_s = SETTLE_BACKOFF_S[min(tries, len(SETTLE_BACKOFF_S) - 1)]
                if attempt.now_ms() + wait_s * 1000 >= until_ms:
                    raise
            attempt.progress("the store does not answer; keeping the result and trying again")
            await asyncio.sleep(wait_s)
            tries += 1


def unrecorded(error: CallError) -> ToolCallOutcome:
    """The outcome of a call that has no record of its own."""
    return ToolCallOutcome(
        status=InvocationStatus.ERROR,
        evidence_status=EvidenceStatus.ERROR,
        error=error,
        executions=0,
    )


def _as_value(error: CaseboundError) -> CallError:
    return call_error(error.code or ErrorCode.EXECUTION_ERROR, error.message)


def _limit(call: AdmittedCall, now_ms: int) -> tuple[int, CallError]:
    """How long the execution may still take, and what it means when it does not end by then."""
    timeout_ms = call.grant.timeout_ms - min(SETTLE_MARGIN_MS, call.grant.timeout_ms // 10)
    left_ms = call.grant.deadline_ms - SETTLE_MARGIN_MS - now_ms
    if left_ms < timeout_ms:
        cut = call_error(ErrorCode.DEADLINE_EXCEEDED, "the run's deadline came while the tool ran")
        return max(left_ms, 0), cut
    message = f"the tool did not answer within {timeout_ms / 1000:g} s; ask for less: a narrower window or pattern"
    return timeout_ms, call_error(ErrorCode.EXECUTION_TIMEOUT, message)
