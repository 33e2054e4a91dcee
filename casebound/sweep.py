"""Settles the records that ended runs left PROJECTING: who was terminated could not do it itself.

Above: `casebound sweep`. Below: Temporal, which says how a run's chain stands, and the store.

A live run is never touched. For each run its records are read first, then Temporal is asked for the
chain's current execution (its own state, not the search index that lags behind), and only if that has
ended is a record settled, provided that it is byte for byte as it was read: an execution that a reset
began after the question has taken the call over by then, or finds a settled record, never a broken one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from pydantic import ValidationError
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.stored import RunBrief, StoredTurn
from boundary.contracts import CallError, Frozen, call_error
from boundary.errors import ErrorCode
from boundary.ids import is_tool_call_id
from boundary.record import at
from boundary.run_index import IndexedRun
from boundary.store import StoredInvocation
from casebound.cli_durations import format_duration
from casebound.cli_errors import UsageError
from casebound.run_view import EvidenceStore

ASK_TIMEOUT = timedelta(seconds=5)
"""One question about one run, its repetitions included."""


class ChainState(StrEnum):
    """How the current execution of a run's chain stands."""

    RUNNING = "running"
    """Or paused, or anything else that Temporal does not call an end."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TERMINATED = "terminated"
    TIMED_OUT = "timed out"
    FORGOTTEN = "forgotten"
    """Temporal does not know it, or not any more."""
    UNKNOWN = "unknown"
    """It could not be learnt."""


_ENDED = {
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED: ChainState.COMPLETED,
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED: ChainState.FAILED,
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED: ChainState.CANCELLED,
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED: ChainState.TERMINATED,
    WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TIMED_OUT: ChainState.TIMED_OUT,
}


class SweptCall(Frozen):
    """A call whose record was settled, or in a rehearsal would have been."""

    tool_call_id: str
    tool_name: str
    code: ErrorCode


class SweptRun(Frozen):
    """What was found of one run, and done about it."""

    run_id: str
    workflow_id: str = ""
    question: str = ""
    state: ChainState = ChainState.UNKNOWN
    settled: tuple[SweptCall, ...] = ()
    skipped: str | None = None
    """Why nothing of it was touched, if not because it runs."""


@dataclass(frozen=True)
class Sweep:
    """Settles run by run."""

    client: Client
    store: EvidenceStore
    forgotten_after: timedelta | None
    """A run that Temporal does not know has ended if its newest record is at least this old; None: that is never sure.

    In a namespace that is not the run's, Temporal does not know it either. In the right one it forgets a run not
    before the retention time after its end, so a younger one is somebody else's, or was deleted by hand.
    """
    dry_run: bool = False

    async def settle(self, run_id: str) -> SweptRun | None:
        """Settle what the run left, if it has ended; None: the store keeps nothing of it any more.

        Raises:
            StoreUnavailable: the store did not answer.
        """
        now_ms = await self.store.backend.now_ms()
        index = await self.store.runs.read(run_id, now_ms=now_ms)
        if index is None:
            return None
        try:
            brief = RunBrief.model_validate_json(index.brief)
            call_ids = _call_ids(index)
        except ValidationError:
            return SweptRun(run_id=run_id, skipped="its index cannot be read by this version")
        run = SweptRun(run_id=run_id, workflow_id=brief.workflow_id, question=brief.question)
        if brief.run_id != run_id:
            return run.model_copy(update={"skipped": "its index is that of another run"})
        found = await self.store.invocations.read(run_id, call_ids, now_ms=now_ms, agent=False)
        own = [stored for stored in found.values() if stored.record.run_id == run_id]
        return await self._settle(run, own, now_ms)

    async def _settle(self, run: SweptRun, found: list[StoredInvocation], now_ms: int) -> SweptRun:
        left = [stored for stored in found if not stored.record.settled]
        state, doubt = await self._ask(run)
        if state is ChainState.FORGOTTEN and left:
            quiet = at(now_ms) - max(stored.record.created_at for stored in found)
            doubt = self._too_young(quiet)
        if doubt is not None or state not in (*_ENDED.values(), ChainState.FORGOTTEN):
            return run.model_copy(update={"state": state, "skipped": doubt})
        error = _error(state)
        settled = tuple([one for stored in left if (one := await self._settle_one(stored, error)) is not None])
        return run.model_copy(update={"state": state, "settled": settled})

    async def _settle_one(self, stored: StoredInvocation, error: CallError) -> SweptCall | None:
        if not self.dry_run:
            now_ms = await self.store.backend.now_ms()
            if await self.store.invocations.settle_lost(stored, error, now_ms=now_ms) is None:
                return None
        record = stored.record
        return SweptCall(tool_call_id=record.tool_call_id, tool_name=record.tool_name, code=error.code)

    async def _ask(self, run: SweptRun) -> tuple[ChainState, str | None]:
        """Ask Temporal for the chain's current execution; returns its state and what speaks against believing it."""
        request = DescribeWorkflowExecutionRequest(
            namespace=self.client.namespace, execution=WorkflowExecution(workflow_id=run.workflow_id)
        )
        try:
            described = await self.client.workflow_service.describe_workflow_execution(
                request, retry=True, timeout=ASK_TIMEOUT
            )
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return ChainState.FORGOTTEN, None
            return ChainState.UNKNOWN, f"Temporal does not say how it stands: {error.message}"
        info = described.workflow_execution_info
        if (info.first_run_id or info.execution.run_id) != run.run_id:
            return ChainState.UNKNOWN, f"Temporal knows another run as {run.workflow_id!r}"
        return _ENDED.get(info.status, ChainState.RUNNING), None

    def _too_young(self, quiet: timedelta) -> str | None:
        if self.forgotten_after is not None and quiet >= self.forgotten_after:
            return None
        kept = f", which keeps ended runs for {format_duration(self.forgotten_after)}," if self.forgotten_after else ""
        return f"namespace {self.client.namespace!r}{kept} does not know it: is it the run's own?"


async def retention(client: Client) -> timedelta | None:
    """Learn how long the client's namespace keeps ended runs; None: for ever, or it is not told.

    Raises:
        UsageError: there is no such namespace, or Temporal does not answer.
    """
    try:
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace), retry=True, timeout=ASK_TIMEOUT
        )
    except RPCError as error:
        if error.status in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED):
            return None
        if error.status is RPCStatusCode.NOT_FOUND:
            raise UsageError(
                f"there is no namespace {client.namespace!r}; name that of the runs with TEMPORAL_NAMESPACE"
            ) from error
        raise UsageError(f"Temporal does not answer: {error.message}") from error
    return described.config.workflow_execution_retention_ttl.ToTimedelta() or None


def _call_ids(index: IndexedRun) -> list[str]:
    """Name the calls of every stored turn: a reset leaves branches that the last turn does not descend from."""
    turns: Iterable[StoredTurn] = (StoredTurn.model_validate_json(text) for text in index.turns.values())
    ids = [call.tool_call_id for stored in turns for call in stored.turn.calls]
    return list(dict.fromkeys(one for one in ids if isinstance(one, str) and is_tool_call_id(one)))


def _error(state: ChainState) -> CallError:
    if state is ChainState.CANCELLED:
        return call_error(ErrorCode.CANCELLED, "the run was cancelled before this call ended")
    return call_error(ErrorCode.WORKER_LOST, "the run ended before this call did")
