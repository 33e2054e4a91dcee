"""Recorded histories: how they are made, kept and read. `python -m tests.support.histories` records them anew.

Each scenario is a whole run on a real dev server. Its history goes to `tests/histories/NAME.json`, one
event a line, without what replay does not look at: who polled, ids of requests and tasks. A change of the
workflow that replays all of them can be deployed under open runs; one that does not needs
`workflow.patched`. So record anew only what was never released.

Above: the tests in `tests/replay`. Below: `tests.support.scenarios` says what is recorded.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any, cast

from temporalio.client import WorkflowHistory

from boundary.contracts import JsonObject
from casebound.converter import casebound_data_converter
from casebound.replay_payloads import payloads
from casebound.worker import store_over
from tests.support import temporal, tree
from tests.support.runs import Harness
from tests.support.scenarios import SCENARIOS, Scenario
from tests.support.scenarios_unsteered import Breakable

__all__ = ["payloads"]

DIRECTORY = tree.ROOT / "tests" / "histories"

NOT_LOOKED_AT = frozenset(
    {
        "identity",
        "taskId",
        "workerVersion",
        "requestId",
        "meteringMetadata",
        "priority",
        "workflowRunTimeout",
        "workflowTaskTimeout",
        "workflowExecutionTimeout",
        "stackTrace",
        "historySizeBytes",
    }
)
"""Fields replay does without. Not among them: `sdkMetadata`, whose flags decide the order of events."""


# --- reading ---


def names() -> list[str]:
    """Name the recorded histories."""
    return sorted(path.stem for path in DIRECTORY.glob("*.json"))


def load(name: str) -> WorkflowHistory:
    """Read a recorded history."""
    return WorkflowHistory.from_json(f"casebound-{name}", (DIRECTORY / f"{name}.json").read_text())


def text_of(history: WorkflowHistory) -> str:
    """All text a history holds. Its JSON form would not do: payloads stand there as base64."""
    data = b"\n".join(event.SerializeToString() for event in history.events)
    return data.decode("utf-8", "replace")


# --- recording ---


def scrubbed(history: WorkflowHistory) -> str:
    """Write a history as JSON, one event a line, without what replay does not look at."""
    events = [json.dumps(_kept(event), ensure_ascii=False) for event in history.to_json_dict()["events"]]
    return '{"events": [\n' + ",\n".join(events) + "\n]}\n"


def _kept(value: Any) -> Any:
    match value:
        case dict():
            fields = cast(JsonObject, value)
            if fields.get("kind") == "TASK_QUEUE_KIND_STICKY":
                return {**fields, "name": "sticky"}
            return {name: _kept(field) for name, field in fields.items() if name not in NOT_LOOKED_AT}
        case list():
            return [_kept(item) for item in cast("list[Any]", value)]
        case _:
            return value


async def record(wanted: Sequence[str] = ()) -> None:
    """Run the scenarios one by one, all of them unless some are wanted, and keep their histories."""
    DIRECTORY.mkdir(exist_ok=True)
    for name in wanted or SCENARIOS:
        history = await play(SCENARIOS[name])
        path = DIRECTORY / f"{name}.json"
        path.write_text(scrubbed(history))
        print(f"{path.name}: {len(history.events)} events, {path.stat().st_size} bytes")


async def play(scenario: Scenario) -> WorkflowHistory:
    """Carry out a scenario on a server of its own; returns its history."""
    async with await temporal.start_dev_server(scenario.suggest_continue_as_new) as env:
        client = await env.connect_client(data_converter=casebound_data_converter, identity="recorder")
        store = await store_over(Breakable(), "casebound")
        done = await scenario.play(Harness(client, store, scenario.name))
    assert done.result.outcome is scenario.outcome, f"{scenario.name}: {done.result}"
    assert ends_by_continuing(done.history) is scenario.continues, f"{scenario.name}: {done.history.events[-1]}"
    return done.history


def ends_by_continuing(history: WorkflowHistory) -> bool:
    """Tell whether the run went on in another execution."""
    return history.events[-1].HasField("workflow_execution_continued_as_new_event_attributes")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1:]))
