"""The hundred runs again and again: what the worker holds does not grow. An hour of `make soak`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pytest
from temporalio.client import Client

from boundary.redis_backend import MAX_CONNECTIONS
from casebound.settings import WorkerSettings
from tests.load.growth import HEADER, MIB, spread, trends
from tests.load.judge import judge
from tests.load.stage import RUNS, TTL_S, Stage, open_stage
from tests.support.waiting import wait_until

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
MINUTES = float(os.environ.get("CASEBOUND_SOAK_MINUTES", "60"))
TRACED = bool(os.environ.get("CASEBOUND_SOAK_TRACED"))
"""Name the lines whose memory grew most."""


def at_least(floor: float) -> Callable[[Sequence[float]], float]:
    """Allow what the first third differs by from round to round, and at least so much."""
    return lambda first: max(floor, spread(first))


def up_to(most: int) -> Callable[[Sequence[float]], float]:
    """Allow what fills up to a bound that is no larger for any number of runs."""
    return lambda first: max(most - median(first), 0)


def none(_: Sequence[float]) -> float:
    """Allow nothing."""
    return 0


CALLS = WorkerSettings().concurrent_calls
STEPS = 100
"""Workflow tasks at once, by the SDK's default; each takes a thread."""

ALLOWED: dict[str, tuple[Callable[[Sequence[float]], float], str]] = {
    "resident MiB": (at_least(2), "twice the middle half of the first third, at least 2 MiB"),
    "descriptors, no store": (at_least(2), "a reconnection to Temporal has both for a moment"),
    "connections to the store": (up_to(CALLS), f"one for each of the {CALLS} calls a worker has at once"),
    "connections in use": (none, "no command runs between rounds"),
    "asyncio tasks": (none, "the worker's own"),
    "threads": (up_to(STEPS + CALLS), f"a pool starts one where none is free: {STEPS} workflow tasks, {CALLS} calls"),
    "cached workflows": (none, "an ended one is evicted"),
}


async def _sampled(stage: Stage) -> tuple[dict[str, float], list[str]]:
    sample, connections = await stage.sample(), await stage.connected()
    values = {
        "resident MiB": sample.rss / MIB,
        "descriptors, no store": sample.descriptors - connections,
        "connections to the store": connections,
        "connections in use": sample.in_use,
        "asyncio tasks": sample.tasks,
        "threads": sample.threads,
        "cached workflows": await stage.cached_workflows(),
    }
    return values, sample.allocations


@pytest.mark.skipif(not SOAK, reason="takes an hour; CASEBOUND_SOAK=1 asks for it")
@pytest.mark.timeout(MINUTES * 60 + TTL_S + 600)
async def test_nothing_grows_while_a_hundred_runs_follow_another(
    temporal_client: Client, valkey_url: str, key_prefix: str, task_queue: str, tmp_path: Path
) -> None:
    """Memory, connections, descriptors, tasks, threads, cached workflows: the last third is as the first.

    And nothing stays in the store: once the last records have expired, none is left.
    """
    rounds: list[dict[str, float]] = []
    allocations: list[str] = []
    end = time.monotonic() + MINUTES * 60
    async with open_stage(temporal_client, valkey_url, key_prefix, task_queue, tmp_path, traced=TRACED) as stage:
        while time.monotonic() < end:
            ended = await stage.play(first=len(rounds) * RUNS)
            for run in ended:
                judge(run)
            values, allocations = await _sampled(stage)
            rounds.append(values)
            print(f"{len(rounds):4} " + ", ".join(f"{k} {v:.1f}" for k, v in values.items()), file=sys.stderr)
        peak = stage.connections
        await wait_until(stage.emptied, description="a store without a record", timeout=TTL_S + 60, interval=1)
    found = trends(rounds, ALLOWED)
    lines = [f"{len(rounds) * RUNS} runs in {MINUTES:g} minutes", HEADER, *[trend.line() for trend in found]]
    print("\n".join([*lines, *allocations]), file=sys.stderr)
    assert peak <= CALLS <= MAX_CONNECTIONS
    assert not [trend.line() for trend in found if trend.grew]
