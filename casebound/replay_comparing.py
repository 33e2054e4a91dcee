"""Compares what the code asks for with what was recorded, where Temporal's Replayer does not look.

The Replayer holds kinds, order, ids and types of commands against the history. Here: arguments, time-outs,
retry policies, task queues, durations of timers, summaries, search attributes, answers to updates and
results. What a history was recorded without is not compared.

Above: `casebound.replay`. Below: Temporal's messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent

from casebound.replay_listening import Asked, Heard, seconds
from casebound.replay_values import NOTHING, Found, payload_differences, value_differences, value_of
from casebound.replay_verdict import Difference, event_words

_TIMEOUTS = {
    "schedule_to_close_timeout": "schedule-to-close time-out",
    "schedule_to_start_timeout": "schedule-to-start time-out",
    "start_to_close_timeout": "start-to-close time-out",
    "heartbeat_timeout": "heartbeat time-out",
}


def differences(events: Sequence[HistoryEvent], heard: Heard) -> Iterator[Difference]:
    """Find what differs, event by event; a step the replay did not come to has nothing to compare."""
    comparison = _Comparison(events, heard)
    for event in events:
        for field, recorded, asked in comparison.of(event):
            yield Difference(event.event_id, event_words(event), field, recorded, asked)


def left_out(events: Sequence[HistoryEvent]) -> tuple[str, ...]:
    """Name what the history was recorded without; the server itself leaves out nothing of it."""
    scheduled = [event for event in events if event.HasField("activity_task_scheduled_event_attributes")]
    if not scheduled or any(
        event.activity_task_scheduled_event_attributes.HasField("start_to_close_timeout") for event in scheduled
    ):
        return ()
    return ("time-outs", "retry policies", "summaries")


class _Comparison:
    """Finds the command that belongs to an event, and holds one against the other."""

    def __init__(self, events: Sequence[HistoryEvent], heard: Heard) -> None:
        own = events[0].workflow_execution_started_event_attributes.task_queue.name
        self._queues = {heard.own_queue: own, "": own}
        self._detailed = not left_out(events)
        self._activities = {one.message.activity_id: one for one in heard.of("schedule_activity")}
        self._timers = {str(one.message.seq): one for one in heard.of("start_timer")}
        self._attributes = heard.of("upsert_workflow_search_attributes")
        self._ends = {
            one.kind: one.message
            for one in heard.of("complete_workflow_execution", "continue_as_new_workflow_execution")
        }
        responses = [one.message for one in heard.of("update_response")]
        self._answers = {one.protocol_instance_id: one for one in responses if one.WhichOneof("response") != "accepted"}
        self._accepted: dict[int, str] = {}
        self._by_event: dict[str, Callable[[HistoryEvent, Any], Found]] = {
            "activity_task_scheduled_event_attributes": self._activity,
            "timer_started_event_attributes": self._timer,
            "upsert_workflow_search_attributes_event_attributes": self._upsert,
            "workflow_execution_update_accepted_event_attributes": self._accept,
            "workflow_execution_update_completed_event_attributes": self._answer,
            "workflow_execution_completed_event_attributes": self._complete,
            "workflow_execution_continued_as_new_event_attributes": self._continue,
        }

    def of(self, event: HistoryEvent) -> Found:
        """What differs at one event."""
        kind = event.WhichOneof("attributes") or ""
        if kind in self._by_event:
            yield from self._by_event[kind](event, getattr(event, kind))

    def _activity(self, event: HistoryEvent, recorded: Any) -> Found:
        asked = self._activities.get(recorded.activity_id)
        if asked is None or asked.message.activity_type != recorded.activity_type.name:
            return
        yield from payload_differences("argument", recorded.input.payloads, asked.message.arguments)
        yield from self._queue(recorded, asked.message)
        if self._detailed:
            yield from _timeouts(recorded, asked.message)
            yield from _retries(recorded.retry_policy, asked.message.retry_policy)
            yield from _summary(event, asked)

    def _timer(self, event: HistoryEvent, recorded: Any) -> Found:
        asked = self._timers.get(recorded.timer_id)
        if asked is None:
            return
        was, now = seconds(recorded.start_to_fire_timeout), seconds(asked.message.start_to_fire_timeout)
        if was != now:
            yield "duration", was, now
        if self._detailed:
            yield from _summary(event, asked)

    def _upsert(self, event: HistoryEvent, recorded: Any) -> Found:
        asked = next(self._attributes, None)
        if asked is not None:
            was, now = recorded.search_attributes.indexed_fields, asked.message.search_attributes.indexed_fields
            yield from value_differences("search attribute", _values(was), _values(now))

    def _accept(self, event: HistoryEvent, recorded: Any) -> Found:
        self._accepted[event.event_id] = recorded.protocol_instance_id
        yield from ()

    def _answer(self, event: HistoryEvent, recorded: Any) -> Found:
        asked = self._answers.get(self._accepted.get(recorded.accepted_event_id, ""))
        if asked is None:
            return
        was, now = recorded.outcome.HasField("success"), asked.HasField("completed")
        if was and now:
            yield from payload_differences("answer", recorded.outcome.success.payloads, [asked.completed])
        elif was or now:
            yield "answer", "given" if was else "refused", "given" if now else "refused"

    def _complete(self, event: HistoryEvent, recorded: Any) -> Found:
        asked = self._ends.get("complete_workflow_execution")
        if asked is not None:
            yield from payload_differences("result", recorded.result.payloads, [asked.result])

    def _continue(self, event: HistoryEvent, recorded: Any) -> Found:
        asked = self._ends.get("continue_as_new_workflow_execution")
        if asked is not None:
            yield from payload_differences("argument", recorded.input.payloads, asked.arguments)
            yield from self._queue(recorded, asked)

    def _queue(self, recorded: Any, asked: Any) -> Found:
        was: str = recorded.task_queue.name
        now = self._queues.get(asked.task_queue) or str(asked.task_queue)
        if was != now:
            yield "task queue", was, now


def _timeouts(recorded: Any, asked: Any) -> Found:
    """Time-outs as the server completes them: one that is not given, or too long, is the whole's."""
    now = {name: _duration(asked, name) for name in _TIMEOUTS}
    whole = now["schedule_to_close_timeout"]
    for name in ("schedule_to_start_timeout", "start_to_close_timeout"):
        now[name] = _shorter(now[name], whole)
    if now["heartbeat_timeout"] is not None:
        now["heartbeat_timeout"] = _shorter(now["heartbeat_timeout"], now["start_to_close_timeout"])
    for name, words in _TIMEOUTS.items():
        was, is_now = _duration(recorded, name), now[name]
        if was != is_now and not (is_now is None and whole is None):
            yield words, _seconds(was), _seconds(is_now)


def _shorter(*durations: float | None) -> float | None:
    return min((duration for duration in durations if duration is not None), default=None)


def _retries(recorded: Message, asked: Message) -> Found:
    was, now = _policy(recorded), _policy(asked)
    for name in dict.fromkeys((*was, *now)):
        # What is not asked for is the server's default, which is recorded.
        if name in now and was.get(name) != now[name]:
            yield f"retry policy {name}", was.get(name, NOTHING), now[name]


def _policy(policy: Message) -> dict[str, str]:
    return {
        field.name: seconds(value) if isinstance(value, Message) else str(value) for field, value in policy.ListFields()
    }


def _duration(message: Any, name: str) -> float | None:
    value = getattr(message, name)
    return value.seconds + value.nanos / 1e9 if message.HasField(name) else None


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.10g} s"


def _summary(event: HistoryEvent, asked: Asked) -> Found:
    was, now = event.user_metadata.summary, asked.command.user_metadata.summary
    yield from value_differences("summary", value_of(was), value_of(now))


def _values(fields: Mapping[str, Payload]) -> dict[str, Any]:
    return {name: value_of(payload) for name, payload in fields.items()}
