"""Puts into words why a history does not replay: which event, and what the code asked for instead.

Above: `casebound.replay`. Below: what the SDK's core says ([TMPRL1100] and others), and what was heard.
The core's sentences are no interface: one that is not known here is told as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from temporalio.api.history.v1 import HistoryEvent
from temporalio.workflow import NondeterminismError

from casebound.replay_listening import Asked, Heard, Raised
from casebound.replay_verdict import Fault, FaultKind, event_words

MESSAGE_MAX = 600

_MESSAGE = re.compile(r'message: "((?:[^"\\]|\\.)*)"')
_PREFIX = re.compile(r"^\[TMPRL\d+\] (?:Nondeterminism error: )?")
_EVENT = re.compile(r"HistoryEvent\(id: (\d+), \w+\)")
_TYPES = re.compile(r"event '(.*)' does not match activity type of activity command '(.*)'")
_MACHINE = re.compile(r"^(?P<machine>.*?) ?[mM]achine does not handle")
_GONE_PATCH = re.compile(r"patch marker encountered for change ([^,]+), but there is no corresponding")

_KINDS = {
    "Activity": ("schedule_activity",),
    "Timer": ("start_timer",),
    "LocalActivity": ("schedule_local_activity",),
    "Complete workflow": ("complete_workflow_execution",),
    "Fail workflow": ("fail_workflow_execution",),
    "Cancel workflow": ("cancel_workflow_execution",),
    "Continue as new workflow": ("continue_as_new_workflow_execution",),
    "ModifyWorkflowProperties": ("modify_workflow_properties",),
    "UpsertSearchAttributes": ("upsert_workflow_search_attributes",),
    "Version": ("set_patch_marker",),
    "Patch": ("set_patch_marker",),
}
"""Commands by what the core calls its machines."""


def explain(error: BaseException, events: Sequence[HistoryEvent], heard: Heard) -> Fault:
    """Say why the replay failed."""
    said = _said(error)
    if heard.raised is not None and heard.raised.message in said:
        return _raised(heard.raised, events)
    if not isinstance(error, NondeterminismError):
        return Fault(FaultKind.OTHER, said)
    by_type = _TYPES.search(said)
    if by_type:
        return _other_activity(said, by_type[1], by_type[2], events, heard)
    gone = _GONE_PATCH.search(said)
    if gone:
        marker = next((event for event in events if event.HasField("marker_recorded_event_attributes")), None)
        return _at(said, marker, f"no patch {gone[1]!r} any more")
    found = _EVENT.search(said)
    event = next((event for event in events if found and event.event_id == int(found[1])), None)
    earlier = [one for one in events if event is not None and one.event_id < event.event_id]
    return _at(said, event, _asked_instead(said, earlier, heard))


def _said(error: BaseException) -> str:
    """What the core said, out of its debug text."""
    text = str(error)
    found = _MESSAGE.search(text)
    said = found[1].replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n") if found else text
    return _PREFIX.sub("", said)[:MESSAGE_MAX]


def _at(said: str, event: HistoryEvent | None, asked: str) -> Fault:
    if event is None:
        return Fault(FaultKind.NONDETERMINISM, said, asked=asked)
    return Fault(FaultKind.NONDETERMINISM, said, event.event_id, event_words(event), asked)


def _raised(raised: Raised, events: Sequence[HistoryEvent]) -> Fault:
    said = f"{raised.type}: {raised.message}" if raised.type else raised.message
    last = next((event for event in events if event.event_id == raised.length), events[0])
    return Fault(FaultKind.EXCEPTION, said[:MESSAGE_MAX], last.event_id, event_words(last))


def _other_activity(said: str, recorded: str, asked: str, events: Sequence[HistoryEvent], heard: Heard) -> Fault:
    """The core names both types, not the event: it is the first whose activity is now another."""
    now = {one.message.activity_id: one.message.activity_type for one in heard.of("schedule_activity")}
    scheduled = [event for event in events if event.HasField("activity_task_scheduled_event_attributes")]

    def is_it(event: HistoryEvent) -> bool:
        attributes = event.activity_task_scheduled_event_attributes
        return attributes.activity_type.name == recorded and now.get(attributes.activity_id) == asked

    return _at(said, next(filter(is_it, scheduled), None), f"the activity {asked}")


def _asked_instead(said: str, earlier: Sequence[HistoryEvent], heard: Heard) -> str:
    if said.startswith("No command scheduled"):
        return "nothing"
    machine = _MACHINE.match(said)
    kinds = _KINDS.get(machine["machine"], ()) if machine else ()
    new = next(_not_recorded(heard.of(*kinds), earlier), None)
    return new.words if new else (f"something else ({machine['machine']})" if machine else "")


_RECORDED: dict[str, tuple[Callable[[Any], str], Callable[[HistoryEvent], str]]] = {
    "schedule_activity": (
        lambda asked: asked.activity_id,
        lambda event: event.activity_task_scheduled_event_attributes.activity_id,
    ),
    "start_timer": (
        lambda asked: str(asked.seq),
        lambda event: event.timer_started_event_attributes.timer_id,
    ),
}
"""How a command and its event are told to belong together."""


def _not_recorded(asked: Iterator[Asked], events: Sequence[HistoryEvent]) -> Iterator[Asked]:
    """Those the history has no event of."""
    for one in asked:
        if one.kind not in _RECORDED:
            yield one
            continue
        of_command, of_event = _RECORDED[one.kind]
        if of_command(one.message) not in {of_event(event) for event in events}:
            yield one
