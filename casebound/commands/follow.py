"""Follows a run to its end: shows progress, passes interrupts on, notices when its servers are gone."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, CancelledError, TerminatedError
from temporalio.service import RPCError

from activities.contracts import RunResult
from casebound.cli_errors import Exit
from casebound.client import stop_run
from casebound.commands.interrupts import interrupts
from casebound.progress import ProgressView, show_last, watch


@dataclass(frozen=True)
class Ending:
    """How following a run ended."""

    result: RunResult | None = None
    cancelled: bool = False
    failure: str = ""
    """Why there is no result though nobody cancelled."""
    lost: bool = False
    """The embedded stack is gone: nothing can be read any more."""


async def follow(
    handle: WorkflowHandle[Any, RunResult], view: ProgressView, *, lost: asyncio.Future[str] | None, unheard: str
) -> Ending:
    """Wait for the run's end."""
    with interrupts() as pressed:
        result = asyncio.create_task(_ending(handle))
        beside = [
            asyncio.create_task(watch(handle, view, unheard)),
            asyncio.create_task(_pass_on(pressed, handle, view)),
        ]
        waits = {result, lost} if lost is not None else {result}
        try:
            await asyncio.wait({*waits, *beside}, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                await show_last(handle, view)
                return result.result()
            if lost is not None and lost.done():
                return Ending(failure=f"the embedded stack was lost: {lost.result()}", lost=True)
            for task in beside:
                if task.done():
                    task.result()
            raise AssertionError("progress and interrupts are followed until the run ends")
        finally:
            await _end([result, *beside, *([lost] if lost is not None else [])])
            view.close()


async def _end(tasks: list[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ending(handle: WorkflowHandle[Any, RunResult]) -> Ending:
    try:
        return Ending(result=await handle.result())
    except WorkflowFailureError as error:
        return Ending(cancelled=isinstance(error.cause, CancelledError), failure=failure_text(error.cause))
    except RPCError as error:
        return Ending(failure=f"Temporal does not answer any more: {error.message}")


def failure_text(cause: BaseException) -> str:
    """Say why a run has no result; nothing of a cancelled one, whose summary does."""
    if isinstance(cause, CancelledError):
        return ""
    if isinstance(cause, TerminatedError):
        return f"the run was terminated: {cause.message}"
    if isinstance(cause, ApplicationError):
        return f"the workflow failed: {cause.message}"
    return f"the workflow ended without a result: {type(cause).__name__}"


async def _pass_on(pressed: asyncio.Queue[int], handle: WorkflowHandle[Any, Any], view: ProgressView) -> None:
    stopping: asyncio.Task[None] | None = None
    try:
        while True:
            count = await pressed.get()
            if count == 1:
                view.say("stopping: the run concludes with the evidence at hand (Ctrl-C again: cancel it)")
                stopping = asyncio.create_task(_stop(handle, view))
            elif count == 2:
                view.say("cancelling (Ctrl-C again: leave at once)")
                with suppress(RPCError):
                    await handle.cancel()
            else:
                view.close()
                # The keeper sees the end of this process and ends the servers.
                os._exit(Exit.CANCELLED)
    finally:
        if stopping is not None:
            stopping.cancel()


async def _stop(handle: WorkflowHandle[Any, Any], view: ProgressView) -> None:
    try:
        await stop_run(handle, "interrupted at the command line")
    except WorkflowUpdateFailedError as error:
        view.say(f"the run does not take the stop: {getattr(error.cause, 'message', error.cause)}")
    except RPCError as error:
        view.say(f"the stop did not reach the run: {error.message}")
