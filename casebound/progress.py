"""Live progress of a run on stderr: asks the `progress` query and shows what changed.

Above: `commands.follow`. Below: the workflow's query; a query stands in no history. On a
terminal `progress_live` draws a table in place; elsewhere each event is one line. Neither decides
anything.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol, TextIO

from temporalio.client import WorkflowHandle, WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.service import RPCError

from activities.contracts import CallProgress, Pause, RunProgress
from casebound.cli_text import one_line

POLL_S = 0.4
QUERY_TIMEOUT = timedelta(seconds=5)
"""A query waits for a worker this long."""

LAST_QUERY_TIMEOUT = timedelta(seconds=1)

UNHEARD_S = 8.0
"""After this long without an answer, say that no worker seems to have the run."""


class ProgressView(Protocol):
    """Shows a person how a run goes."""

    def update(self, progress: RunProgress) -> None:
        """Show the latest state."""
        ...

    def say(self, text: str) -> None:
        """Show one line that stays."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


async def watch(handle: WorkflowHandle[Any, Any], view: ProgressView, unheard: str, deadline: timedelta) -> None:
    """Ask and show until cancelled; failures to answer are not the run's, so they only delay the next."""
    from workflows.agent_run import AgentRun

    silence = asyncio.create_task(_tell_silence(view, unheard, time.time() + deadline.total_seconds()))
    try:
        while True:
            with suppress(RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
                progress = await handle.query(AgentRun.progress, rpc_timeout=QUERY_TIMEOUT)
                silence.cancel()
                view.update(progress)
                silence = asyncio.create_task(_tell_silence(view, unheard, progress.deadline_ms / 1000))
            await asyncio.sleep(POLL_S)
    finally:
        silence.cancel()


async def _tell_silence(view: ProgressView, unheard: str, ends: float) -> None:
    """Say what a person should know of a run that goes on unheard; beside the queries, which may take long to fail."""
    await asyncio.sleep(UNHEARD_S)
    view.say(unheard)
    await asyncio.sleep(max(0.0, ends - time.time()))
    view.say("the deadline has passed and no worker answers: the run concludes once one does")


async def show_last(handle: WorkflowHandle[Any, Any], view: ProgressView) -> None:
    """Show how a run ended: a short one is over before it is asked twice."""
    from workflows.agent_run import AgentRun

    with suppress(RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        view.update(await handle.query(AgentRun.progress, rpc_timeout=LAST_QUERY_TIMEOUT))


async def pause_of(handle: WorkflowHandle[Any, Any]) -> str:
    """Say that a run is paused, by whom and why; empty where it is not, or where no worker answers soon."""
    from workflows.agent_run import AgentRun

    with suppress(RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
        progress = await handle.query(AgentRun.progress, rpc_timeout=LAST_QUERY_TIMEOUT)
        return "" if progress.paused is None else _paused(progress.paused)
    return ""


class PlainProgress:
    """One line per event, for pipes and logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._state = ""
        self._shown: dict[tuple[int | None, str | None], str] = {}

    def update(self, progress: RunProgress) -> None:
        """Print the state and the calls that changed since the last time."""
        state = state_line(progress)
        lines = [] if state == self._state else [state]
        self._state = state
        changed: list[str] = []
        for call in progress.calls:
            key = (call.call_index, call.tool_call_id)
            if self._shown.get(key) != call.state:
                self._shown[key] = call.state
                changed.append("  " + call_line(call))
        for line in changed + lines if progress.state == "closed" else lines + changed:
            self.say(line)

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing to restore."""


def state_line(progress: RunProgress) -> str:
    """Say what the run does; a paused one, who paused it and why."""
    paused = "" if progress.paused is None else f", {_paused(progress.paused)}"
    return f"turn {progress.turn}: {progress.state}{paused}"


def _paused(pause: Pause) -> str:
    by = f" by {one_line(pause.by, 64)}" if pause.by else ""
    reason = f": {one_line(pause.reason, 160)}" if pause.reason else ""
    return f"paused{by}{reason}"


def call_line(call: CallProgress) -> str:
    """Describe a call on one line."""
    number = f"#{call.call_index}" if call.call_index is not None else "#-"
    head = f"{number} {one_line(call.tool_name, 64)} {one_line(call.arguments, 80)}".rstrip()
    if call.state == "running":
        return f"{head} ..."
    if call.state == "repeated":
        return f"{head} -> asked before, not made again"
    if call.error is not None:
        return f"{head} -> {call.error.code.value}: {one_line(call.error.message, 160)}"
    found = call.evidence_status.value if call.evidence_status else call.state
    preview = f"  {one_line(call.preview, 100)}" if call.preview else ""
    return f"{head} -> {found}{preview}"
