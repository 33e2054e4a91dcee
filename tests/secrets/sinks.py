"""Everything that keeps or shows something of a run, as texts that can be searched.

Above: the tests. Below: Temporal's history and description, the store's keys, the logs.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle, WorkflowHistory

from boundary.backend import Backend

RAW = ":raw_response"
"""Raw responses are kept whole; nothing shows them but `casebound evidence --raw`."""


class Logs(logging.Handler):
    """Keeps what any logger of the process says, at any level, as a handler would write it."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line, traceback included."""
        self.lines.append(self.format(record))


@contextmanager
def all_logs() -> Generator[Logs]:
    """Hear all loggers for as long as the block lasts."""
    root, logs = logging.getLogger(), Logs()
    level = root.level
    root.addHandler(logs)
    root.setLevel(logging.DEBUG)
    try:
        yield logs
    finally:
        root.removeHandler(logs)
        root.setLevel(level)


def of_history(history: WorkflowHistory) -> Iterator[tuple[str, str]]:
    """Each event by number, kind and activity; payloads and user metadata included."""
    activities: dict[int, str] = {}
    for event in history.events:
        kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
        attributes = getattr(event, event.WhichOneof("attributes") or "", None)
        if kind == "ACTIVITY_TASK_SCHEDULED":
            activities[event.event_id] = event.activity_task_scheduled_event_attributes.activity_type.name
        activity = activities.get(getattr(attributes, "scheduled_event_id", event.event_id), "")
        yield f"event {event.event_id} {kind} {activity}".rstrip(), _text(event)


def of_summaries(history: WorkflowHistory) -> Iterator[tuple[str, str]]:
    """What the Temporal UI shows beside an event's name."""
    for event in history.events:
        yield f"summary of event {event.event_id}", _text(event.user_metadata)


async def of_description(handle: WorkflowHandle[Any, Any], when: str) -> Iterator[tuple[str, str]]:
    """What the Temporal UI and clients are told: memo, search attributes, pending activities, heartbeats."""
    return iter([(f"description {when}", _text((await handle.describe()).raw_description))])


async def of_queries(handle: WorkflowHandle[Any, Any]) -> Iterator[tuple[str, str]]:
    """What a running worker answers about the run: its progress, and the current details of the UI."""
    asked = [(name, await handle.query(name)) for name in ("progress", "__temporal_workflow_metadata")]
    return iter([(f"query {name}", repr(answer)) for name, answer in asked])


async def of_store(backend: Backend, prefix: str) -> dict[str, str]:
    """Each field of each key of the store, raw responses left out."""
    now_ms, found = await backend.now_ms(), dict[str, str]()
    for key in await backend.keys_with(prefix):
        fields = await backend.read_all(key, now_ms=now_ms) or {}
        found |= {f"{key.removeprefix(prefix)}:{name}": value.decode() for name, value in fields.items()}
    assert any(name.endswith(":record") or name.endswith(":brief") for name in found), "the store was not looked into"
    return {name: value for name, value in found.items() if not name.endswith(RAW)}


def _text(message: Any) -> str:
    """The bytes of a message hold its payloads as they are."""
    return message.SerializeToString().decode("latin-1")
