"""The internal activities around a run's records: open, settle what died, close.

Above: the workflow. Below: the `RunIndex` and the `InvocationStore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from pydantic import ValidationError
from temporalio import activity

from activities.catalog import catalog_of
from activities.contracts import (
    CLOSE_RUN,
    OPEN_RUN,
    SETTLE_CALLS,
    CloseRunInput,
    LostCall,
    OpenedRun,
    OpenRunInput,
    SettleCallsInput,
    SettledCalls,
)
from activities.edge import codes_only
from activities.heartbeat import attempt, of_run
from activities.planners.port import Planner
from activities.stored import RunBrief, SourceStatus
from boundary.contracts import AdmittedCall, Grant, ToolCallOutcome, call_error
from boundary.errors import DuplicateToolCallId, ErrorCode, RecordExpired, RunMismatch
from boundary.redaction import Redactor
from boundary.registry import ToolRegistry
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, Settled
from boundary.tool_boundary import unrecorded


class RunRecords:
    """Opens and closes runs, and settles calls whose activity died for good.

    Args:
        registry: the worker's tools; their definitions become the run's catalog.
        planners: by kind.
        runs, store: where everything is kept.
        store_id: identity of that store.
        queues: task queues of tools that other workers run.
        redactor: masks secrets in what a planner says of a brief.
        sources: tells, without waiting for long, which of the tools' sources there are; secrets masked.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        planners: Mapping[str, Planner],
        runs: RunIndex,
        store: InvocationStore,
        store_id: str,
        queues: Mapping[str, str],
        redactor: Redactor,
        sources: Callable[[], Awaitable[tuple[SourceStatus, ...]]],
    ) -> None:
        self._registry = registry
        self._planners = planners
        self._runs = runs
        self._store = store
        self._store_id = store_id
        self._queues = queues
        self._redactor = redactor
        self._sources = sources

    @activity.defn(name=OPEN_RUN)
    async def open_run(self, request: OpenRunInput) -> OpenedRun:
        """Store the run's brief once and return the catalog's limits and the store's identity."""
        with codes_only():
            async with attempt() as current:
                request = of_run(request)
                brief = self._brief(request, await self._sources())
                stored = await self._runs.open(
                    request.run_id,
                    brief.model_dump_json().encode(),
                    expires_at_ms=request.expires_at_ms,
                    now_ms=current.now_ms(),
                )
                return await asyncio.to_thread(self._opened, brief, stored)

    @activity.defn(name=SETTLE_CALLS)
    async def settle_calls(self, request: SettleCallsInput) -> SettledCalls:
        """Settle each call ERROR, unless it is settled already; leave a tombstone where there is no record."""
        with codes_only():
            async with attempt() as current:
                request = of_run(request)
                outcomes = [
                    await self._settle(lost, request.run_id, request.expires_at_ms, current.now_ms())
                    for lost in request.calls
                ]
                return SettledCalls(outcomes=tuple(outcomes))

    @activity.defn(name=CLOSE_RUN)
    async def close_run(self, request: CloseRunInput) -> None:
        """Write the run's summary, once."""
        with codes_only():
            async with attempt() as current:
                summary = request.result.model_dump_json().encode()
                await self._runs.put_summary(request.result.run_id, summary, now_ms=current.now_ms())

    def _brief(self, request: OpenRunInput, sources: tuple[SourceStatus, ...]) -> RunBrief:
        return RunBrief(
            run_id=request.run_id,
            workflow_id=activity.info().workflow_id or "",
            question=request.question,
            planner=request.planner,
            runbook=request.runbook,
            catalog=catalog_of(self._registry, self._queues),
            sources=sources,
            deadline_ms=request.deadline_ms,
            expires_at_ms=request.expires_at_ms,
        )

    def _opened(self, brief: RunBrief, stored: bytes) -> OpenedRun:
        try:
            kept = RunBrief.model_validate_json(stored)
        except ValidationError:
            kept = None
        if kept is None or (kept.run_id, kept.question) != (brief.run_id, brief.question):
            message = "the store holds the index of another run under this run's key"
            return OpenedRun(fault=call_error(ErrorCode.RUN_MISMATCH, message))
        planner = self._planners.get(brief.planner.kind)
        if planner is None:
            known = ", ".join(sorted(self._planners)) or "none"
            message = f"this worker has no planner {brief.planner.kind!r}; it has: {known}"
            return OpenedRun(fault=call_error(ErrorCode.UNKNOWN_TOOL, message))
        fault = planner.check(kept)
        return OpenedRun(
            tools={entry.name: entry.limits for entry in kept.catalog},
            store_id=self._store_id,
            expires_at_ms=kept.expires_at_ms if kept.expires_at_ms != brief.expires_at_ms else None,
            fault=call_error(ErrorCode.INVALID_ARGUMENTS, self._redactor.message(fault)) if fault else None,
        )

    async def _settle(self, lost: LostCall, run_id: str, expires_at_ms: int, now_ms: int) -> ToolCallOutcome:
        call = AdmittedCall(
            run_id=run_id,
            tool_call_id=lost.tool_call_id,
            tool_name=lost.tool_name,
            arguments=lost.arguments,
            turn=lost.turn,
            position=lost.position,
            call_index=lost.call_index,
            grant=Grant(deadline_ms=now_ms, expires_at_ms=expires_at_ms, bytes=lost.bytes, timeout_ms=0, attempts=1),
        )
        try:
            begun = await self._store.begin(call, nonce="finalizer", now_ms=now_ms, verdict=lost.error)
        except (DuplicateToolCallId, RunMismatch, RecordExpired) as error:
            return unrecorded(call_error(error.code or lost.error.code, error.message))
        stored = begun.stored if isinstance(begun, Settled) else begun.held
        return stored.outcome(preview_chars=0)
