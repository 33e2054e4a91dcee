"""What a verdict says of a history that replays: what the Replayer itself does not look at, and is not as it was."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.client import WorkflowHistory

from activities.contracts import PauseInput, ResumeInput
from casebound.replay_values import value_differences
from tests.replay.replaying import edited, first, replay_here, told
from tests.steering.doubles import HeldPlanner
from tests.support.histories import load, scrubbed
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until
from workflows.agent_run import AgentRun
from workflows.attributes import OUTCOME, VERDICT

Events = list[dict[str, Any]]
SCHEDULED = "activityTaskScheduledEventAttributes"
TIMES_AND_SUMMARIES = frozenset(
    {
        "userMetadata",
        "retryPolicy",
        "scheduleToCloseTimeout",
        "scheduleToStartTimeout",
        "startToCloseTimeout",
        "heartbeatTimeout",
    }
)


def argument(attributes: dict[str, Any], change: Callable[[Any], None], field: str = "input") -> None:
    """Change a recorded payload."""
    payload = attributes[field]["payloads"][0]
    value = json.loads(base64.b64decode(payload["data"]))
    change(value)
    payload["data"] = base64.b64encode(json.dumps(value).encode()).decode()


def of_probe(events: Events) -> dict[str, Any]:
    """Find the tool's activity."""
    return next(
        event[SCHEDULED] for event in events if event.get(SCHEDULED, {}).get("activityType") == {"name": "probe"}
    )


EDITS: list[tuple[Callable[[Events], Any], str, str]] = [
    (
        lambda e: argument(of_probe(e), lambda value: value["grant"].update(deadline_ms=5)),
        "ActivityTaskScheduled probe",
        "argument grant.deadline_ms was 5, is now 1",
    ),
    (
        lambda e: argument(of_probe(e), lambda value: value.update(extra=[1])),
        "ActivityTaskScheduled probe",
        "argument extra was [1], is now nothing",
    ),
    (
        lambda e: of_probe(e).update(startToCloseTimeout="7s"),
        "ActivityTaskScheduled probe",
        "start-to-close time-out was 7 s, is now 60 s",
    ),
    (
        lambda e: first(e, SCHEDULED).update(heartbeatTimeout="0.5s"),
        "ActivityTaskScheduled casebound.open_run",
        "heartbeat time-out was 0.5 s, is now 5 s",
    ),
    (
        lambda e: first(e, SCHEDULED)["retryPolicy"].update(maximumInterval="99s"),
        "ActivityTaskScheduled casebound.open_run",
        "retry policy maximum_interval was 99 s, is now 10 s",
    ),
    (
        lambda e: of_probe(e)["taskQueue"].update(name="elsewhere"),
        "ActivityTaskScheduled probe",
        "task queue was elsewhere, is now q-",
    ),
    (
        lambda e: next(event for event in e if event.get(SCHEDULED) is of_probe(e)).pop("userMetadata"),
        "ActivityTaskScheduled probe",
        'summary was nothing, is now "#1 probe q=1"',
    ),
    (
        lambda e: first(e, "timerStartedEventAttributes").update(startToFireTimeout="3s"),
        "TimerStarted",
        "duration was 3 s, is now ",
    ),
    (
        lambda e: first(e, "upsertWorkflowSearchAttributesEventAttributes")["searchAttributes"]["indexedFields"][
            OUTCOME.name
        ].update(data=base64.b64encode(b'"STOPPED"').decode()),
        "UpsertWorkflowSearchAttributes",
        f'search attribute {OUTCOME.name} was "STOPPED", is now "REPORTED"',
    ),
    (
        lambda e: argument(
            first(e, "workflowExecutionUpdateCompletedEventAttributes")["outcome"],
            lambda value: value.update(gather_until_ms=4),
            "success",
        ),
        "WorkflowExecutionUpdateCompleted",
        "answer gather_until_ms was 4, is now 1",
    ),
    (
        lambda e: argument(
            first(e, "workflowExecutionCompletedEventAttributes"),
            lambda value: value.update(verdict="PARTIAL"),
            "result",
        ),
        "WorkflowExecutionCompleted",
        'result verdict was "PARTIAL", is now "SUPPORTED"',
    ),
]


