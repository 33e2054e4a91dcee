"""What a result costs the boundary by its size: `python -m bench.result_cost`.

The boundary alone, over a store in memory, without Temporal: CPU of this process per call whose agent
result is that many bytes of log lines, as one text and as a list of lines; and what of it is JSON and
redaction. Beside it, how long the event loop was kept from answering at worst.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bench.peers.task import log_text
from bench.setting import PREFIX, median, print_table
from boundary.contracts import JsonObject
from boundary.memory_backend import MemoryBackend
from boundary.preflight import RunScope
from boundary.redaction import Redactor
from boundary.registry import ToolRegistry
from boundary.strict_json import dump
from boundary.tool_boundary import ToolBoundary
from casebound.worker import store_over
from tests.support.attempts import FakeAttempt
from tests.support.calls import admitted
from tests.support.tools import FakeTool, show_raw

ROUNDS = 15
SIZES = (100, 1_000, 10_000, 100_000, 200_000)


def _results() -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for size in SIZES:
        found[f"{size} bytes, one text"] = {"text": log_text(size)}
        found[f"{size} bytes, lines"] = {"lines": [line for line in log_text(size).split("\n") if line]}
    return found


async def _one_call(boundary: ToolBoundary, number: int, name: str) -> float:
    call = admitted(f"call_{number}", run_id=f"run-{hash(name)}", grant_bytes=4_000_000)
    start = time.process_time()
    outcome = await boundary.invoke(call, RunScope(call.run_id, cancelled=False), FakeAttempt())
    assert outcome.error is None, outcome
    return time.process_time() - start


async def _late(worst: list[float]) -> None:
    """Note how late the loop comes back from a sleep of a millisecond."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(0.001)
        worst[0] = max(worst[0], time.perf_counter() - start - 0.001)


async def measure() -> None:
    """Call and print."""
    store = await store_over(MemoryBackend(), PREFIX)
    rows: list[list[str | float]] = []
    for name, result in _results().items():
        tool = FakeTool(work=lambda arguments, context, result=result: result, show=show_raw)
        with ThreadPoolExecutor(1) as pool:
            boundary = ToolBoundary(ToolRegistry([tool]), store.invocations, pool)
            quiet = [await _one_call(boundary, number, name) for number in range(ROUNDS)]
            worst = [0.0]
            watching = asyncio.create_task(_late(worst))
            for number in range(ROUNDS, 2 * ROUNDS):
                await _one_call(boundary, number, name)
            watching.cancel()
        redaction = [_cpu(Redactor().value, result) for _ in range(ROUNDS)]
        json = [_cpu(dump, result) for _ in range(ROUNDS)]
        rows.append([name, *(1000 * median(series) for series in (quiet, redaction, json)), worst[0] * 1000])
    head = ["agent result", "CPU ms a call", "redaction", "JSON, once", "loop late by, ms"]
    print_table(f"The boundary alone, medians of {ROUNDS} calls", head, rows)


def _cpu(work: Callable[[JsonObject], object], result: JsonObject) -> float:
    start = time.process_time()
    work(result)
    return time.process_time() - start


if __name__ == "__main__":
    asyncio.run(measure())
