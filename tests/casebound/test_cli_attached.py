"""The command line on servers of one's own: a real worker in the test, the command as a process beside it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client, WorkflowExecutionStatus

from activities.planners.runbook import RunbookPlanner
from boundary.contracts import JsonObject, JsonValue
from boundary.redis_backend import RedisBackend, connect
from boundary.tools import Tool, ToolContext
from casebound.client import find_run
from casebound.settings import Settings, WorkerSettings
from casebound.worker import Store, open_worker, store_over
from tests.casebound import programs
from tests.support.tools import FakeTool, show_raw
from tests.support.waiting import wait_until
from workflows.attributes import ALL

pytestmark = pytest.mark.timeout(120)

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


@pytest_asyncio.fixture
async def place(
    tmp_path: Path, temporal_client: Client, valkey_url: str, key_prefix: str, task_queue: str
) -> AsyncGenerator[Place]:
    """Servers of the session, everything else the test's own."""
    client = connect(valkey_url)
    store = await store_over(RedisBackend(client), key_prefix)
    place = Place(tmp_path, temporal_client, store, valkey_url, key_prefix, task_queue)
    yield place
    for process in place.started:
        process.kill()
        process.communicate()
    await client.aclose()


async def until_second_call(place: Place, run_id: str) -> None:
    """Wait until the run's second call is being executed."""

    async def running() -> bool:
        found = await place.store.invocations.read(run_id, ["second"], now_ms=await place.store.backend.now_ms())
        return "second" in found

    await wait_until(running, description="the second call runs", timeout=30)


async def test_a_diagnosis_prints_its_report_and_its_evidence_can_be_read(place: Place) -> None:
    """diagnose, show, evidence: one run, the same facts each time; raw only where it is asked for."""
    async with place.worker(FakeTool(work=answer, show=lambda a, raw, b: show_raw(a, {"answer": raw["answer"]}, b))):
        done = await place.casebound("diagnose", "What?", "--runbook", "book.yaml", "--json", "--owner", "me")
        assert done.returncode == 0, done.stderr
        printed = json.loads(done.stdout)
        text = await place.casebound("diagnose", "--runbook", "book.yaml")
    assert (printed["question"], printed["outcome"], printed["verdict"]) == ("What?", "REPORTED", "SUPPORTED")
    assert [(call["tool_call_id"], call["agent_result"]) for call in printed["calls"]] == [
        ("first", {"answer": 1}),
        ("second", {"answer": 2}),
    ]
    assert "#1 probe" in done.stderr
    assert "What does the probe say?" in text.stdout
    assert "1. [✔ proven] The probe answered one." in text.stdout
    # Neither needs a worker.
    run_id = printed["run_id"]
    for name in (run_id, printed["workflow_id"]):
        shown = await place.casebound("show", name, "--json")
        assert json.loads(shown.stdout) == printed, shown.stderr
    result = await place.casebound("evidence", run_id, "first")
    raw = await place.casebound("evidence", run_id, "first", "--raw")
    assert json.loads(result.stdout) == {"answer": 1}
    assert json.loads(raw.stdout) == {"answer": 1, "secret": "only in raw"}
    described = await place.client.get_workflow_handle(printed["workflow_id"]).describe()
    assert await described.static_summary() == "What?"
    assert await described.memo() == {"planner": "runbook book.yaml", "source": "casebound.toml"}
    attributes = described.typed_search_attributes
    assert [attributes.get(key) for key in ALL] == ["REPORTED", "SUPPORTED", "me"]


async def test_limits_of_the_command_line_are_the_runs(place: Place) -> None:
    """One call is allowed, two are asked for: the run concludes, and says what it could not check."""
    async with place.worker(FakeTool(work=answer, show=show_raw)):
        done = await place.casebound("diagnose", "--runbook", "book.yaml", "--max-tool-calls", "1", "--json")
    printed = json.loads(done.stdout)
    assert printed["outcome"] == "BUDGET_EXHAUSTED"
    assert printed["budget"]["tool_calls"] == {"used": 1, "limit": 1}
    assert [failed["error"]["code"] for failed in printed["could_not_check"]] == ["BUDGET_EXCEEDED"]


