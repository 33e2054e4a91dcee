"""Replays a recorded history with the workflow code at hand, and says what else the code asks for.

Above: `casebound replay`, the pytest fixture and tests. Below: Temporal's Replayer, which compares kinds and
order of commands; `replay_listening` and `replay_comparing` see the rest. A replay runs in a thread of its own,
because the SDK's core can stop answering over a history it does not understand, and no cancellation ends that.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar, cast

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import Replayer, WorkflowRunner
from temporalio.workflow import _Definition

from boundary.errors import CaseboundError
from casebound.converter import casebound_data_converter
from casebound.replay_comparing import differences, left_out
from casebound.replay_faults import explain
from casebound.replay_listening import ListeningRunner
from casebound.replay_payloads import decoded
from casebound.replay_verdict import Fault, FaultKind, Verdict
from casebound.temporal import quiet_runtime
from casebound.worker import sandbox
from workflows.agent_run import AgentRun

REPLAY_LIMIT_S = 30.0
"""Longest wait for one history; a thousand events take a fifth of a second."""

LISTED_MAX = 50
"""Differences told of one history."""

_T = TypeVar("_T")


class NotReplayable(CaseboundError):
    """The events are not a history that could be replayed; the message says why."""


def check_history(history: WorkflowHistory, *, workflow_types: Sequence[str | None] = ("AgentRun",)) -> None:
    """Refuse what the SDK's core would not answer to.

    Raises:
        NotReplayable: it is no whole history, or one of another workflow.
    """
    events = history.events
    if not events or not events[0].HasField("workflow_execution_started_event_attributes"):
        raise NotReplayable("it does not begin with the event WorkflowExecutionStarted")
    started = events[0].workflow_execution_started_event_attributes
    if None not in workflow_types and started.workflow_type.name not in workflow_types:
        expected = " or ".join(str(name) for name in workflow_types)
        raise NotReplayable(f"it is of the workflow type {started.workflow_type.name!r}, not {expected}")
    if not started.original_execution_run_id or not started.task_queue.name:
        raise NotReplayable("its first event lacks the run id or the task queue; download it again, whole")
    for number, event in enumerate(events, 1):
        if event.event_id != number:
            raise NotReplayable(f"event {number} is missing, or events are out of order; download it again, whole")
        if event.event_type == EventType.EVENT_TYPE_UNSPECIFIED or event.WhichOneof("attributes") is None:
            raise NotReplayable(f"event {number} is of a type that is not known here")


async def replay(
    history: WorkflowHistory,
    *,
    timeout_s: float = REPLAY_LIMIT_S,
    workflows: Sequence[type] = (AgentRun,),
    runner: WorkflowRunner | None = None,
    data_converter: DataConverter = casebound_data_converter,
) -> Verdict:
    """Replay one history.

    Args:
        history: as fetched, or read from a file.
        timeout_s: after that it is given up; the verdict says so.
        workflows: the code to replay it with.
        runner: None: the worker's sandbox.
        data_converter: the clients' own, where histories are encrypted or their payloads kept elsewhere.

    Raises:
        NotReplayable: it is no whole history, or one of another workflow.
    """
    check_history(history, workflow_types=[_type_of(workflow) for workflow in workflows])
    events = history.events
    started = events[0].workflow_execution_started_event_attributes
    reset_at, run_id = _last_reset(events)
    told = Verdict(history.workflow_id, run_id or started.original_execution_run_id, len(events))
    if not any(event.HasField("workflow_task_completed_event_attributes") for event in events):
        return told  # No code has run yet; the core would wait for ever.
    listening = ListeningRunner(runner or sandbox(), told.run_id)

    async def carry_out() -> BaseException | None:
        pool = ThreadPoolExecutor(1, thread_name_prefix="replay")
        replayer = Replayer(
            workflows=workflows,
            workflow_task_executor=pool,
            workflow_runner=listening,
            data_converter=data_converter,
            runtime=quiet_runtime(),
        )
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        pool.shutdown(wait=False)
        return result.replay_failure

    try:
        error = await _in_a_thread(carry_out, timeout_s)
    except TimeoutError:
        return replace(told, fault=Fault(FaultKind.TIMEOUT, f"no answer within {timeout_s:g} s"))
    fault = None if error is None else explain(error, events, listening.heard)
    plain = (await decoded(history, data_converter)).events
    # What follows a fault is another story.
    until = len(plain) if fault is None or fault.event_id is None else fault.event_id - 1
    # What is before a reset was asked for by an execution of another id.
    found = (one for one in differences(plain[:until], listening.heard) if one.event_id > reset_at)
    listed = tuple(itertools.islice(found, LISTED_MAX))
    more = sum(1 for _ in found)
    return replace(told, fault=fault, differences=listed, differences_more=more, not_compared=left_out(plain))


def _last_reset(events: Sequence[HistoryEvent]) -> tuple[int, str]:
    """Find where the execution was reset last, and its run id since then; (0, ""): it never was."""
    for event in reversed(events):
        failed = event.workflow_task_failed_event_attributes
        if failed.cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW:
            return event.event_id, failed.new_run_id
    return 0, ""


def _type_of(workflow: type) -> str | None:
    """Name the workflow's type; None: it takes any."""
    return _Definition.must_from_class(workflow).name


async def _in_a_thread(work: Callable[[], Coroutine[Any, Any, _T]], timeout_s: float) -> _T:
    """Carry out the work on a loop of its own, which is left behind if it takes longer.

    Raises:
        TimeoutError: it did.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def tell(value: _T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(cast(_T, value))

    def carry_out() -> None:
        value, error = None, None
        try:
            value = asyncio.run(work())
        except BaseException as raised:  # whatever it is, it is the caller's
            error = raised
        with contextlib.suppress(RuntimeError):  # the caller's loop may be closed by now
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=carry_out, name="replay", daemon=True).start()
    return await asyncio.wait_for(done, timeout_s)
