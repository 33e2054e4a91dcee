"""Nonsense is refused with the reason, and leaves no event in the history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowUpdateFailedError
from temporalio.common import RawValue

from activities.contracts import (
    NOTE_MAX,
    NOTES_PENDING_MAX,
    NoteInput,
    PauseInput,
    ResumeInput,
    StopInput,
    TurnMode,
)
from tests.steering.doubles import HeldPlanner
from tests.support.runs import Harness, RunHandle, call, calls, report
from tests.support.tools import FakeTool
from workflows.agent_run import AgentRun

Update = Callable[[RunHandle], Awaitable[Any]]


def update(name: str, argument: Any) -> Update:
    """Make an update by name, so that an argument its model would not take can be sent."""
    return lambda handle: handle.execute_update(name, argument)


EXTEND_100_S = update("extend", {"seconds": 100})
RESUME = update("resume", ResumeInput())

REFUSED: dict[str, tuple[Update, str]] = {
    "resume what runs": (RESUME, "not paused"),
    "extend past the evidence": (EXTEND_100_S, "it can move by 40 s at most"),
    "an empty note": (update("note", NoteInput(text=" \n ")), "empty"),
    "no seconds": (update("extend", {"seconds": 0}), "greater than 0"),
    "seconds back": (update("extend", {"seconds": -5}), "greater than 0"),
    "seconds without end": (update("extend", {"seconds": "Infinity"}), "seconds"),
    "seconds in words": (update("extend", {"seconds": "an hour"}), "seconds"),
    "no argument that can be read": (update("pause", [1]), ""),
    "a note that is too long": (update("note", {"text": "x" * (NOTE_MAX + 1)}), str(NOTE_MAX)),
    "a note without text": (update("note", {}), "text"),
    "a reason that is too long": (update("stop", {"reason": "x" * 501}), "500"),
    "an update there is none of": (update("restart", {}), ""),
}


def accepted(history: Any) -> list[Any]:
    """The history's events of updates that were taken."""
    kind = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    return [event for event in history.events if event.event_type == kind]


@pytest.mark.proves("INV-STEERING-REFUSED", "INV-NO-INPUT-KILLS-A-RUN")
async def test_an_update_that_makes_no_sense_is_refused_and_leaves_no_event(runs: Harness) -> None:
    """Each says what is wrong; the run goes on as if nobody had asked."""
    planner = HeldPlanner(1, [report()])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start(deadline_s=60, record_ttl_s=160)
        await planner.entered.wait()
        for name, (ask, told) in REFUSED.items():
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await ask(handle)
            assert told in str(refused.value.cause), name
        planner.open.set()
        done = await runs.finished(handle, await handle.result())
    assert accepted(done.history) == []


@pytest.mark.proves("INV-STEERING-REFUSED")
async def test_what_was_asked_already_is_refused_the_second_time(runs: Harness) -> None:
    """A second pause and a second stop change nothing; a stopped run takes no pause, extension or note."""
    planner = HeldPlanner(1, [calls(call("first")), report()])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start()
        await planner.entered.wait()
        await handle.execute_update(AgentRun.pause, PauseInput())
        with pytest.raises(WorkflowUpdateFailedError) as paused:
            await handle.execute_update(AgentRun.pause, PauseInput())
        await handle.execute_update(AgentRun.stop, StopInput())
        refusals: list[str] = []
        for ask in (update("stop", {}), update("extend", {"seconds": 5}), update("note", {"text": "late"})):
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await ask(handle)
            refusals.append(str(refused.value.cause))
        planner.open.set()
        done = await runs.finished(handle, await handle.result())
    assert "casebound resume" in str(paused.value.cause)
    assert all("asked to conclude" in refusal for refusal in refusals), refusals
    assert len(accepted(done.history)) == 2


async def test_a_run_that_makes_its_report_takes_no_notes(runs: Harness) -> None:
    """The concluding turn is the last: a hint would reach nobody."""
    planner = HeldPlanner(2, [calls(call("first")), report()])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start(max_turns=1)
        await planner.entered.wait()
        assert (await handle.query(AgentRun.progress)).mode is TurnMode.CONCLUDE
        for ask in (update("note", {"text": "late"}), update("pause", {}), update("extend", {"seconds": 5})):
            with pytest.raises(WorkflowUpdateFailedError) as refused:
                await ask(handle)
            assert "its report is being made" in str(refused.value.cause)
        planner.open.set()
        await handle.result()


async def test_only_so_many_notes_wait(runs: Harness) -> None:
    """What a planner is given at once is bounded; the run takes more once it was."""
    planner = HeldPlanner(1, [calls(call("first")), report()])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start()
        await planner.entered.wait()
        for number in range(NOTES_PENDING_MAX):
            await handle.execute_update(AgentRun.note, NoteInput(text=f"hint {number}"))
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update(AgentRun.note, NoteInput(text="one more"))
        planner.open.set()
        done = await runs.finished(handle, await handle.result())
    assert [len(turn.input.notes) for turn in done.turns] == [0, NOTES_PENDING_MAX]


async def test_odd_texts_of_people_are_taken(runs: Harness) -> None:
    """Control characters and Markdown are kept; what is no text at all, as half a character, is refused."""
    odd = "\x00 | `x` <b> é"
    planner = HeldPlanner(1, [calls(call("first")), report()])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start()
        await planner.entered.wait()
        await handle.execute_update(AgentRun.pause, PauseInput(by=odd, reason=odd))
        await handle.execute_update(AgentRun.note, NoteInput(by=odd, text=odd))
        half = Payload(metadata={"encoding": b"json/plain"}, data=b'{"text": "\\ud800"}')
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update("note", RawValue(half))
        await handle.execute_update(AgentRun.resume, ResumeInput())
        planner.open.set()
        done = await runs.finished(handle, await handle.result())
    assert done.turns[1].input.notes == (odd,)
