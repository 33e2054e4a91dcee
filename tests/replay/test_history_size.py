"""What one call leaves in a run's history: six events, two kilobytes, and nothing of its result but a preview.

Sizes are the server's own, or those of events as the server stores them. Small differences are
allowed, since a number may have a digit more, and a time a byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from temporalio.api.enums.v1 import EventType

from activities.contracts import RunOutcome
from boundary.contracts import PREVIEW_DEFAULT, PREVIEW_MAX, EvidenceStatus, JsonObject, JsonValue
from boundary.limits import AGENT_RESULT_MAX_BYTES, KIB, MIB
from boundary.report import Verdict
from boundary.tools import Projection, ToolContext
from tests.support.histories import text_of
from tests.support.runs import Finished, Harness, call, calls, cite, claim, report
from tests.support.tools import ANY_OBJECT, CANARY, FakeTool

CALL_EVENTS = 6
"""Scheduled, started, completed, and the workflow task that takes the result."""

CALL_BYTES = 2 * KIB
"""Beside twice the argument text."""

NOISE = 16
"""Bytes by which two events of one kind may differ: digits of sizes, counts and times."""

ARGUMENTS = {"source": "app", "pattern": "error [0-9]+", "limit": 50}


class Step(NamedTuple):
    """The events of one activity of a sequential run: its own, and the workflow task that follows it."""

    activity: str
    sizes: tuple[int, ...]


def steps(done: Finished) -> list[Step]:
    """Split a sequential history at each scheduled activity."""
    found: list[tuple[str, list[int]]] = []
    for event in done.history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            found.append((event.activity_task_scheduled_event_attributes.activity_type.name, []))
        if found:
            found[-1][1].append(event.ByteSize())
    return [Step(name, tuple(sizes)) for name, sizes in found]


def calls_of(done: Finished) -> Iterator[Step]:
    """The steps that are tool calls."""
    return (step for step in steps(done) if not step.activity.startswith("casebound."))


def returning(text: str, dropped: int) -> FakeTool:
    """A tool whose raw response has the text, shown, and so many bytes that are not."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        return {"text": text, "rest": "y" * dropped}

    def show(arguments: JsonObject, raw: Any, budget_bytes: int) -> Projection:
        return Projection({"text": raw["text"]}, EvidenceStatus.EVIDENCE_FOUND)

    return FakeTool("search_logs", work=work, show=show, schema=ANY_OBJECT)


