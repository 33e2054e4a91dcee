"""`casebound cancel`: end a run without a report. And what every command needs that acts on a running one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from temporalio.client import WorkflowFailureError
from temporalio.service import RPCError

from casebound.cli_errors import Exit, UsageError, say
from casebound.client import FoundRun, find_run, run_handle
from casebound.commands.session import Session, open_session
from casebound.settings import load_settings

END_WAIT_S = 60.0
"""A run that concludes asks its planner once more."""


async def cancel(run: str, config: Path | None) -> int:
    """Ask Temporal to cancel the run; its records are settled, then it ends Cancelled."""
    async with open_session(load_settings(config), serve=True) as session:
        found = await running(session, run)
        try:
            await run_handle(session.client, found.workflow_id).cancel()
        except RPCError as error:
            raise UsageError(f"the run cannot be cancelled: {error.message}") from error
        say(f"cancellation requested of run {found.run_id}")
        await ended(session, found)
        return Exit.OK


async def running(session: Session, run: str) -> FoundRun:
    """Find a run that has not ended.

    Raises:
        RunNotFound: nobody knows it.
        UsageError: it has ended.
    """
    found = await find_run(session.client, run)
    if found is None:
        raise session.no_run(run)
    if not found.running:
        status = found.status.name.lower() if found.status else "closed"
        raise UsageError(f"run {found.run_id} has ended ({status}): there is nothing to end or to steer")
    return found


async def ended(session: Session, found: FoundRun) -> None:
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
