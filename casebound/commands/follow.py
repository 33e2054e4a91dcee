"""Follows a run to its end: shows progress, passes interrupts on, notices when its servers are gone."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError, CancelledError, TerminatedError
from temporalio.service import RPCError

from activities.contracts import RunResult
from casebound.cli_errors import Exit
from casebound.client import stop_run
from casebound.commands.interrupts import interrupts
from casebound.progress import ProgressView, show_last, watch

CANCEL_WAIT_S = 15.0
"""A cancelled run settles its records; without a worker it would never end."""

REQUEST_WAIT_S = 1.0
"""Who leaves at once has asked for the cancellation, too: it is out before, if Temporal takes it."""


@dataclass(frozen=True)
class Ending:
    """How following a run ended."""

    result: RunResult | None = None
    cancelled: bool = False
    failure: str = ""
    """Why there is no result though nobody cancelled."""
    lost: bool = False
    """The embedded stack is gone: nothing can be read any more."""
    left: Exit | None = None
    """The run goes on, for nobody answered an interrupt: leave with this exit code."""


async def follow(
    handle: WorkflowHandle[Any, RunResult],
    view: ProgressView,
    *,
    lost: asyncio.Future[str] | None,
    unheard: str,
    deadline: timedelta,
) -> Ending:
    """Wait for the run's end; after an interrupt that nobody answers, not for ever."""
    with interrupts() as pressed:
        given_up: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        result = asyncio.create_task(_ending(handle))
        beside = [
            asyncio.create_task(watch(handle, view, unheard, deadline)),
            asyncio.create_task(_pass_on(pressed, handle, view, given_up)),
        ]
        waits = {result, given_up, lost} if lost is not None else {result, given_up}
        try:
            await asyncio.wait({*waits, *beside}, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                await show_last(handle, view)
                return result.result()
            if lost is not None and lost.done():
                return Ending(failure=f"the embedded stack was lost: {lost.result()}", lost=True)
            if given_up.done():
                return given_up.result()
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


async def _pass_on(
    pressed: asyncio.Queue[int], handle: WorkflowHandle[Any, Any], view: ProgressView, given_up: asyncio.Future[Ending]
) -> None:
    acting: asyncio.Task[None] | None = None
    requested = asyncio.Event()
    try:
        while True:
            count = await pressed.get()
            if count == 1:
                view.say("stopping: the run concludes with the evidence at hand (Ctrl-C again: cancel it)")
                acting = asyncio.create_task(_stop(handle, view, given_up))
            elif count == 2:
                view.say("cancelling (Ctrl-C again: leave at once)")
                if acting is not None:
                    acting.cancel()
                acting = asyncio.create_task(_cancel(handle, given_up, requested))
            else:
                view.close()
                with suppress(TimeoutError):
                    async with asyncio.timeout(REQUEST_WAIT_S):
                        await requested.wait()
                # The keeper sees the end of this process and ends the servers.
                os._exit(Exit.CANCELLED)
    finally:
        if acting is not None:
            acting.cancel()


async def _stop(handle: WorkflowHandle[Any, Any], view: ProgressView, given_up: asyncio.Future[Ending]) -> None:
    try:
        await stop_run(handle, "interrupted at the command line")
    except TimeoutError:
        given_up.set_result(Ending(failure="no worker took the stop", left=Exit.FAILED))
    except WorkflowUpdateFailedError as error:
        view.say(f"the run does not take the stop: {getattr(error.cause, 'message', error.cause)}")
    except RPCError as error:
        view.say(f"the stop did not reach the run: {error.message}")


async def _cancel(handle: WorkflowHandle[Any, Any], given_up: asyncio.Future[Ending], requested: asyncio.Event) -> None:
    why = f"the run was cancelled but has not ended within {CANCEL_WAIT_S:.0f} s"
    with suppress(TimeoutError):
        async with asyncio.timeout(CANCEL_WAIT_S):
            try:
                await handle.cancel()
            except RPCError as error:
                why = f"the cancellation did not reach the run: {error.message}"
            requested.set()
            await asyncio.sleep(CANCEL_WAIT_S)
    given_up.set_result(Ending(failure=why, left=Exit.CANCELLED))
