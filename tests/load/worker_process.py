"""The one worker of the hundred runs, in a process of its own: `python -m tests.load.worker_process ORDER`.

For each line on stdin it says on stdout, as one line of JSON, what it holds right now; when stdin closes it ends.
Its metrics, the SDK's own, are at `metrics_port`. Above: `tests.load.stage`. Below: the real worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import psutil
from pydantic import BaseModel
from temporalio.client import Client
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from activities.contracts import PlanInput, TurnMode
from activities.planners.port import RequestedCall, RunView, Turn
from activities.stored import RunBrief
from boundary.contracts import JsonObject, JsonValue
from boundary.redis_backend import RedisBackend, connect
from boundary.tools import ToolContext
from casebound.converter import casebound_data_converter
from casebound.settings import Settings, WorkerSettings
from casebound.worker import open_worker, store_over
from tests.load.scripts import MAX_CALLS, script_of
from tests.support.tools import ANY_OBJECT, FakeAsyncTool, FakeTool, show_raw

WORK_S = 0.03
"""Each call's, so that calls of a run do meet."""


class Order(BaseModel):
    """What the process is told."""

    temporal: str
    redis_url: str
    prefix: str
    task_queue: str
    metrics_port: int
    traced: bool = False
    """Say where memory went, too; costs time and memory itself."""


class Sample(BaseModel):
    """What the process holds, and what ran side by side since the last sample."""

    rss: int
    """Bytes of memory that are its own, after a collection of garbage."""
    descriptors: int
    tasks: int
    threads: int
    in_use: int
    """Connections to the store that a command holds."""
    peaks: dict[str, int]
    """By run: most calls of it at once."""
    peak: int
    """Most calls of all runs at once."""
    executed: int
    allocations: list[str] = []


class Gauge:
    """Counts the calls that run at once. Tools of threads and of the loop share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.peaks: Counter[str] = Counter()
        self.peak = self.executed = 0

    def enter(self, run: str) -> None:
        """Count a call that begins."""
        with self._lock:
            self._running[run] += 1
            self.executed += 1
            self.peaks[run] = max(self.peaks[run], self._running[run])
            self.peak = max(self.peak, self._running.total())

    def leave(self, run: str) -> None:
        """Count it as over."""
        with self._lock:
            self._running[run] -= 1
            if not self._running[run]:
                del self._running[run]


def tools_of(gauge: Gauge) -> list[FakeTool]:
    """Small tools that answer after a moment with as much as they are asked for."""
    moment = threading.Event()

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        run = str(arguments["run"])
        gauge.enter(run)
        moment.wait(WORK_S)
        gauge.leave(run)
        return "x" * int(str(arguments["body"]))

    async def work_async(arguments: JsonObject, context: ToolContext) -> JsonValue:
        run = str(arguments["run"])
        gauge.enter(run)
        await asyncio.sleep(WORK_S)
        gauge.leave(run)
        return "x" * int(str(arguments["body"]))

    return [
        FakeTool(name, work=work, show=show_raw, schema=ANY_OBJECT, max_calls=limit)
        if name == "threaded"
        else FakeAsyncTool(name, work_async=work_async, show=show_raw, schema=ANY_OBJECT, max_calls=limit)
        for name, limit in MAX_CALLS.items()
    ]


class NumberedPlanner:
    """Plays the script whose number is the first word of the run's question."""

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Ask for the calls of the turn; after the last, or at a limit, report nothing."""
        turns = script_of(int(run.brief.question.split()[0])).turns
        if plan.mode is not TurnMode.PLAN or plan.number > len(turns):
            return Turn(report={"claims": []})
        return Turn(
            calls=[
                RequestedCall(
                    asked.call_id,
                    asked.tool,
                    json.dumps({"run": run.brief.run_id, "place": f"{plan.number}.{place}", "body": asked.body}),
                )
                for place, asked in enumerate(turns[plan.number - 1])
            ]
        )


def sample(gauge: Gauge, pool: Any, traced: bool) -> Sample:
    """Look at this process."""
    gc.collect()
    process = psutil.Process()
    taken = Sample(
        rss=process.memory_info().rss,
        descriptors=process.num_fds(),
        tasks=len(asyncio.all_tasks()),
        threads=process.num_threads(),
        in_use=len(getattr(pool, "_in_use_connections", ())),
        peaks=dict(gauge.peaks),
        peak=gauge.peak,
        executed=gauge.executed,
        allocations=[str(line) for line in tracemalloc.take_snapshot().statistics("lineno")[:25]] if traced else [],
    )
    gauge.forget()
    return taken


async def serve(order: Order, say: Callable[[str], None]) -> None:
    """Serve, and say what was asked for, until stdin closes."""
    runtime = Runtime(
        telemetry=TelemetryConfig(metrics=PrometheusConfig(bind_address=f"127.0.0.1:{order.metrics_port}"))
    )
    client = await Client.connect(
        order.temporal, data_converter=casebound_data_converter, identity="load", runtime=runtime
    )
    redis = connect(order.redis_url)
    gauge = Gauge()
    tools = tools_of(gauge)
    async with contextlib.aclosing(redis):
        store = await store_over(RedisBackend(redis), order.prefix)
        async with open_worker(
            Settings(worker=WorkerSettings(graceful_shutdown_s=0)),
            client,
            store,
            task_queue=order.task_queue,
            tools=tools,
            planners={"numbered": NumberedPlanner()},
        ):
            say("serving")
            while await asyncio.to_thread(sys.stdin.readline):
                for tool in tools:
                    tool.executed.clear()  # the doubles remember every call; the worker under test does not
                say(sample(gauge, redis.connection_pool, order.traced).model_dump_json())


def answers() -> Callable[[str], None]:
    """Keep stdout for answers alone: what else is written there, as the SDK's core does, goes where errors go."""
    kept = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return lambda text: print(text, file=kept, flush=True)


if __name__ == "__main__":
    told = Order.model_validate_json(sys.argv[1])
    if told.traced:
        tracemalloc.start()
    asyncio.run(serve(told, answers()))
