"""What a client asks of Temporal about runs: start, find, stop, cancel, who serves them.

Above: the commands. Below: `casebound.temporal`'s clients and the workflow's interface. A run is
named by its run id (the first execution of its chain) or its workflow id; every operation goes
to the chain's current execution.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from activities.contracts import RECORD_TTL_MARGIN_S, RunInput, RunResult, Steering, StopInput, StopResult
from boundary.contracts import shorten
from boundary.errors import CaseboundError
from casebound import search_attributes
from casebound.cli_durations import format_duration
from workflows.attributes import STARTED

_Answer = TypeVar("_Answer")

WORKFLOW_TYPE = "AgentRun"
"""Of a run; workflows of others are none of ours."""

SUMMARY_MAX = 200
"""Characters of the summary by which the Temporal UI shows a run."""

STEER_WAIT_S = 15.0
"""An update is taken by a worker; without one it would wait for ever."""

STEER_AGAIN_S = 0.05
"""Between two tries; one step of a run takes less."""

POLLER_WAIT_S = 5.0
POLLER_FRESH = timedelta(seconds=75)
"""A worker's poll lasts up to 60 s, and the server remembers dead workers for minutes."""

_MARKUP = str.maketrans({"<": "\\<", "`": "'", "*": "\\*", "_": "\\_"})
"""What would read as Markdown or HTML in the Temporal UI."""

_RUN_ID = re.compile(r"[0-9a-fA-F-]{36}")
"""What Temporal makes run ids of; nothing else is put into a query."""


class RunNotFound(CaseboundError):
    """Neither Temporal nor the store knows the run."""


class RecordTtlTooShort(CaseboundError):
    """The evidence would expire before the run could end."""


@dataclass(frozen=True)
class FoundRun:
    """A run's chain as Temporal knows it."""

    workflow_id: str
    run_id: str
    """First execution run id."""
    status: WorkflowExecutionStatus | None
    """Of the current execution."""
    question: str
    started_at: datetime
    """When the chain's first execution started."""
    closed_at: datetime | None
    task_queue: str

    @property
    def running(self) -> bool:
        """Tell whether the run has not ended."""
        return self.status is WorkflowExecutionStatus.RUNNING


@dataclass(frozen=True)
class StartedRun:
    """A run that was just started."""

    handle: WorkflowHandle[Any, RunResult]
    run_id: str
    not_listed_by: tuple[str, ...] = ()
    """casebound's search attributes that the server does not have."""


def check_record_ttl(deadline: timedelta, ttl: timedelta | None) -> None:
    """Refuse a time to live of records that the run could outlive; the run's input refuses it, too.

    Raises:
        RecordTtlTooShort: with the shortest that would do.
    """
    least = deadline + timedelta(seconds=RECORD_TTL_MARGIN_S)
    if ttl is not None and ttl < least:
        raise RecordTtlTooShort(
            f"a record TTL of {format_duration(ttl)} is too short: evidence outlives the deadline of "
            f"{format_duration(deadline)} by {RECORD_TTL_MARGIN_S}s; give at least {format_duration(least)}"
        )


def new_workflow_id() -> str:
    """Make a workflow id that sorts by time and is never used again."""
    return f"casebound-{uuid7(time.time_ns() // 1_000_000, os.urandom(10))}"


