"""What a verdict says of a history that does not replay: which event, and what was asked instead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowHistory
from temporalio.worker import UnsandboxedWorkflowRunner

from casebound.replay import NotReplayable, replay
from casebound.replay_pytest import ReplayedRuns
from casebound.replay_verdict import FaultKind
from tests.replay.replaying import edited, replay_here, told
from tests.support.histories import load
from tests.support.runs import Harness, call, calls, report
from tests.support.tools import FakeTool
from workflows.agent_run import AgentRun

# pyright: reportPrivateUsage=false
# A change is of the workflow's own steps.

Events = list[dict[str, Any]]
SCHEDULED = "activityTaskScheduledEventAttributes"
OPEN = AgentRun._open


async def waits_for_ever(run: AgentRun) -> None:
    """Ask for nothing."""
    await workflow.wait_condition(lambda: False)


async def sleeps_first(run: AgentRun) -> Any:
    """Ask for a timer before anything else."""
    await workflow.sleep(3)
    return await OPEN(run)


async def remembers_first(run: AgentRun) -> Any:
    """Write a memo before anything else."""
    workflow.upsert_memo({"a": 1})
    return await OPEN(run)


async def fails(run: AgentRun) -> None:
    """Be broken."""
    raise LookupError("no such key")


FAULTS: list[tuple[Callable[..., Any], FaultKind, str]] = [
    (waits_for_ever, FaultKind.NONDETERMINISM, "casebound.open_run: the code asks for nothing instead"),
    (sleeps_first, FaultKind.NONDETERMINISM, "casebound.open_run: the code asks for a timer of 3 s instead"),
    (remembers_first, FaultKind.NONDETERMINISM, "casebound.open_run: the code asks for a change of the memo instead"),
    (fails, FaultKind.EXCEPTION, "after event 3, WorkflowTaskStarted: the code raises LookupError: no such key"),
]


@pytest.mark.parametrize(("step", "kind", "words"), FAULTS, ids=[fault[0].__name__ for fault in FAULTS])
async def test_a_fault_names_the_event_and_what_is_asked_for_instead(
    monkeypatch: pytest.MonkeyPatch, step: Callable[..., Any], kind: FaultKind, words: str
) -> None:
    """In words of the history and the code, with what Temporal says below."""
    monkeypatch.setattr(AgentRun, "_open", step)
    verdict = await replay_here(load("reported"))
    assert verdict.fault is not None
    assert verdict.fault.kind is kind
    assert words in told(verdict)
    assert verdict.differences == ()


async def test_what_is_asked_for_is_not_taken_for_what_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded run has a timer of its own, further on."""
    monkeypatch.setattr(AgentRun, "_open", sleeps_first)
    verdict = await replay_here(load("paused"))
    assert "event 5, ActivityTaskScheduled casebound.open_run: the code asks for a timer of 3 s" in told(verdict)
    assert verdict.differences == ()


async def patched_first(run: AgentRun) -> Any:
    """Begin as a new version would."""
    workflow.patched("another-beginning")
    return await OPEN(run)


async def test_a_patch_that_is_gone_is_named(
    monkeypatch: pytest.MonkeyPatch, runs: Harness, replayed_runs: ReplayedRuns
) -> None:
    """A run that was begun by patched code does not go on with code without the patch."""
    with monkeypatch.context() as patch:
        # The sandbox loads its own workflow; so its worker has to have none.
        patch.setattr(AgentRun, "_open", patched_first)
        patch.setattr("casebound.worker.sandbox", UnsandboxedWorkflowRunner)
        async with runs.worker([calls(call("one")), report()], [FakeTool()]):
            handle = await runs.start()
            replayed_runs.leave_out(handle.id)
            await handle.result()
            history = await handle.fetch_history()
        assert (await replay_here(history)).same
    verdict = await replay_here(history)
    assert verdict.fault is not None
    assert "MarkerRecorded: the code asks for no patch 'another-beginning' any more instead" in told(verdict)


async def test_a_replay_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread it runs in is left behind; whoever asked goes on."""
    over = threading.Event()

    async def blocks(run: AgentRun) -> None:
        over.wait()

    monkeypatch.setattr(AgentRun, "_open", blocks)
    verdict = await replay_here(load("reported"), timeout_s=0.3)
    over.set()
    assert verdict.fault is not None
    assert verdict.fault.kind is FaultKind.TIMEOUT
    assert "no answer within 0.3 s" in told(verdict)


@pytest.mark.parametrize("events", [1, 2, 3])
async def test_a_run_that_has_not_begun_to_work_has_nothing_to_replay(events: int) -> None:
    """Its first step was not taken yet; the core would wait for it for ever."""
    history = load("reported")
    verdict = await replay(WorkflowHistory(history.workflow_id, history.events[:events]), timeout_s=3)
    assert verdict.same


BROKEN: list[tuple[str, Callable[[Events], Any], str]] = [
    ("nothing", lambda events: events.clear(), "does not begin with"),
    ("no beginning", lambda events: events.pop(0), "does not begin with"),
    ("a gap", lambda events: events.pop(6), "event 7 is missing"),
    (
        "another workflow",
        lambda events: events[0][STARTED]["workflowType"].update(name="Other"),
        "workflow type 'Other', not AgentRun",
    ),
    ("no queue", lambda events: events[0][STARTED].pop("taskQueue"), "lacks the run id or the task queue"),
]
STARTED = "workflowExecutionStartedEventAttributes"


@pytest.mark.parametrize(("edit", "words"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
async def test_what_is_no_whole_history_is_refused(edit: Callable[[Events], Any], words: str) -> None:
    """The SDK's core would hang over some of them, or fail over others in words of its own."""
    with pytest.raises(NotReplayable, match=words):
        await replay(edited(load("reported"), edit))