async def test_one_interrupt_stops_with_a_report(place: Place) -> None:
    """Ctrl-C once: the run concludes with the evidence at hand."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        process.send_signal(signal.SIGINT)
        code, out, err = await programs.ended(process)
    printed = json.loads(out)
    assert printed["outcome"] == "STOPPED", err
    assert printed["claims"][0]["standing"] == "proven"
    assert code == 0
    assert "stopping: the run concludes with the evidence at hand" in err


async def test_two_interrupts_cancel(place: Place) -> None:
    """Ctrl-C twice: exit code 4, every record settled, the summary there without a worker."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        code, out, err = await programs.ended(process)
    assert code == 4, err
    printed = json.loads(out)
    assert (printed["run_id"], printed["outcome"]) == (run_id, "CANCELLED")
    assert [call["status"] for call in printed["calls"]] == ["READY", "ERROR"]
    shown = await place.casebound("show", run_id, "--json")
    assert json.loads(shown.stdout)["outcome"] == "CANCELLED"


async def test_three_interrupts_leave_at_once(place: Place) -> None:
    """Even while nobody answers; the cancellation was requested all the same."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    while "stopping" not in await asyncio.to_thread(process.stderr.readline):
        pass
    process.send_signal(signal.SIGINT)
    while "cancelling" not in await asyncio.to_thread(process.stderr.readline):
        pass
    process.send_signal(signal.SIGINT)
    code, out, _ = await programs.ended(process)
    assert (code, out) == (4, "")
    async with place.worker(FakeTool(work=answer, show=show_raw)):
        found = await find_run(place.client, run_id)
        assert found is not None
        handle = place.client.get_workflow_handle(found.workflow_id)

        async def cancelled() -> bool:
            return (await handle.describe()).status is WorkflowExecutionStatus.CANCELED

        await wait_until(cancelled, description="the run is cancelled", timeout=30)


async def test_stop_and_cancel_from_another_terminal(place: Place) -> None:
    """By run id or workflow id; what has ended cannot be ended again."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        running = json.loads((await place.casebound("show", run_id, "--json")).stdout)
        assert (running["outcome"], running["detail"]) == (None, "still running")
        stopped = await place.casebound("stop", run_id, "--reason", "enough")
        assert stopped.returncode == 0, stopped.stderr
        code, out, _ = await programs.ended(process)
        printed = json.loads(out)
        assert (code, printed["outcome"]) == (0, "STOPPED")
        assert "enough" in printed["detail"]
        again = await place.casebound("cancel", printed["workflow_id"])
        assert (again.returncode, "has ended (completed)" in again.stderr) == (2, True)
        process = place.start("diagnose", "--runbook", "book.yaml")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        assert (await place.casebound("cancel", run_id)).returncode == 0
        code, _, err = await programs.ended(process)
        assert code == 4, err


async def test_a_terminated_run_is_a_failure(place: Place) -> None:
    """Nobody asked for it here; there is no report."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml")
        found = await find_run(place.client, await programs.run_id_of(process))
        assert found is not None
        await place.client.get_workflow_handle(found.workflow_id).terminate(reason="out of patience")
        code, out, err = await programs.ended(process)
    assert code == 3
    assert "Outcome   none yet: the run was terminated" in out
    assert "the run was terminated" in err


async def test_a_worker_serves_until_sigterm(place: Place) -> None:
    """`casebound worker` with declared logs: it serves an attached diagnosis, then ends with code 0."""
    programs.case(place.folder)
    toml = place.folder / "casebound.toml"
    queue = place.settings.worker.task_queue
    toml.write_text(f'{programs.SOURCE}[worker]\ntask_queue = "{queue}"\n[store]\nprefix = "{place.prefix}"\n')
    worker = place.start("worker")
    done = await place.casebound("diagnose", "--runbook", "book.yaml", "--json")
    assert done.returncode == 0, done.stderr
    worker.send_signal(signal.SIGTERM)
    code, _, err = await programs.ended(worker)
    assert code == 0, err
    assert f"task queue '{queue}'" in err
    assert "worker: stopping" in err


@pytest.mark.parametrize("command", ["show", "stop", "cancel", "evidence"])
async def test_a_run_nobody_knows_is_told(place: Place, command: str) -> None:
    """Exit code 2, with where the name comes from."""
    more = ["call"] if command == "evidence" else []
    done = await place.casebound(command, "0199-nobody", *more)
    assert done.returncode == 2
    assert "there is no run '0199-nobody' here" in done.stderr


async def test_a_workflow_of_others_is_no_run(place: Place) -> None:
    """Neither shown nor cancelled."""
    await place.client.start_workflow("Other", id=f"other-{place.settings.worker.task_queue}", task_queue="none")
    done = await place.casebound("cancel", f"other-{place.settings.worker.task_queue}")
    assert done.returncode == 2
    assert "there is no run" in done.stderr