def uuid7(unix_ms: int, random: bytes) -> uuid.UUID:
    """Make a version 7 UUID (RFC 9562) of a time and 10 random bytes."""
    value = (unix_ms & (2**48 - 1)) << 80 | int.from_bytes(random, "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


async def start_run(client: Client, request: RunInput, *, task_queue: str, source: str) -> StartedRun:
    """Start a run of the request; the search attributes the server knows are asked for here."""
    from workflows.agent_run import AgentRun

    known = await search_attributes.recently_known(client)
    request = request.model_copy(update={"search_attributes": known})
    workflow_id = new_workflow_id()
    planner = f"{request.planner.kind} {request.planner.name}".strip()
    summary = shorten(request.question, SUMMARY_MAX)
    started = await client.start_workflow(
        AgentRun.run,
        request,
        id=workflow_id,
        task_queue=task_queue,
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        static_summary=summary,
        static_details=_details(request, planner, source),
        memo={"question": summary, "planner": planner, "source": source},
        search_attributes=_owner_attribute(request.owner, known),
    )
    missing = tuple(name for name in search_attributes.ALL if name not in known)
    return StartedRun(run_handle(client, workflow_id), started.first_execution_run_id or "", missing)


def run_handle(client: Client, workflow_id: str) -> WorkflowHandle[Any, RunResult]:
    """Address the current execution of a run, whatever continued or reset it."""
    from workflows.agent_run import AgentRun

    return client.get_workflow_handle_for(AgentRun.run, workflow_id)


async def steer(handle: WorkflowHandle[Any, Any], update: str, request: Steering, answer: type[_Answer]) -> _Answer:
    """Send one of the run's updates; returns its answer once a worker took it.

    Args:
        handle: of the run.
        update: its name.
        request: its argument.
        answer: its result's type.

    Raises:
        TimeoutError: no worker took it within `STEER_WAIT_S`.
        WorkflowUpdateFailedError: the run refuses it; the cause says why.
    """
    sent = asyncio.create_task(_taken(handle, update, request, answer))
    try:
        # Not `asyncio.timeout`: the SDK turns the cancellation of a waiting update into an error of its own.
        await asyncio.wait({sent}, timeout=STEER_WAIT_S)
        if not sent.done():
            raise TimeoutError
        return sent.result()
    finally:
        sent.cancel()
        await asyncio.gather(sent, return_exceptions=True)


async def _taken(handle: WorkflowHandle[Any, Any], update: str, request: Steering, answer: type[_Answer]) -> _Answer:
    """Ask until the run says something: an update that meets the run's very next step is turned away by the server."""
    update_id = str(uuid.uuid4())
    while True:
        try:
            return await handle.execute_update(update, request, id=update_id, result_type=answer)
        except RPCError as error:
            if error.status is not RPCStatusCode.FAILED_PRECONDITION:
                raise
        await asyncio.sleep(STEER_AGAIN_S)


async def stop_run(handle: WorkflowHandle[Any, Any], reason: str) -> StopResult:
    """Ask the run to conclude with the evidence at hand. Raises what `steer` does."""
    return await steer(handle, "stop", StopInput(reason=reason), StopResult)


async def find_run(client: Client, name: str) -> FoundRun | None:
    """Find a run by workflow id or run id; None if Temporal does not know it (any more)."""
    found = await _describe(client, name)
    if found is None and _RUN_ID.fullmatch(name):
        async for execution in client.list_workflows(f"RunId = '{name}'", page_size=1):
            return await _describe(client, execution.id)
    return found


async def has_worker(client: Client, task_queue: str, wait_s: float = POLLER_WAIT_S) -> bool:
    """Wait until some worker polls the queue for workflows; False if none does in time."""
    give_up = time.monotonic() + wait_s
    while not await _polled(client, task_queue):
        if time.monotonic() >= give_up:
            return False
        await asyncio.sleep(0.25)
    return True


async def _polled(client: Client, task_queue: str) -> bool:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(request)
    oldest = datetime.now(UTC) - POLLER_FRESH
    return any(poller.last_access_time.ToDatetime(UTC) >= oldest for poller in answer.pollers)


async def _describe(client: Client, workflow_id: str) -> FoundRun | None:
    try:
        described = await client.get_workflow_handle(workflow_id).describe()
    except RPCError as error:
        if error.status in (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT):
            return None
        raise
    if described.workflow_type != WORKFLOW_TYPE:
        return None
    info, memo = described.raw_description.workflow_execution_info, await described.memo()
    return FoundRun(
        workflow_id=described.id,
        run_id=info.first_run_id or described.run_id,
        status=described.status,
        # The executions a long run goes on in have no summary, but its memo.
        question=await described.static_summary() or memo.get("question", ""),
        started_at=first_start(memo, described.start_time),
        closed_at=described.close_time,
        task_queue=described.task_queue,
    )


def first_start(memo: Mapping[str, Any], start: datetime) -> datetime:
    """When a run started: an execution that it goes on in has it in its memo, and a start of its own."""
    started_ms = memo.get(STARTED)
    return start if started_ms is None else datetime.fromtimestamp(started_ms / 1000, UTC)


def _details(request: RunInput, planner: str, source: str) -> str:
    """Say in Markdown who asked, with what and within which limits; short, since it stays in the history."""
    limits = request.limits
    deadline, kept = timedelta(seconds=request.deadline_s), timedelta(seconds=request.ttl_s)
    lines = [
        f"asked by {request.owner or 'nobody named'}, {planner}" + (f" ({source})" if source else ""),
        f"deadline {format_duration(deadline)}, evidence kept {format_duration(kept)}; {limits.max_tool_calls} calls, "
        f"{limits.max_turns} turns, {limits.max_run_bytes} bytes",
    ]
    if len(request.question) > SUMMARY_MAX:
        lines.insert(0, request.question)
    return "\n\n".join(" ".join(line.split()).translate(_MARKUP) for line in lines)


def _owner_attribute(owner: str, known: tuple[str, ...]) -> TypedSearchAttributes:
    if not owner or search_attributes.OWNER.name not in known:
        return TypedSearchAttributes.empty
    return TypedSearchAttributes([SearchAttributePair(search_attributes.OWNER, owner)])
