"""What the workflow sandbox refuses: whatever could bring raw data, or a store, into a run."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.worker import Worker

from casebound.worker import LIGHT_MODULES, sandbox

WORKFLOW = """
{statement}
from temporalio import workflow


@workflow.defn
class Reaches:
    @workflow.run
    async def run(self) -> None:
        pass
"""

FORBIDDEN = [
    "redis",
    "redis.asyncio",
    "jsonschema",
    "jinja2",
    "re2",
    "boundary.redis_backend",
    "boundary.store",
    "boundary.run_index",
    "boundary.tool_boundary",
    "activities.tool_call",
    "activities.planning",
    "activities.logs",
    "casebound.worker",
]


MakeWorker = Callable[[str], Worker]


@pytest.fixture
def worker_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporal_client: Client, task_queue: str
) -> MakeWorker:
    """Makes a worker with our sandbox and one workflow, whose module begins with a statement."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(statement: str) -> Worker:
        name = f"reaches_{task_queue.replace('-', '_')}"
        (tmp_path / f"{name}.py").write_text(WORKFLOW.format(statement=statement))
        workflow = importlib.import_module(name).Reaches
        return Worker(temporal_client, task_queue=task_queue, workflows=[workflow], workflow_runner=sandbox())

    return make


@pytest.mark.proves("INV-NO-RAW-IN-WORKFLOW")
@pytest.mark.parametrize("statement", [f"import {module}" for module in FORBIDDEN])
async def test_a_workflow_that_reaches_for_a_store_or_a_tool_library_is_refused(
    worker_with: MakeWorker, statement: str
) -> None:
    """No worker can be made with it, whether it imports the library itself or a module of ours that does."""
    with pytest.raises(RuntimeError, match="Failed validating workflow Reaches"):
        worker_with(statement)


@pytest.mark.parametrize("statement", [f"import {module}" for module in LIGHT_MODULES])
async def test_a_workflow_may_use_every_light_module(worker_with: MakeWorker, statement: str) -> None:
    """What the run itself is made of loads in the sandbox."""
    assert worker_with(statement)
