"""Where the tests of ownership play: one store, one task queue, workers here and in other processes.

Above: the tests. Below: `tests.support.runs` for runs, `watched` and `processes` for workers.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from temporalio.client import Client

from activities.contracts import RunOutcome, RunResult
from activities.planners.port import Turn
from boundary.contracts import InvocationStatus
from boundary.record import CanonicalInvocation
from boundary.redis_backend import RedisBackend, connect
from boundary.report import Verdict
from casebound.worker import Store, store_over
from tests.crash.processes import SOON_S, WorkerProcess
from tests.crash.watched import (
    SCRIPT,
    Point,
    Points,
    WatchedPlanner,
    watched_client,
    watched_store,
    watched_tools,
)
from tests.crash.worker_process import Order
from tests.support.runs import Finished, Harness, RunHandle, call, calls, cite, claim, report
from tests.support.waiting import wait_until

Script = Sequence[Turn]


def one_call(tool: str = "probe") -> list[Turn]:
    """A script of one call, `one`, and a report that its evidence proves."""
    return [
        calls(call("one", tool, {"q": 1})),
        report(claim("q was one", cite("one", pointer="/echo/q", quote="1"))),
    ]


@dataclass
class Stage:
    """One test's workers, runs and records."""

    client: Client
    store: Store
    """The test's own view, in which nothing waits or dies."""
    redis_url: str
    prefix: str
    task_queue: str
    folder: Path
    processes: list[WorkerProcess]

    @property
    def harness(self) -> Harness:
        """Starts runs, and checks what they left."""
        return Harness(self.client, self.store, self.task_queue)

    def order(self, script: Script, **options: Any) -> Order:
        """Tell a worker what to serve; options are those of `Order`."""
        return Order(
            temporal=self.client.service_client.config.target_host,
            redis_url=self.redis_url,
            prefix=self.prefix,
            task_queue=self.task_queue,
            script=SCRIPT.dump_json(list(script)).decode(),
            **options,
        )

    def process(self, script: Script, **options: Any) -> WorkerProcess:
        """Start a worker in a process of its own; options are those of `Order`."""
        return self.processes_for([self.order(script, **options)])

    def processes_for(self, orders: Sequence[Order]) -> WorkerProcess:
        """Start a worker for each order, in processes of their own; see `tests.crash.worker_process`."""
        process = WorkerProcess(orders, self.folder / f"worker-{len(self.processes)}.log")
        self.processes.append(process)
        return process

    @contextlib.asynccontextmanager
    async def worker(
        self, script: Script, *, hold_at: Point | None = None, only: str | None = None
    ) -> AsyncGenerator[Points]:
        """Run a worker in this process until the block ends; options are those of `Points`."""
        points = Points(hold_at=hold_at, only=only)
        store = await watched_store(self.store.backend, self.prefix, points)
        harness = replace(self.harness, client=watched_client(self.client, points), store=store)
        async with harness.worker(WatchedPlanner(script, points), watched_tools(points)):
            yield points
        points.release()
        await store.arrived()

    async def start(self, **options: Any) -> RunHandle:
        """Start a run; options are those of `RunInput` and `RunLimits`."""
        return await self.harness.start(**options)

    async def record(self, handle: RunHandle, call_id: str = "one") -> CanonicalInvocation | None:
        """Read one record of a run as it is now; None: there is none."""
        run_id, now_ms = await first_run_id(handle), await self.store.backend.now_ms()
        stored = (await self.store.invocations.read(run_id, [call_id], now_ms=now_ms)).get(call_id)
        return stored.record if stored else None

    async def summary(self, handle: RunHandle) -> RunResult | None:
        """Read the summary that a cancelled run leaves in the store."""
        run_id, now_ms = await first_run_id(handle), await self.store.backend.now_ms()
        index = await self.store.runs.read(run_id, now_ms=now_ms)
        return RunResult.model_validate_json(index.summary) if index and index.summary else None


@contextlib.asynccontextmanager
async def open_stage(
    client: Client, redis_url: str, prefix: str, task_queue: str, folder: Path
) -> AsyncGenerator[Stage]:
    """Open a stage on servers that are there; at the end no process of its workers is left."""
    redis = connect(redis_url)
    async with contextlib.aclosing(redis):
        store = await store_over(RedisBackend(redis), prefix)
        stage = Stage(client, store, redis_url, prefix, task_queue, folder, [])
        try:
            yield stage
        finally:
            for process in stage.processes:
                process.close()


async def first_run_id(handle: RunHandle) -> str:
    """Name the run: the first execution of its chain."""
    described = await handle.describe()
    return described.raw_description.workflow_execution_info.first_run_id or described.run_id


async def heard(points: Points, text: str, *, times: int = 1, within_s: float = SOON_S) -> None:
    """Wait until a worker of this process has said the text so often."""
    try:
        await wait_until(lambda: points.count(text) >= times, description=f"{text!r}, {times} times", timeout=within_s)
    except AssertionError as error:
        raise AssertionError(f"{error}; the worker said {points.said}") from None


def proved_once(done: Finished, *, executions: int) -> None:
    """Hold a run of `one_call` to its promise: reported, proven, one record, READY, charged once."""
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED), done.result
    [stored] = done.records.values()
    assert (stored.record.tool_call_id, stored.record.status) == ("one", InvocationStatus.READY)
    assert stored.record.executions == executions
    assert done.result.budget.tool_calls.used == 1
    assert done.result.budget.run_bytes.used == stored.bytes
