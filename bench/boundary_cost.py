"""What the boundary costs per call: `python -m bench.boundary_cost [ROUNDS]`.

A workflow calls an activity 20 times in sequence, and 20 times side by side: once the tool-call
activity with boundary and Valkey, once a bare activity that returns the same bytes, on the same
server and in the same worker. Rounds are paired and shuffled; a second bare series against the
first is the control, so that the noise of the machine is seen next to the ratio. Latency is a
round's time; CPU is this process's (worker and client), without the two servers.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from activities.tool_call import ToolCalls
from bench.workflows import BARE, CALLS, BenchCalls, BenchInput
from boundary.contracts import ToolCallOutcome
from boundary.redis_backend import RedisBackend, connect
from boundary.registry import ToolRegistry
from boundary.tool_boundary import ToolBoundary
from casebound.converter import casebound_data_converter
from casebound.worker import HEARTBEAT_THROTTLE, store_over
from tests.support import temporal
from tests.support.redis_servers import binary, redis_server
from tests.support.tools import FakeAsyncTool

OUTCOME = ToolCallOutcome(
    record_sha256="0" * 64, record_bytes=800, raw_bytes=40, agent_result_bytes=20, preview='{"echo":{"q":1}}'
)
"""What the bare activity returns: as many bytes as the boundary's outcome."""

Samples = dict[str, list[tuple[float, float]]]
"""Seconds of latency and of CPU of each round, by kind."""


@activity.defn(name=BARE)
async def bare(request: object) -> ToolCallOutcome:
    """Do nothing, and return the same bytes."""
    return OUTCOME


async def measure(rounds: int) -> None:
    """Run the rounds and print the ratios."""
    with TemporaryDirectory() as directory, redis_server(binary("valkey"), Path(directory)) as url:
        async with await temporal.start_dev_server() as env:
            client = await env.connect_client(data_converter=casebound_data_converter, identity="cb-12345")
            redis = connect(url)
            store = await store_over(RedisBackend(redis), "bench")
            with ThreadPoolExecutor(8) as pool:
                boundary = ToolBoundary(ToolRegistry([FakeAsyncTool("probe")]), store.invocations, pool)
                async with Worker(
                    client,
                    task_queue="bench",
                    workflows=[BenchCalls],
                    activities=[ToolCalls(boundary, store.store_id).call, bare],
                    build_id="cb",
                    max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
                ):
                    for parallel in (False, True):
                        samples = await _rounds(client, store.store_id, parallel, rounds)
                        _print("20 side by side" if parallel else "20 in sequence", samples)
            await redis.aclose()


async def _rounds(client: Client, store_id: str, parallel: bool, rounds: int) -> Samples:
    samples: Samples = {"bare": [], "bare again": [], "boundary": []}
    for number in range(rounds + 2):
        kinds = list(samples)
        random.shuffle(kinds)
        for kind in kinds:
            request = BenchInput(activity="probe" if kind == "boundary" else BARE, store_id=store_id, parallel=parallel)
            start, cpu = time.perf_counter(), time.process_time()
            name = f"bench-{kind.replace(' ', '-')}-{parallel}-{number}"
            await client.execute_workflow(BenchCalls.run, request, id=name, task_queue="bench")
            if number >= 2:
                samples[kind].append((time.perf_counter() - start, time.process_time() - cpu))
    return samples


def _print(title: str, samples: Samples) -> None:
    print(title)
    for label, pick in (("latency", _latency), ("cpu", _cpu)):
        base = statistics.median(pick(sample) for sample in samples["bare"])
        for kind, rows in samples.items():
            value = statistics.median(pick(row) for row in rows)
            ratio = statistics.median(pick(a) / pick(b) for a, b in zip(rows, samples["bare"], strict=True))
            print(f"  {label:8} {kind:11} {value / CALLS * 1000:6.2f} ms a call, paired ratio {ratio:5.2f} "
                  f"(of medians {value / base:4.2f})")  # fmt: skip


_latency: Callable[[tuple[float, float]], float] = lambda row: row[0]  # noqa: E731 - two names for two columns
_cpu: Callable[[tuple[float, float]], float] = lambda row: row[1]  # noqa: E731 - as above


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
