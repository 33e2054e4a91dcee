"""Histories recorded earlier replay with today's code; a change that would break open runs is noticed here.

A failure means: keep the old order behind `workflow.patched`, or, before the first release that
holds it, record anew with `python -m tests.support.histories`.
"""

from __future__ import annotations

import pytest
from temporalio.api.enums.v1 import EventType

from activities.contracts import RunInput, RunOutcome, RunResult
from casebound.converter import casebound_data_converter
from casebound.replay import replay
from tests.support.histories import DIRECTORY, NOT_LOOKED_AT, ends_by_continuing, load, names
from tests.support.scenarios import SCENARIOS
from workflows.steered import SteeredRun

CANCELED = "workflow_execution_canceled_event_attributes"

SIZE_MAX = 64 * 1024
"""Bytes of one recorded history."""


def test_every_scenario_is_recorded_and_every_recording_is_of_a_scenario() -> None:
    """No outcome is left out, and no file is left over."""
    assert names() == sorted(SCENARIOS)


def test_every_outcome_and_every_steering_action_is_recorded() -> None:
    """A new outcome, or a new update, needs a scenario."""
    assert {scenario.outcome for scenario in SCENARIOS.values()} == set(RunOutcome)
    updates = {name for name, member in vars(SteeredRun).items() if hasattr(member, "validator")}
    taken = {
        event.workflow_execution_update_accepted_event_attributes.accepted_request.input.name
        for name in names()
        for event in load(name).events
        if event.HasField("workflow_execution_update_accepted_event_attributes")
    }
    assert taken == updates == {"stop", "pause", "resume", "extend", "note"}
    assert any(load(name).events[-1].HasField(CANCELED) for name in names())


@pytest.mark.proves("INV-REMOVED-TOOL-REPLAYS")
@pytest.mark.parametrize("name", names())
async def test_a_recorded_history_replays_in_the_sandbox(name: str) -> None:
    """With no tool, planner or store at hand; and asks for what was recorded: arguments, timers, answers, results."""
    verdict = await replay(load(name))
    assert verdict.fault is None
    assert verdict.differences == ()
    assert verdict.not_compared == ()


@pytest.mark.parametrize("name", names())
def test_a_recorded_result_can_still_be_read_and_is_of_its_outcome(name: str) -> None:
    """A result outlives the store's TTL: today's models read what a run returned then."""
    history, scenario = load(name), SCENARIOS[name]
    events, outcome = history.events, scenario.outcome
    converter = casebound_data_converter.payload_converter
    started = events[0].workflow_execution_started_event_attributes
    [request] = converter.from_payloads(started.input.payloads, [RunInput])
    assert request.question == "What happened?"
    assert ends_by_continuing(history) is scenario.continues
    if scenario.continues:
        return
    if outcome is RunOutcome.CANCELLED:
        assert events[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
        return
    completed = events[-1].workflow_execution_completed_event_attributes
    [result] = converter.from_payloads(completed.result.payloads, [RunResult])
    assert result.outcome is outcome


@pytest.mark.parametrize("name", names())
def test_a_recorded_history_is_small_and_holds_nothing_of_the_machine_it_was_made_on(name: str) -> None:
    """One event a line, without what replay does not look at."""
    text = (DIRECTORY / f"{name}.json").read_text()
    assert len(text.encode()) < SIZE_MAX
    assert len(text.splitlines()) == len(load(name).events) + 2
    assert [field for field in NOT_LOOKED_AT if f'"{field}"' in text] == []
