"""`casebound pause`, `resume`, `extend`, `note` and `stop`: steer a run that goes on.

Above: `cli`. Below: the workflow's updates, through `client.steer`. Each says what happened; what the
run refuses is told in the run's own words.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from temporalio.client import WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from activities.contracts import (
    ExtendInput,
    ExtendResult,
    NoteInput,
    NoteResult,
    PauseInput,
    PauseResult,
    ResumeInput,
    ResumeResult,
    Steering,
    StopInput,
    StopResult,
)
from casebound.cli_durations import format_duration
from casebound.cli_errors import Exit, UsageError, say
from casebound.client import STEER_WAIT_S, FoundRun, run_handle, steer
from casebound.commands.control import ended, running
from casebound.commands.session import Session, open_session
from casebound.settings import load_settings

_Answer = TypeVar("_Answer")
_Request = TypeVar("_Request", bound=Steering)


@dataclass(frozen=True)
class Steered:
    """Which run is steered, by whom, with what configuration."""

    run: str
    by: str
    config: Path | None


async def stop(command: Steered, reason: str) -> int:
    """Ask the run to conclude now with the evidence at hand."""
    request = _said(StopInput, by=command.by, reason=reason)
    async with _steering(command) as steering:
        say("stopping ...")
        await steering.send("stop", request, StopResult)
        await ended(steering.session, steering.found)
        say(f"run {steering.run_id} concludes with the evidence at hand; casebound show {steering.run_id}")
    return Exit.OK


async def pause(command: Steered, reason: str) -> int:
    """Let running calls end and start no new ones."""
    request = _said(PauseInput, by=command.by, reason=reason)
    async with _steering(command) as steering:
        paused = await steering.send("pause", request, PauseResult)
        running = {0: "no call runs", 1: "the call that runs ends"}
        calls = running.get(paused.calls_running, f"the {paused.calls_running} calls that run end")
        say(f"run {steering.run_id} is paused: {calls}, no new one starts; casebound resume {steering.run_id}")
        say(f"it concludes at {_time(paused.gather_until_ms)} if it is still paused then; casebound extend moves that")
    return Exit.OK


async def resume(command: Steered) -> int:
    """Let a paused run go on."""
    request = _said(ResumeInput, by=command.by)
    async with _steering(command) as steering:
        resumed = await steering.send("resume", request, ResumeResult)
        paused = format_duration(timedelta(milliseconds=resumed.paused_ms))
        say(f"run {steering.run_id} goes on after {paused}, until {_time(resumed.gather_until_ms)}")
    return Exit.OK


async def extend(command: Steered, by: timedelta) -> int:
    """Move the deadline of a run."""
    request = _said(ExtendInput, by=command.by, seconds=by.total_seconds())
    async with _steering(command) as steering:
        extended = await steering.send("extend", request, ExtendResult)
        until = _time(extended.gather_until_ms)
        say(f"the deadline of run {steering.run_id} is {_time(extended.deadline_ms)} now; it gathers until {until}")
        say(f"it can move until {_time(extended.latest_ms)}: its evidence expires soon after")
    return Exit.OK


async def note(command: Steered, text: str) -> int:
    """Give the planner a hint."""
    request = _said(NoteInput, by=command.by, text=text)
    async with _steering(command) as steering:
        noted = await steering.send("note", request, NoteResult)
        others = f", with {noted.notes_pending - 1} more" if noted.notes_pending > 1 else ""
        say(f"the planner of run {steering.run_id} is given the note with turn {noted.turn}{others}")
    return Exit.OK


@dataclass(frozen=True)
class _Steering:
    """An open session, and the run in it."""

    session: Session
    found: FoundRun

    @property
    def run_id(self) -> str:
        """By which people name the run."""
        return self.found.run_id

    async def send(self, update: str, request: Steering, answer: type[_Answer]) -> _Answer:
        """Send an update.

        Raises:
            UsageError: the run refuses it, has ended, or has no worker.
        """
        handle = run_handle(self.session.client, self.found.workflow_id)
        try:
            return await steer(handle, update, request, answer)
        except TimeoutError as error:
            raise UsageError(
                f"no worker took the {update} within {STEER_WAIT_S:.0f} s (task queue {self.found.task_queue!r}); it "
                f"may still take effect once one does: look with `casebound show {self.run_id}` before you repeat it"
            ) from error
        except WorkflowUpdateFailedError as error:
            why = getattr(error.cause, "message", error.cause)
            raise UsageError(f"the run does not take the {update}: {why}") from error
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            raise UsageError(f"run {self.found.run_id} has ended meanwhile: there is nothing to {update}") from error


@asynccontextmanager
async def _steering(command: Steered) -> AsyncGenerator[_Steering]:
    settings = load_settings(command.config)
    async with open_session(settings, serve=True) as session:
        yield _Steering(session, await running(session, command.run))


def _said(kind: type[_Request], **said: object) -> _Request:
    """Make an update's argument of what was said on the command line.

    Raises:
        UsageError: a text is empty or too long, or a time is none that can be.
    """
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