async def history_bytes(runs: Harness, tool: FakeTool, *, turns: int = 3) -> tuple[int, int, Finished]:
    """Carry out a run of sequential calls; the server's size of its history, and its number of events."""
    script = [calls(call(f"step-{n}", "search_logs", ARGUMENTS)) for n in range(10, 10 + turns)]
    async with runs.worker([*script, report(claim("seen", cite("step-10", pointer="/text")))], [tool]):
        handle = await runs.start()
        result = await handle.result()
    assert (result.outcome, result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    info = (await handle.describe()).raw_description.workflow_execution_info
    return info.history_size_bytes, info.history_length, await runs.finished(handle, result)


@pytest.mark.proves("INV-HISTORY-CONSTANT")
@pytest.mark.parametrize(
    ("shown", "dropped"),
    [(KIB, MIB), (AGENT_RESULT_MAX_BYTES - 100, KIB), (AGENT_RESULT_MAX_BYTES - 100, MIB)],
    ids=["1 MB raw", "agent result up to its limit", "both"],
)
async def test_a_history_does_not_grow_with_the_result(runs: Harness, shown: int, dropped: int) -> None:
    """From a kilobyte to a megabyte: the same events, and the bytes of a few more digits."""
    small_bytes, small_events, small = await history_bytes(runs, returning("x" * KIB, KIB))
    large_bytes, large_events, large = await history_bytes(runs, returning("x" * shown, dropped))
    assert min(stored.bytes for stored in large.records.values()) > 100 * KIB > small.records["step-10"].bytes
    assert large_events == small_events
    assert abs(large_bytes - small_bytes) <= small_events * NOISE / 2


@pytest.mark.proves("INV-HISTORY-CONSTANT")
async def test_a_turn_leaves_as_much_in_the_history_as_every_other(runs: Harness) -> None:
    """Turn 2 and turn 20, planning and calling, event by event."""
    *_, done = await history_bytes(runs, returning("x" * KIB, KIB), turns=20)
    planned = [step for step in steps(done) if step.activity == "casebound.plan"]
    called = list(calls_of(done))
    for early, late in ((planned[1], planned[19]), (called[1], called[19])):
        assert len(early.sizes) == len(late.sizes) == CALL_EVENTS
        assert max(abs(one - other) for one, other in zip(early.sizes, late.sizes, strict=True)) <= NOISE


LONG = "y" * 10_000
CASES: list[tuple[str, JsonObject, str, int]] = [
    ("few arguments", ARGUMENTS, "x" * KIB, PREVIEW_DEFAULT),
    ("no arguments", {}, "x" * KIB, PREVIEW_DEFAULT),
    ("10 KB of arguments", {"pattern": LONG}, "x" * KIB, PREVIEW_DEFAULT),
    ("a result of three-byte characters", ARGUMENTS, "証" * KIB, PREVIEW_DEFAULT),
    ("a result of quotes", ARGUMENTS, '"' * KIB, PREVIEW_DEFAULT),
    ("the longest preview", ARGUMENTS, "x" * KIB, PREVIEW_MAX),
]


@pytest.mark.proves("INV-HISTORY-CONSTANT")
@pytest.mark.parametrize(("arguments", "text", "preview"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
async def test_a_call_leaves_six_events_and_two_kilobytes_beside_its_arguments(
    runs: Harness, arguments: JsonObject, text: str, preview: int
) -> None:
    """Its own events and the workflow task after it; the argument text stands in the turn and in its input."""
    script = [*[calls(call(f"step-{n}", "search_logs", arguments)) for n in range(10, 12)], report()]
    done = await runs.run(script, [returning(text, KIB)], preview_chars=preview)
    argument_bytes = len(json.dumps(json.dumps(arguments)).encode())
    found = list(calls_of(done))
    assert len(found) == 2
    for step in found:
        assert len(step.sizes) == CALL_EVENTS
        assert sum(step.sizes) + argument_bytes <= CALL_BYTES + 2 * argument_bytes


@pytest.mark.proves("INV-AGENT-TEXT-IN-HISTORY")
@pytest.mark.parametrize("preview", [0, PREVIEW_DEFAULT, PREVIEW_MAX])
async def test_agent_text_stands_in_previews_and_report_quotes_only(runs: Harness, preview: int) -> None:
    """Text behind the preview is nowhere in the history but where the report quotes it; nor is raw."""
    head, quoted, tail = "head-7c21", "quoted-5b90 as it stands", "tail-e4aa"
    text = f"{head} {'x' * PREVIEW_MAX} {quoted} {tail}"
    script = [calls(call("one", "search_logs")), report(claim("seen", cite("one", quote=quoted)))]
    done = await runs.run(script, [returning(text, KIB)], preview_chars=preview)
    assert done.result.verdict is Verdict.SUPPORTED
    assert tail.encode() in (done.records["one"].agent_result or b"")
    assert places_of(done, tail) == []
    assert places_of(done, "y" * 20) == []
    assert places_of(done, head) == (["ACTIVITY_TASK_COMPLETED"] if preview else [])
    assert places_of(done, quoted) == ["ACTIVITY_TASK_COMPLETED", "WORKFLOW_EXECUTION_COMPLETED"]


@pytest.mark.proves("INV-AGENT-TEXT-IN-HISTORY")
async def test_a_pointer_alone_puts_the_beginning_of_its_scalar_into_the_report(runs: Harness) -> None:
    """So that a reader sees what was cited; of a long text only the first 300 characters."""
    text = f"{'x' * 400} tail-e4aa"
    script = [calls(call("one", "search_logs")), report(claim("seen", cite("one", pointer="/text")))]
    done = await runs.run(script, [returning(text, KIB)], preview_chars=0)
    [[citation]] = [checked.citations for checked in done.result.claims]
    assert citation.quote is not None
    assert citation.quote.startswith("xxx")
    assert "x" * 301 not in text_of(done.history)
    assert places_of(done, "tail-e4aa") == []


@pytest.mark.proves("INV-NO-RAW-IN-HISTORY")
async def test_what_a_projector_drops_is_in_no_payload_of_the_history(runs: Harness) -> None:
    """The canary of raw is not there, though text that was shown is found by the same search."""
    done = await runs.run([calls(call("one")), report()], [FakeTool(work=echo_with_canary)])
    assert CANARY.encode() in (done.records["one"].raw or b"")
    assert "shown-88d0" in text_of(done.history)
    assert "shown-88d0" not in done.history.to_json(), "payloads are base64 there: a search proves nothing"
    assert CANARY not in text_of(done.history)


def echo_with_canary(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer with something the agent sees, and something it must not."""
    return {"echo": "shown-88d0", "secret": CANARY}


def places_of(done: Finished, text: str) -> list[str]:
    """Types of the events that hold the text anywhere, payloads decoded, in order."""
    return [
        EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
        for event in done.history.events
        if text.encode() in event.SerializeToString()
    ]
