"""What a run's history holds: `python -m bench.history`.

Three questions: the bytes by event type of ten sequential calls of 100 KB; bytes and events per
call against the size of a result (1 KB to 1 MB); and against the number of turns (10 to 200). Each
run has a planner turn before each call, a 2 KB runbook text in its input, three claims with
citations, and the checked report as its result. `history_size_bytes` is the server's own figure.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from activities.contracts import RunOutcome
from bench.peers.task import log_text
from bench.setting import Setting, print_table, servers
from boundary.contracts import EvidenceStatus, JsonObject, JsonValue
from boundary.report import Verdict
from boundary.tools import Projection
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import ANY_OBJECT, FakeTool, show_raw

CALLS = 10
RUNBOOK_BYTES = 2_048
SHOWN_MAX = 200_000
"""The agent is shown a larger result in part, as a real tool would: the limit is 256 KiB."""


@dataclass(frozen=True)
class Measured:
    """A run that reported."""

    size: int
    events: int
    seconds: float
    history: WorkflowHistory


def _show_part(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
    text = cast(JsonObject, raw)["text"]
    return Projection({"matched": 286, "text": str(text)[:SHOWN_MAX]}, EvidenceStatus.EVIDENCE_FOUND, truncated=True)


async def run(setting: Setting, result_bytes: int, turns: int = CALLS) -> Measured:
    """Carry out a run of one call a turn."""
    harness = Harness(setting.client, setting.store, f"bench-{result_bytes}-{turns}")
    raw: JsonObject = {"matched": 286, "text": log_text(result_bytes)}
    show: Callable[..., Projection] = _show_part if result_bytes > SHOWN_MAX else show_raw
    tool = FakeTool("search_logs", work=lambda arguments, context: raw, show=show, schema=ANY_OBJECT)
    wanted = {"source": "app", "pattern": "error [0-9]+", "limit": 50}
    script = [calls(call(f"step-{n}", "search_logs", wanted)) for n in range(turns)]
    claims = [claim(f"Finding {n} of the run.", cite(f"step-{n}", pointer="/matched")) for n in range(3)]
    async with harness.worker([*script, report(*claims)], [tool]):
        start = time.perf_counter()
        handle = await harness.start(runbook="#" * RUNBOOK_BYTES, max_turns=turns + 1, max_tool_calls=turns)
        result = await handle.result()
        seconds = time.perf_counter() - start
    assert (result.outcome, result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED), result
    info = (await handle.describe()).raw_description.workflow_execution_info
    return Measured(info.history_size_bytes, info.history_length, seconds, await handle.fetch_history())


async def measure() -> None:
    """Carry out the runs and print what their histories hold."""
    async with servers() as setting:
        by_size = {size: await run(setting, size) for size in (1_000, 100_000, 1_000_000)}
        by_turns = {turns: await run(setting, 1_000, turns) for turns in (10, 50, 100, 200)}
    _print_events(by_size[100_000])
    smallest = by_size[1_000]
    print_table(
        f"{CALLS} calls in sequence, against the size of a result",
        ["result bytes", "history bytes", "events", "bytes a call", "events a call", "ratio of bytes"],
        [
            [size, one.size, one.events, one.size // CALLS, one.events / CALLS, one.size / smallest.size]
            for size, one in by_size.items()
        ],
    )
    first = by_turns[10]
    print_table(
        "1 KB results, one call a turn, against the number of turns",
        ["turns", "history bytes", "events", "bytes more a turn", "events more a turn", "s"],
        [
            [
                turns,
                one.size,
                one.events,
                *(["", ""] if one is first else _growth(first, one, turns - 10)),
                one.seconds,
            ]
            for turns, one in by_turns.items()
        ],
    )


def _growth(first: Measured, one: Measured, turns: int) -> list[float]:
    return [(one.size - first.size) / turns, (one.events - first.events) / turns]


def _print_events(measured: Measured) -> None:
    size, count = Counter[str](), Counter[str]()
    for event in measured.history.events:
        kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
        size[kind] += event.ByteSize()
        count[kind] += 1
    print_table(
        f"{CALLS} calls of 100 KB: {measured.size} bytes in {measured.events} events",
        ["event type", "events", "bytes", "bytes each"],
        [[kind, count[kind], total, total // count[kind]] for kind, total in size.most_common()],
    )


if __name__ == "__main__":
    asyncio.run(measure())
