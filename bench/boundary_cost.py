"""What the boundary costs per call: `python -m bench.boundary_cost [SHAPE ...] [--rounds N] [--limit SECONDS]`.

A workflow calls an activity once, 20 times in sequence, 20 times side by side, or 10 times in each
of 50 runs at once: either the tool-call activity with boundary and Valkey, or a bare activity that
returns the same bytes, on the same server and in the same worker. Rounds are paired and shuffled. The
boundary is held against the mean of two bare series of its round; the second bare series against the
first is the control, so that the machine's noise stands beside the ratio. Time is a round's, CPU is
this process's (worker and client) without the two servers.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from activities.tool_call import ToolCalls
from bench.setting import LIMIT_S, Rounds, Setting, median, paired, print_table, servers, spread
from bench.workflows import BARE, BenchCalls, BenchInput
from boundary.contracts import ToolCallOutcome
from boundary.registry import ToolRegistry
from boundary.tool_boundary import ToolBoundary
from casebound.worker import HEARTBEAT_THROTTLE
from tests.support.tools import FakeAsyncTool

TASK_QUEUE = "bench"
WARM_UP = 2
"""Rounds that are not counted."""

KINDS = ("bare", "bare again", "boundary")

OUTCOME = ToolCallOutcome(
    record_sha256="0" * 64, record_bytes=800, raw_bytes=40, agent_result_bytes=20, preview='{"echo":{"q":1}}'
)
"""What the bare activity returns: as many bytes as the boundary's outcome."""


@dataclass(frozen=True)
class Shape:
    """How a round calls."""

    title: str
    calls: int
    parallel: bool = False
    runs: int = 1

    @property
    def total(self) -> int:
        """Calls of one round."""
        return self.calls * self.runs


SHAPES = {
    "one": Shape("1 call", 1),
    "sequence": Shape("20 calls in sequence", 20),
    "parallel": Shape("20 calls side by side", 20, parallel=True),
    "runs": Shape("50 runs at once of 10 calls in sequence", 10, runs=50),
}


@dataclass(frozen=True)
class Round:
    """What one round took."""

    wall_s: float
    cpu_s: float


@activity.defn(name=BARE)
async def bare(request: object) -> ToolCallOutcome:
    """Do nothing, and return the same bytes."""
    return OUTCOME


@asynccontextmanager
async def worker(setting: Setting) -> AsyncGenerator[None]:
    """Serve both kinds of call until the block ends."""
    with ThreadPoolExecutor(8) as pool:
        boundary = ToolBoundary(ToolRegistry([FakeAsyncTool("probe")]), setting.store.invocations, pool)
        async with Worker(
            setting.client,
            task_queue=TASK_QUEUE,
            workflows=[BenchCalls],
            activities=[ToolCalls(boundary, setting.store.store_id).call, bare],
            build_id="cb",
            max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
        ):
            yield


async def one_round(client: Client, request: BenchInput, shape: Shape, name: str) -> Round:
    """Carry out the runs of a round and measure it."""
    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(
        *[
            client.execute_workflow(BenchCalls.run, request, id=f"{name}-{number}", task_queue=TASK_QUEUE)
            for number in range(shape.runs)
        ]
    )
    return Round(time.perf_counter() - start, time.process_time() - cpu)


async def measure(names: list[str], rounds: int, limit_s: float) -> None:
    """Measure the shapes one after the other."""
    counted = Rounds(len(names) * (rounds + WARM_UP), limit_s)
    budget = iter(counted)
    async with servers() as setting, worker(setting):
        for name in names:
            shape, samples = SHAPES[name], {kind: list[Round]() for kind in KINDS}
            for number in range(rounds + WARM_UP):
                if next(budget, None) is None:
                    break
                for kind in random.sample(KINDS, len(KINDS)):
                    request = BenchInput(
                        activity="probe" if kind == "boundary" else BARE,
                        store_id=setting.store.store_id,
                        calls=shape.calls,
                        parallel=shape.parallel,
                    )
                    done = await one_round(setting.client, request, shape, f"{name}-{kind.replace(' ', '-')}-{number}")
                    if number >= WARM_UP:
                        samples[kind].append(done)
            _print(shape, samples)


def _print(shape: Shape, samples: dict[str, list[Round]]) -> None:
    bases = samples["bare"]
    if not bases:
        print(f"\n{shape.title}: no time was left")
        return
    both = [_mean(one, other) for one, other in zip(bases, samples["bare again"], strict=True)]
    against = {"bare": bases, "bare again": bases, "boundary": both}
    rows = [[kind, *_figures(samples[kind], against[kind], shape.total)] for kind in KINDS]
    head = ["", "ms a call", "ratio", "middle half", "throughput", "CPU ms a call", "ratio"]
    print_table(f"{shape.title}, {len(bases)} rounds", head, rows)


def _figures(done: list[Round], bases: list[Round], total: int) -> list[str | float]:
    ratios = [one.wall_s / base.wall_s for one, base in zip(done, bases, strict=True)]
    return [
        median(one.wall_s for one in done) / total * 1000,
        median(ratios),
        spread(ratios),
        1 / median(ratios),
        median(one.cpu_s for one in done) / total * 1000,
        paired([one.cpu_s for one in done], [base.cpu_s for base in bases]),
    ]


def _mean(one: Round, other: Round) -> Round:
    return Round((one.wall_s + other.wall_s) / 2, (one.cpu_s + other.cpu_s) / 2)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Measure what the boundary costs per call.")
    arguments.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)}; default: all")
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--limit", type=float, default=LIMIT_S, help="seconds after which no round begins")
    given = arguments.parse_args()
    if unknown := set(given.shapes) - set(SHAPES):
        arguments.error(f"no such shape: {', '.join(sorted(unknown))}")
    asyncio.run(measure(given.shapes or list(SHAPES), given.rounds, given.limit))
