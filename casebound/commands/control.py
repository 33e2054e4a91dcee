"""`casebound stop` and `casebound cancel`: end a run early, with a report or without."""

from __future__ import annotations

import asyncio
from pathlib import Path

from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.service import RPCError

from casebound.cli_errors import Exit, UsageError, say
from casebound.client import STOP_WAIT_S, FoundRun, find_run, run_handle, stop_run
from casebound.commands.session import Session, open_session
from casebound.settings import Settings, load_settings

END_WAIT_S = 60.0
"""A run that concludes asks its planner once more."""


async def cancel(run: str, config: Path | None) -> int:
    """Ask Temporal to cancel the run; its records are settled, then it ends Cancelled."""
    async with open_session(load_settings(config), serve=True) as session:
        found = await _running(session, run)
        try:
            await run_handle(session.client, found.workflow_id).cancel()
        except RPCError as error:
            raise UsageError(f"the run cannot be cancelled: {error.message}") from error
        say(f"cancellation requested of run {found.run_id}")
        await _ended(session, found)
        return Exit.OK


async def stop(run: str, reason: str, config: Path | None) -> int:
    """Ask the run to conclude now with the evidence at hand."""
    settings = load_settings(config)
    async with open_session(settings, serve=True) as session:
        found = await _running(session, run)
        say("stopping ...")
        await _stop(session, found, reason, settings)
        await _ended(session, found)
        say(f"run {found.run_id} concludes with the evidence at hand; casebound show {found.run_id}")
        return Exit.OK


async def _ended(session: Session, found: FoundRun) -> None:
    """On a stack that this command runs, be the worker with which the run ends."""
    if session.stack is None or session.stack.joined:
        return
    try:
        async with asyncio.timeout(END_WAIT_S):
            await run_handle(session.client, found.workflow_id).result()
    except WorkflowFailureError:
        return
    except TimeoutError:
        say("the run has not ended yet; it does when the configuration it was started with is used again")


async def _stop(session: Session, found: FoundRun, reason: str, settings: Settings) -> None:
    handle = run_handle(session.client, found.workflow_id)
    try:
        await stop_run(handle, reason)
    except TimeoutError as error:
        raise UsageError(
            f"no worker took the stop within {STOP_WAIT_S:.0f} s: start `casebound worker` on the task queue "
            f"{settings.worker.task_queue!r}"
        ) from error
    except WorkflowUpdateFailedError as error:
        raise UsageError(f"the run does not take the stop: {getattr(error.cause, 'message', error.cause)}") from error


async def _running(session: Session, run: str) -> FoundRun:
    found = await find_run(session.client, run)
    if found is None:
        raise session.no_run(run)
    if not found.running:
        status = found.status.name.lower() if found.status else "closed"
        raise UsageError(f"run {found.run_id} has ended ({status}): there is nothing to end")
    return found
