"""What a run of many turns costs, and whether the cost grows with its calls only: `python -m bench.long_run`.

Runs of 125, 250 and 500 turns of four calls, 1 KB each, on a planner that reads every result in every
turn, as a model's transcript would have it. For each: executions of the chain, the largest history
among them, bytes and events in all; what the store was sent and sent back, and the CPU its server used.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass

from redis.asyncio import Redis
from temporalio.client import Client

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import RunView, Turn
from activities.stored import RunBrief
from bench.peers.task import log_text
from bench.setting import Setting, print_table, servers
from boundary.report import Verdict
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import ANY_OBJECT, FakeTool, show_raw

TURNS = (125, 250, 500)
CALLS_A_TURN = 4


class ReadsEverything:
    """Asks for four calls a turn, after reading all results so far; reports on the first and the last."""

    def __init__(self, turns: int) -> None:
        self._turns = turns

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        past = await run.past_turns()
        ids = [one.tool_call_id for turn in past for one in turn.calls if isinstance(one.tool_call_id, str)]
        assert len(await run.results(ids)) == len(ids)
        if plan.number > self._turns:
            return report(*[claim("seen", cite(call_id, pointer="/matched")) for call_id in (ids[0], ids[-1])])
        return calls(*[call(f"t{plan.number}.{n}", "look", {"q": len(ids) + n}) for n in range(CALLS_A_TURN)])


@dataclass(frozen=True)
class Cost:
    """Of one run."""

    calls: int
    executions: int
    largest_bytes: int
    largest_events: int
    bytes: int
    events: int
    store_in: int
    store_out: int
    store_cpu_s: float
    seconds: float


async def run(setting: Setting, turns: int) -> Cost:
    """Carry out a run and add up what it cost."""
    harness = Harness(setting.client, setting.store, f"long-{turns}")
    tool = FakeTool("look", work=lambda a, c: {"matched": 7, "text": log_text(1_000)}, show=show_raw, schema=ANY_OBJECT)
    watcher = Redis.from_url(setting.redis_url)
    async with contextlib.aclosing(watcher), harness.worker(ReadsEverything(turns), [tool]):
        before, start = await _store(watcher), time.perf_counter()
        count = turns * CALLS_A_TURN
        handle = await harness.start(max_turns=turns + 1, max_tool_calls=count, deadline_s=3600)
        result = await handle.result()
        seconds, after = time.perf_counter() - start, await _store(watcher)
        assert (result.outcome, result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED), result
        assert result.budget.tool_calls.used == count
        sizes = await _executions(setting.client, handle.id, handle.first_execution_run_id)
    return Cost(
        calls=count,
        executions=len(sizes),
        largest_bytes=max(size for size, _ in sizes),
        largest_events=max(events for _, events in sizes),
        bytes=sum(size for size, _ in sizes),
        events=sum(events for _, events in sizes),
        store_in=round(after[0] - before[0]),
        store_out=round(after[1] - before[1]),
        store_cpu_s=after[2] - before[2],
        seconds=seconds,
    )


async def _store(watcher: Redis) -> tuple[float, float, float]:
    told = await watcher.info("all")
    cpu = float(told["used_cpu_sys"]) + float(told["used_cpu_user"])
    return float(told["total_net_input_bytes"]), float(told["total_net_output_bytes"]), cpu


async def _executions(client: Client, workflow_id: str, run_id: str | None) -> list[tuple[int, int]]:
    """Read bytes and events of each execution of the chain."""
    found: list[tuple[int, int]] = []
    while run_id:
        handle = client.get_workflow_handle(workflow_id, run_id=run_id)
        info = (await handle.describe()).raw_description.workflow_execution_info
        found.append((info.history_size_bytes, info.history_length))
        last = (await handle.fetch_history()).events[-1]
        run_id = last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    return found


async def measure() -> None:
    """Carry out the runs and print what they cost."""
    async with servers() as setting:
        costs = [await run(setting, turns) for turns in TURNS]
    print_table(
        "Runs of four calls a turn",
        ["calls", "executions", "largest: bytes", "events", "in all: bytes", "events", "bytes a call", "events a call"],
        [_history_row(c) for c in costs],
    )
    print_table(
        "What the store was sent, sent back and worked for them",
        ["calls", "KB in a call", "KB out a call", "store's CPU ms a call", "seconds a call"],
        [_store_row(c) for c in costs],
    )


def _history_row(cost: Cost) -> list[float]:
    largest, total = [cost.largest_bytes, cost.largest_events], [cost.bytes, cost.events]
    return [cost.calls, cost.executions, *largest, *total, *(each / cost.calls for each in total)]


def _store_row(cost: Cost) -> list[float]:
    a_call = [cost.store_in / 1000, cost.store_out / 1000, cost.store_cpu_s * 1000, cost.seconds]
    return [cost.calls, *(each / cost.calls for each in a_call)]


if __name__ == "__main__":
    asyncio.run(measure())
