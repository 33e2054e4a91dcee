"""Runs the `casebound` command as a process of its own, with an environment of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import PollWorkflowTaskQueueRequest
from temporalio.client import Client

COMMAND = (sys.executable, "-m", "casebound")

SOURCE = """
[logs.app]
path = "app.log"
timestamp = "%Y-%m-%dT%H:%M:%S"
zone = "UTC"

[logs.lost]
path = "lost.log"
timestamp = "%Y-%m-%dT%H:%M:%S"
zone = "UTC"
"""

LINES = """\
2026-01-02T03:04:05 INFO started
2026-01-02T03:05:05 ERROR too many connections
2026-01-02T03:06:05 INFO recovered
"""

RUNBOOK = """\
name: errors
question: Which errors did the application log?
steps:
  - id: errors
    tool: search_logs
    arguments: {source: app, pattern: ERROR}
  - id: lost
    tool: search_logs
    arguments: {source: lost, pattern: ERROR}
report:
  claims:
    - text: The database refused connections.
      cites:
        - {call: errors, quote: too many connections}
"""


def case(folder: Path) -> Path:
    """Write a configuration, its log and a runbook into the folder."""
    (folder / "casebound.toml").write_text(SOURCE)
    (folder / "app.log").write_text(LINES)
    (folder / "book.yaml").write_text(RUNBOOK)
    return folder


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Make an environment with a state directory of the test's own and no servers named."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TEMPORAL_", "CASEBOUND_"))}
    kept.pop("REDIS_URL", None)
    return {**kept, "CASEBOUND_STATE_DIR": str(folder / "state"), "COLUMNS": "200", **(more or {})}


def start(folder: Path, *arguments: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the command in the folder, in a process group of its own as a terminal would."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(folder, more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        process_group=0,
    )


def casebound(
    folder: Path, *arguments: str, more: Mapping[str, str] | None = None, seconds: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(folder, more),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )


async def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a started command."""
    out, err = await asyncio.to_thread(process.communicate, timeout=60)
    return process.returncode, out, err


async def run_id_of(process: subprocess.Popen[str]) -> str:
    """Read the run id that `diagnose` says first."""
    assert process.stderr is not None
    while True:
        line = await asyncio.to_thread(process.stderr.readline)
        assert line, "the command ended before it started a run"
        if line.startswith("run "):
            return line.removeprefix("run ").strip()


@asynccontextmanager
async def poller(client: Client, task_queue: str) -> AsyncGenerator[None]:
    """Poll a queue as a worker does, for as long as the block lasts; nobody works on what is handed out."""
    request = PollWorkflowTaskQueueRequest(
        namespace=client.namespace, task_queue=TaskQueue(name=task_queue), identity="poller"
    )
    polling = asyncio.create_task(client.workflow_service.poll_workflow_task_queue(request))
    yield
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)
