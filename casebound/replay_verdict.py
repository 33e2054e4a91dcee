"""What is said of one replayed history: whether it replays, why not, and what else the code asks for.

Above: `casebound.replay` makes verdicts, the command prints them. Below: plain data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent


class FaultKind(StrEnum):
    """In which way a history does not replay."""

    NONDETERMINISM = "nondeterminism"
    """The code asks for other steps, or in another order."""
    EXCEPTION = "exception"
    """The code fails where it did not."""
    TIMEOUT = "time-out"
    """It was given up; nothing is known."""
    UNUSABLE = "unusable"
    """The events are no whole history."""
    OTHER = "other"


@dataclass(frozen=True)
class Fault:
    """Why a history does not replay."""

    kind: FaultKind
    message: str
    """What Temporal or the code itself says."""
    event_id: int | None = None
    """The first event that the code does not account for; of an exception, the last one it was given."""
    event: str = ""
    """That event in words."""
    asked: str = ""
    """What the code asked for instead; empty: not known."""


@dataclass(frozen=True)
class Difference:
    """One thing that the replay itself does not look at, and that is not as it was."""

    event_id: int
    event: str
    field: str
    recorded: str
    asked: str


@dataclass(frozen=True)
class Verdict:
    """What one history says of the workflow code at hand."""

    workflow_id: str
    run_id: str
    """Of the execution."""
    events: int
    fault: Fault | None = None
    differences: tuple[Difference, ...] = ()
    differences_more: int = 0
    """Beyond those that are listed."""
    not_compared: tuple[str, ...] = ()
    """Kinds of fields that the history was recorded without."""

    @property
    def replays(self) -> bool:
        """Tell whether open runs with such a history go on."""
        return self.fault is None

    @property
    def same(self) -> bool:
        """Tell whether nothing at all differs."""
        return self.fault is None and not self.differences


def event_words(event: HistoryEvent) -> str:
    """Name an event for people: its type, and which activity, timer or update it is about."""
    name = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").split("_")
    words = "".join(part.capitalize() for part in name)
    attributes: Any = getattr(event, event.WhichOneof("attributes") or "", None)
    subject = ""
    if event.HasField("activity_task_scheduled_event_attributes"):
        subject = attributes.activity_type.name
    elif event.HasField("timer_started_event_attributes"):
        subject = attributes.timer_id
    elif event.HasField("workflow_execution_update_accepted_event_attributes"):
        subject = attributes.accepted_request.input.name
    return f"{words} {subject}".rstrip()
