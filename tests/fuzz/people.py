"""What people do to a run while it goes on: ask for its progress, stop it, cancel it; at any moment, also too late.

Above: the stage lets them act on each run. Below: a workflow's handle. What they were told is kept for the judge.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from activities.contracts import RunProgress, RunResult
from casebound.client import stop_run
from tests.fuzz.scripts import Action
from workflows.agent_run import AgentRun

LOOKS = 3
UNANSWERED = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED, RPCStatusCode.FAILED_PRECONDITION)
"""A busy worker may let the server's 10 s for a query pass, or the client's own; one that stood still, its polls."""

RunHandle = WorkflowHandle[AgentRun, RunResult]


@dataclass
class Told:
    """What a run answered."""

    progress: list[RunProgress] = field(default_factory=list)
    stops: int = 0
    """Accepted ones."""
    cancels: int = 0
    """Sent before the run was over, as far as the server said."""


async def act(handle: RunHandle, action: Action, asked: asyncio.Event, told: Told) -> None:
    """Wait for the action's moment, then do it as often as it says, side by side."""
    await asked.wait()
    await asyncio.sleep(action.wait_s)
    does = {"progress": _look, "stop": _stop, "cancel": _cancel}[action.kind]
    await asyncio.gather(*[does(handle, action, told) for _ in range(action.times)])


async def _look(handle: RunHandle, action: Action, told: Told) -> None:
    for _ in range(LOOKS):
        try:
            told.progress.append(await handle.query(AgentRun.progress))
        except RPCError as error:
            if error.status not in UNANSWERED:
                raise
        else:
            return
    raise AssertionError(f"{LOOKS} queries were not answered")


async def _stop(handle: RunHandle, action: Action, told: Told) -> None:
    try:
        await stop_run(handle, action.reason)
    except WorkflowUpdateFailedError:  # too late, or cancelled: it says so
        return
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:  # the run is over
            raise
        return
    told.stops += 1


async def _cancel(handle: RunHandle, action: Action, told: Told) -> None:
    try:
        await handle.cancel()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return
    told.cancels += 1
