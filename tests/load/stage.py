"""A hundred runs at once on one worker, over Valkey, and what each of them left.

Above: the tests. Below: `worker_process`, whose samples say what ran side by side and what it holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import urllib.request
from collections import defaultdict
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from redis.asyncio import Redis
from temporalio.client import Client, WorkflowHistory

from activities.contracts import PlannerRef, RunInput, RunResult
from boundary.redis_backend import RedisBackend, connect
from boundary.store import StoredInvocation
from casebound.worker import Store, store_over
from tests.load.scripts import Script, script_of
from tests.load.worker_process import Order, Sample
from tests.support import tree
from tests.support.redis_servers import free_port
from workflows.agent_run import AgentRun

RUNS = 100
DEADLINE_S = 240.0
TTL_S = 300.0
"""The shortest that a run may have: the deadline and a minute."""
STARTED_S = 40.0
WATCH_S = 0.05
CACHED = "temporal_sticky_cache_size"


@dataclass(frozen=True)
class Ended:
    """A run that ended, and its records by call id."""

    script: Script
    result: RunResult
    records: dict[str, StoredInvocation]
    at_once: int
    """Most tool calls that were scheduled and had no result yet, by the history."""

    @property
    def taken_over(self) -> bool:
        """Tell whether a heartbeat came too late: the tool of the lost attempt may run beside its successor."""
        return any(stored.record.executions > 1 for stored in self.records.values())


@dataclass
class Stage:
    """One worker, its store, and a view of both from outside."""

    client: Client
    store: Store
    redis: Redis
    """The test's own; the worker's connections have the name."""
    prefix: str
    task_queue: str
    worker: asyncio.subprocess.Process
    metrics_port: int
    connections: int = 0
    """Most that the worker had to the store, as the server saw it."""

    async def play(self, first: int = 0) -> list[Ended]:
        """Carry a hundred runs out at once, those of a hundred numbers in a row."""
        over = asyncio.Event()
        watching = asyncio.create_task(self._watch(over))
        numbers = range(first, first + RUNS)
        try:
            played = await asyncio.gather(*[self._run(number) for number in numbers])
        finally:
            over.set()  # not a cancellation: the client's own `wait_for` may swallow one before Python 3.12
            await watching
        records = await self._records({result.run_id for result, _ in played})
        return [
            Ended(script_of(number), result, records[result.run_id], most_at_once(history))
            for number, (result, history) in zip(numbers, played, strict=True)
        ]

    async def _run(self, number: int) -> tuple[RunResult, WorkflowHistory]:
        request = RunInput(
            question=f"{number} of the numbered runs",
            planner=PlannerRef(kind="numbered"),
            limits=script_of(number).limits,
            deadline_s=DEADLINE_S,
            record_ttl_s=TTL_S,
        )
        handle = await self.client.start_workflow(
            AgentRun.run, request, id=f"{self.prefix}-{number}", task_queue=self.task_queue
        )
        return await handle.result(), await handle.fetch_history()

    async def _records(self, run_ids: set[str]) -> dict[str, dict[str, StoredInvocation]]:
        ids: defaultdict[str, list[str]] = defaultdict(list)
        for key in await self.store.backend.keys_with(f"{self.prefix}:"):
            _, run_id, *rest = key.split(":", 2)
            if rest and run_id in run_ids:
                ids[run_id].append(rest[0])
        now_ms = await self.store.backend.now_ms()
        return {
            run_id: await self.store.invocations.read(run_id, ids[run_id], now_ms=now_ms, raw=True)
            for run_id in run_ids
        }

    async def sample(self) -> Sample:
        """Ask the worker what it holds."""
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        self.worker.stdin.write(b"\n")
        return Sample.model_validate_json(await asyncio.wait_for(self.worker.stdout.readline(), STARTED_S))

    async def connected(self) -> int:
        """Count the worker's connections, as the server sees them."""
        clients = cast("list[dict[str, Any]]", await self.redis.client_list())
        return sum(client["name"] == self.prefix for client in clients)

    async def emptied(self) -> bool:
        """Tell whether no record and no run is left in the store."""
        return not await self.store.backend.keys_with(f"{self.prefix}:")

    async def cached_workflows(self) -> int:
        """Ask the worker's metrics how many workflows it keeps."""
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        text = await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=5).read().decode())
        return sum(int(float(value)) for value in re.findall(rf"^{CACHED}(?:{{.*}})? (\S+)$", text, re.MULTILINE))

    async def _watch(self, over: asyncio.Event) -> None:
        while not over.is_set():
            self.connections = max(self.connections, await self.connected())
            await asyncio.sleep(WATCH_S)


def most_at_once(history: WorkflowHistory) -> int:
    """Count the most tool calls that a history shows open at one time."""
    calls: set[int] = set()
    most = 0
    for event in history.events:
        name = event.activity_task_scheduled_event_attributes.activity_type.name
        if name and not name.startswith("casebound."):
            calls.add(event.event_id)
        calls.discard(event.activity_task_completed_event_attributes.scheduled_event_id)
        most = max(most, len(calls))
    return most


@contextlib.asynccontextmanager
async def open_stage(
    client: Client, redis_url: str, prefix: str, task_queue: str, folder: Path, *, traced: bool = False
) -> AsyncGenerator[Stage]:
    """Start the worker and wait until it serves; at the end it is gone."""
    port = free_port()
    order = Order(
        temporal=client.service_client.config.target_host,
        redis_url=f"{redis_url}?client_name={prefix}",
        prefix=prefix,
        task_queue=task_queue,
        metrics_port=port,
        traced=traced,
    )
    redis = connect(redis_url)
    async with contextlib.aclosing(redis), _worker(order, folder / "worker.log") as worker:
        store = await store_over(RedisBackend(redis), prefix)
        yield Stage(client, store, redis, prefix, task_queue, worker, port)


@contextlib.asynccontextmanager
async def _worker(order: Order, log: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.load.worker_process", order.model_dump_json()),
            cwd=tree.ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        said = await asyncio.wait_for(process.stdout.readline(), STARTED_S)
        assert said == b"serving\n", log.read_text(errors="replace")[-2000:]
        yield process
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 15)
        except TimeoutError:
            process.kill()
            await process.wait()
