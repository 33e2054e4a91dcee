"""The worker is killed while people steer: what was accepted holds, what was not is taken by the next worker."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from activities.contracts import (
    ExtendInput,
    NoteInput,
    PauseInput,
    ResumeInput,
    RunOutcome,
    StopInput,
)
from tests.crash.stage import Stage, one_call, proved_once
from tests.crash.watched import Point
from tests.support.runs import RunHandle
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun

Update = Callable[[RunHandle], Awaitable[Any]]

UPDATES: dict[str, Update] = {
    "pause": lambda handle: handle.execute_update(AgentRun.pause, PauseInput(reason="killed")),
    "resume": lambda handle: handle.execute_update(AgentRun.resume, ResumeInput()),
    "extend": lambda handle: handle.execute_update(AgentRun.extend, ExtendInput(seconds=60)),
    "note": lambda handle: handle.execute_update(AgentRun.note, NoteInput(text="look twice")),
    "stop": lambda handle: handle.execute_update(AgentRun.stop, StopInput(reason="killed")),
}


@pytest.mark.parametrize("taken_first", [True, False], ids=["after it was taken", "before it is taken"])
@pytest.mark.proves("INV-PAUSE", "INV-ONE-RECORD", "INV-NONE-PROJECTING")
async def test_each_way_to_steer_outlives_the_worker(stage: Stage, taken_first: bool) -> None:
    """Five runs in their tool, each steered in its way; one worker, killed; another goes on with all of them."""
    killed = stage.process(one_call(), hold_at=Point.IN_TOOL)
    await killed.serves()
    handles = {name: await stage.start() for name in UPDATES}
    await wait_until(
        lambda: killed.said.count(Point.IN_TOOL) == len(handles), description="all are in their tool", timeout=30
    )
    before = (await handles["extend"].query(AgentRun.progress)).deadline_ms
    await UPDATES["pause"](handles["resume"])
    if not taken_first:
        killed.send(signal.SIGKILL)
        await killed.ends()
    sent = {name: asyncio.ensure_future(update(handles[name])) for name, update in UPDATES.items()}
    if taken_first:
        await asyncio.gather(*sent.values())
        killed.send(signal.SIGKILL)
        await killed.ends()
    async with stage.worker(one_call()):
        answers = {name: await answer for name, answer in sent.items()}
        assert (await handles["pause"].query(AgentRun.progress)).paused is not None
        await UPDATES["resume"](handles["pause"])
        done = {name: await stage.harness.finished(handle, await handle.result()) for name, handle in handles.items()}
    assert answers["extend"].deadline_ms == before + 60_000
    assert done["stop"].result.outcome is RunOutcome.STOPPED
    for name in ("pause", "resume", "extend", "note"):
        proved_once(done[name], executions=2)
    assert [turn.input.notes for turn in done["note"].turns] == [(), ("look twice",)]
    for name, run in done.items():
        taken = run.events(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
        assert len(taken) == (2 if name in ("pause", "resume") else 1), name