async def whole_history(runs: Harness) -> WorkflowHistory:
    """The history of a run that was paused for a while, as a server gives it out."""
    planner = HeldPlanner(1, [calls(call("one", arguments={"q": 1})), report(claim("q", cite("one", pointer="/echo")))])
    async with runs.worker(planner, [FakeTool()]):
        handle = await runs.start(search_attributes=(OUTCOME.name, VERDICT.name))
        await planner.entered.wait()
        await handle.execute_update(AgentRun.pause, PauseInput())
        planner.open.set()
        await _calling(handle)
        await handle.execute_update(AgentRun.resume, ResumeInput())
        done = await runs.finished(handle, await handle.result())
    return done.history


async def _calling(handle: Any) -> None:
    async def calling() -> bool:
        return (await handle.query(AgentRun.progress)).state == "calling"

    await wait_until(calling, description="the planner's turn is there")


async def test_what_the_replayer_does_not_look_at_is_compared_with_what_was_recorded(runs: Harness) -> None:
    """One change of the recording at a time: it replays all the same, and just this difference is told."""
    history = await whole_history(runs)
    assert (await replay_here(history)).not_compared == ()
    for edit, event, words in EDITS:
        verdict = await replay_here(edited(history, edit))
        assert verdict.replays, words
        [difference] = verdict.differences
        assert difference.event.startswith(event), words
        assert words in told(verdict)
        assert told(verdict).startswith("DIFFERS ")


def without(value: Any, names: frozenset[str]) -> Any:
    """Leave fields of those names out, at any depth."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: without(member, names) for name, member in members.items() if name not in names}
    if isinstance(value, list):
        return [without(member, names) for member in cast("list[Any]", value)]
    return value


async def test_a_history_recorded_without_time_outs_is_compared_without(runs: Harness) -> None:
    """What is not there cannot differ, and the verdict says what it is."""
    history = await whole_history(runs)
    bare = without(json.loads(scrubbed(history)), TIMES_AND_SUMMARIES)
    verdict = await replay_here(WorkflowHistory.from_json(history.workflow_id, bare))
    assert verdict.same
    assert verdict.not_compared == ("time-outs", "retry policies", "summaries")


async def test_the_input_of_the_next_execution_is_compared() -> None:
    """A run that goes on must carry what it carried."""

    def edit(events: Events) -> None:
        argument(first(events, "workflowExecutionContinuedAsNewEventAttributes"), lambda v: v["carried"].update(turn=9))

    verdict = await replay_here(edited(load("continued_first"), edit))
    assert "WorkflowExecutionContinuedAsNew: argument carried.turn was 9, is now 1" in told(verdict)


async def test_a_changed_time_out_of_the_code_is_told(monkeypatch: pytest.MonkeyPatch, runs: Harness) -> None:
    """The other way round: the recording stays, the code changes."""
    done = await runs.run([calls(call("one")), report()], [FakeTool()])
    monkeypatch.setattr("workflows.activity_calls.STORE_WORK_MAX", timedelta(seconds=11))
    verdict = await replay_here(done.history)
    fields = {(difference.event, difference.field, difference.asked) for difference in verdict.differences}
    assert fields == {
        (f"ActivityTaskScheduled casebound.{name}", "start-to-close time-out", "11 s")
        for name in ("open_run", "check_report")
    }


def test_a_secret_in_a_changed_argument_is_not_printed() -> None:
    """Verdicts end up in the logs of CI."""
    [(place, was, now)] = value_differences("argument", {"q": "password=hunter2222"}, {"q": "x"})
    assert (place, now) == ("argument q", '"x"')
    assert "hunter2222" not in was
