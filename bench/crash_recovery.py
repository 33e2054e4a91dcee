"""How soon a run goes on after its worker was killed: `python -m bench.crash_recovery [ROUNDS]`.

A worker in a process of its own has `RUNS` runs inside their tool; a second one waits beside it. The
first is killed with SIGKILL. Measured from the kill: until the tool begins again on the second, and
until the run has reported. Every run must then hold one record, READY, of two executions.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from activities.contracts import RunOutcome, RunResult
from activities.planners.scripted import ScriptedPlanner
from bench.setting import PREFIX, Rounds, Setting, median, print_table, servers
from bench.worker_process import SCRIPT, entered_key
from boundary.contracts import JsonObject, JsonValue
from boundary.report import Verdict
from boundary.tools import ToolContext
from tests.support.runs import Harness, RunHandle
from tests.support.tools import FakeTool

RUNS = 5
LONGEST_S = 40.0


@asynccontextmanager
async def _doomed(setting: Setting, task_queue: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    address = setting.client.service_client.config.target_host
    command = [sys.executable, "-m", "bench.worker_process", address, setting.redis_url, PREFIX, task_queue]
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def one_round(setting: Setting, number: int) -> tuple[list[float], list[float]]:
    """Kill a worker under its runs; returns when tools began again, and when runs had reported."""
    task_queue, again = f"bench-crash-{number}", list[float]()

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        again.append(time.perf_counter())
        return {"echo": arguments}

    harness = Harness(setting.client, setting.store, task_queue)
    async with _doomed(setting, task_queue) as process:
        handles = [await harness.start() for _ in range(RUNS)]
        await asyncio.wait_for(_all_entered(setting, task_queue), LONGEST_S)
        async with harness.worker(ScriptedPlanner(SCRIPT), [FakeTool(work=work)]):
            await asyncio.sleep(0.5)  # beats arrive, and the second worker polls
            killed = time.perf_counter()
            process.kill()
            ended = await asyncio.wait_for(asyncio.gather(*[_end(handle) for handle in handles]), LONGEST_S)
        for handle in handles:
            assert handle.first_execution_run_id is not None
            found = await setting.store.invocations.read(
                handle.first_execution_run_id, ["one"], now_ms=await setting.store.backend.now_ms()
            )
            assert found["one"].record.executions == 2, found
    return [moment - killed for moment in again], [moment - killed for moment in ended]


async def _all_entered(setting: Setting, task_queue: str) -> None:
    client = Redis.from_url(setting.redis_url)
    async with contextlib.aclosing(client):
        while int(await client.get(entered_key(task_queue)) or 0) < RUNS:
            await asyncio.sleep(0.02)


async def _end(handle: RunHandle) -> float:
    result: RunResult = await handle.result()
    assert (result.outcome, result.verdict, result.unsettled) == (RunOutcome.REPORTED, Verdict.SUPPORTED, 0), result
    return time.perf_counter()


async def measure(rounds: int) -> None:
    """Kill and print."""
    again, ended = list[float](), list[float]()
    async with servers() as setting:
        for number in Rounds(rounds, 70):
            began, finished = await one_round(setting, number)
            again += began
            ended += finished
    print_table(
        f"From SIGKILL, {len(ended)} runs, {RUNS} at a time",
        ["", "median, s", "shortest", "longest"],
        [
            ["tool begins again", median(again), min(again), max(again)],
            ["run reported", median(ended), min(ended), max(ended)],
        ],
    )


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
