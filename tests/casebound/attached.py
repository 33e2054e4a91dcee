"""Servers of one's own: a real worker in the test, the command as a process beside it."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client

from activities.planners.runbook import RunbookPlanner
from boundary.contracts import JsonObject, JsonValue
from boundary.tools import Tool, ToolContext
from casebound.settings import Settings, WorkerSettings
from casebound.worker import Store, open_worker
from tests.casebound import programs
from tests.support.waiting import wait_until

RUNBOOK = """\
name: probes
question: What does the probe say?
steps:
  - id: first
    tool: probe
    arguments: {q: 1}
  - id: second
    tool: probe
    arguments: {q: 2}
    when: first.found
report:
  claims:
    - text: The probe answered one.
      cites: [{call: first, pointer: /answer, quote: 1}]
"""


def answer(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer at once."""
    return {"answer": arguments["q"], "secret": "only in raw"}


def answer_first_only(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer the first question; work on any other until told to stop."""
    while arguments["q"] != 1 and not context.stop.is_set():
        time.sleep(0.01)
    return {"answer": arguments["q"]}


class Place:
    """Servers, a worker's queue, and a folder in which the command runs."""

    def __init__(self, folder: Path, client: Client, store: Store, url: str, prefix: str, queue: str) -> None:
        self.folder = folder
        self.client = client
        self.store = store
        self.prefix = prefix
        self.started: list[subprocess.Popen[str]] = []
        self.settings = Settings(worker=WorkerSettings(task_queue=queue, graceful_shutdown_s=0))
        self.more = {"TEMPORAL_ADDRESS": client.service_client.config.target_host, "REDIS_URL": url}
        (folder / "casebound.toml").write_text(f'[store]\nprefix = "{prefix}"\n[worker]\ntask_queue = "{queue}"\n')
        (folder / "book.yaml").write_text(RUNBOOK)

    @asynccontextmanager
    async def worker(self, *tools: Tool) -> AsyncGenerator[None]:
        """Serve runs with these tools."""
        queue = self.settings.worker.task_queue
        planners = {"runbook": RunbookPlanner()}
        async with open_worker(
            self.settings, self.client, self.store, task_queue=queue, tools=tools, planners=planners
        ):
            yield

    async def casebound(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end, the worker going on beside it."""
        return await asyncio.to_thread(programs.casebound, self.folder, *arguments, more=self.more)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command; the fixture ends it if the test does not."""
        process = programs.start(self.folder, *arguments, more=self.more)
        self.started.append(process)
        return process


async def until_second_call(place: Place, run_id: str) -> None:
    """Wait until the run's second call is being executed."""

    async def running() -> bool:
        found = await place.store.invocations.read(run_id, ["second"], now_ms=await place.store.backend.now_ms())
        return "second" in found

    await wait_until(running, description="the second call runs", timeout=30)
