"""The command line on the stack it starts itself: one command, a report, nothing left running."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from casebound.commands.session import embedded_task_queue, hurried
from casebound.embedded_lock import StackFile
from casebound.settings import Settings, WorkerSettings, load_settings
from tests.casebound.programs import case, casebound, start
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(180)


def stack_processes(folder: Path) -> list[str]:
    """List the servers and keepers of the folder's state directory that are running."""
    state = str(folder / "state")
    found: list[str] = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        cwd = str(process.info["cwd"] or "")
        if cwd == state:
            found.append(" ".join(process.info["cmdline"] or []))
    return found


@contextmanager
def up(folder: Path) -> Generator[StackFile]:
    """Run `casebound up` in the folder until the block ends."""
    process = start(folder, "up")
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("serving"):
                break
        yield StackFile.model_validate_json((folder / "state" / "stack.json").read_bytes())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def outcome(folder: Path, run_id: str) -> str | None:
    """Ask `show` for a run's outcome."""
    shown = casebound(folder, "show", run_id, "--json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)["outcome"]


def test_one_command_diagnoses_and_its_data_stay(tmp_path: Path) -> None:
    """No server was there before, none is left; show and evidence read what was kept."""
    case(tmp_path)
    done = casebound(tmp_path, "diagnose", "--runbook", "book.yaml", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["question"], printed["outcome"], printed["verdict"]) == (
        "Which errors did the application log?",
        "REPORTED",
        "SUPPORTED",
    )
    assert [call["status"] for call in printed["calls"]] == ["READY", "ERROR"]
    assert [failed["tool_call_id"] for failed in printed["could_not_check"]] == ["lost"]
    assert stack_processes(tmp_path) == []
    shown = casebound(tmp_path, "show", printed["workflow_id"], "--json")
    assert json.loads(shown.stdout) == printed
    evidence = casebound(tmp_path, "evidence", printed["run_id"], "errors")
    assert "too many connections" in json.dumps(json.loads(evidence.stdout))
    assert "READY, EVIDENCE_FOUND" in evidence.stderr
    failed = casebound(tmp_path, "evidence", printed["run_id"], "lost")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "EXECUTION_ERROR" in failed.stderr
    text = casebound(tmp_path, "show", printed["run_id"])
    assert "Temporal  casebound up, then " in text.stdout
    assert f"/namespaces/default/workflows/{printed['workflow_id']}" in text.stdout
    unknown = casebound(tmp_path, "show", "nobody's")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert f'there is no run "nobody\'s" here, in {tmp_path / "state"}\n' in unknown.stderr
    assert stack_processes(tmp_path) == []


def test_a_killed_diagnosis_leaves_no_server_and_its_run_goes_on_later(tmp_path: Path) -> None:
    """SIGKILL in the middle of a run: the next time the configuration is served, the run is finished."""
    case(tmp_path)
    process = start(tmp_path, "diagnose", "--runbook", "book.yaml")
    try:
        assert process.stderr is not None
        run_id = next(line.split()[1] for line in process.stderr if line.startswith("run "))
    finally:
        process.kill()
        process.communicate()
    asyncio.run(wait_until(lambda: not stack_processes(tmp_path), description="the servers are gone", timeout=20))
    with up(tmp_path):
        finished = wait_until(lambda: outcome(tmp_path, run_id), description="the run has ended", timeout=60)
        assert asyncio.run(finished) == "REPORTED"


def test_up_serves_attached_and_joining_commands(tmp_path: Path) -> None:
    """The UI answers; a diagnosis joins by itself, or attaches when it is told the servers; Ctrl-C ends all."""
    case(tmp_path)
    with up(tmp_path) as stack:
        assert urllib.request.urlopen(stack.ui_url, timeout=5).status == 200
        joined = casebound(tmp_path, "diagnose", "--runbook", "book.yaml", "--json")
        assert joined.returncode == 0, joined.stderr
        assert joined.stderr.startswith("joining the running stack ...\n")
        more = {"TEMPORAL_ADDRESS": stack.temporal_address, "REDIS_URL": stack.redis_url}
        attached = casebound(tmp_path, "diagnose", "--runbook", "book.yaml", "--json", more=more)
        assert attached.returncode == 0, attached.stderr
        run_id = json.loads(attached.stdout)["run_id"]
        assert outcome(tmp_path, run_id) == "REPORTED"
        ui = f"{stack.ui_url}/api/v1/namespaces/default/workflows/{json.loads(attached.stdout)['workflow_id']}"
        with urllib.request.urlopen(ui, timeout=5) as answer:
            described = json.load(answer)
        assert described["workflowExecutionInfo"]["type"]["name"] == "AgentRun"
    assert stack_processes(tmp_path) == []


def test_the_loss_of_temporal_is_told_and_stdout_stays_clean(tmp_path: Path) -> None:
    """The SDK's own complaints never reach stdout, where the JSON object is."""
    case(tmp_path)
    process = start(tmp_path, "up")
    try:
        assert process.stdout is not None
        printed = [next(process.stdout) for _ in range(3)]
        [server] = [one for one in psutil.Process(process.pid).children(recursive=True) if one.name() == "temporal"]
        server.kill()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3
    assert "the embedded stack was lost: the Temporal server ended" in err
    assert [line.split()[0] for line in printed] == ["Temporal", "attach", "serving"]
    assert out == ""


def test_each_configuration_has_a_queue_of_its_own(tmp_path: Path) -> None:
    """A run is only ever served with the sources it was started with."""
    queues: list[str] = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        queues.append(embedded_task_queue(load_settings(case(tmp_path / name) / "casebound.toml", {})))
    assert len(set(queues)) == 2
    assert all(queue.startswith("casebound-") for queue in queues)


@pytest.mark.parametrize(("configured", "granted"), [(10, 1), (0.5, 0.5)])
def test_the_tools_of_another_run_do_not_hold_a_command_at_its_end(configured: float, granted: float) -> None:
    """A run that a killed command left is gone on with beside the command's own."""
    settings = Settings(worker=WorkerSettings(graceful_shutdown_s=configured, threads=3))
    assert hurried(settings).worker == WorkerSettings(graceful_shutdown_s=granted, threads=3)


def test_an_interrupt_while_starting_is_no_report(tmp_path: Path) -> None:
    """Exit code 4, nothing left."""
    case(tmp_path)
    process = start(tmp_path, "diagnose", "--runbook", "book.yaml")
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "starting ...\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert (process.returncode, out) == (4, ""), err
    assert "Traceback" not in err
    assert stack_processes(tmp_path) == []
