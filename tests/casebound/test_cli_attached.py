"""The command line on servers of one's own: a real worker in the test, the command as a process beside it."""

from __future__ import annotations

import json
import signal

import pytest

from casebound.client import find_run
from tests.casebound import programs
from tests.casebound.attached import RUNBOOK, Place, answer, answer_first_only, until_second_call
from tests.support.tools import FakeTool, show_raw
from workflows.attributes import ALL

pytestmark = pytest.mark.timeout(120)


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
    assert await described.memo() == {"question": "What?", "planner": "runbook book.yaml", "source": "casebound.toml"}
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


async def test_stop_and_cancel_from_another_terminal(place: Place) -> None:
    """By run id or workflow id; what has ended cannot be ended again."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        running = json.loads((await place.casebound("show", run_id, "--json")).stdout)
        assert (running["outcome"], running["running"], running["detail"]) == (None, True, "still running")
        text = (await place.casebound("show", run_id)).stdout
        assert "Outcome   none yet: still running\n" in text
        assert "Calls so far\n  first: probe q=1 -> found something\n  second: probe q=2 -> no answer yet\n" in text
        assert f"casebound stop {run_id}" in text
        stopped = await place.casebound("stop", run_id, "--reason", "enough")
        assert stopped.returncode == 0, stopped.stderr
        code, out, _ = await programs.ended(process)
        printed = json.loads(out)
        assert (code, printed["outcome"]) == (0, "STOPPED")
        assert "enough" in printed["detail"]
        again = await place.casebound("cancel", printed["workflow_id"])
        assert (again.returncode, "has ended (completed)" in again.stderr) == (2, True)
        again = await place.casebound("stop", run_id)
        assert (again.returncode, "has ended (completed)" in again.stderr) == (2, True)
        process = place.start("diagnose", "--runbook", "book.yaml")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        assert (await place.casebound("cancel", run_id)).returncode == 0
        code, _, err = await programs.ended(process)
        assert code == 4, err


async def test_what_only_the_worker_can_tell_of_a_runbook_is_told_in_the_report(place: Place) -> None:
    """Sources are the workers': a fault a line, each with file and line of the runbook, and exit code 3."""
    wrong = RUNBOOK.replace("tool: probe\n    arguments: {q: 2}", "tool: prob").replace("{q: 1}", "{w: 1}")
    (place.folder / "book.yaml").write_text(wrong)
    async with place.worker(FakeTool(work=answer, show=show_raw)):
        done = await place.casebound("diagnose", "--runbook", "book.yaml")
    assert done.returncode == 3, done.stderr
    outcome, *faults = done.stdout.splitlines()[1:5]
    assert outcome == "Outcome   PLANNER_FAILED"
    assert [fault.split(": ")[0] for fault in faults[:2]] == ["          book.yaml:6", "          book.yaml:8"]
    assert "there is no tool 'prob'" in faults[1]


async def test_what_a_runbook_did_not_carry_out_stands_in_the_report(place: Place) -> None:
    """A step without a value, and the claim that would have rested on it; no claim holds, so it is inconclusive."""
    (place.folder / "book.yaml").write_text(
        RUNBOOK.replace("{q: 2}", '{q: "{{ first.result.missing }}"}').replace("call: first", "call: second")
    )
    async with place.worker(FakeTool(work=answer, show=show_raw)):
        done = await place.casebound("diagnose", "--runbook", "book.yaml")
        printed = await place.casebound("diagnose", "--runbook", "book.yaml", "--json")
    assert done.returncode == 1, done.stderr
    remarks = json.loads(printed.stdout)["remarks"]
    assert [remark.split(":")[0] for remark in remarks] == ["step 'second' was skipped", "claim 1 was left out"]
    assert "\nLeft out\n" + "".join(f"  {remark}\n" for remark in remarks) in done.stdout


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
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no run '0199-nobody' here, in namespace 'default' and its evidence store\n" in done.stderr
    assert "fix: give a run id or a workflow id as `diagnose` printed it" in done.stderr


async def test_a_workflow_of_others_is_no_run(place: Place) -> None:
    """Neither shown nor cancelled."""
    await place.client.start_workflow("Other", id=f"other-{place.settings.worker.task_queue}", task_queue="none")
    done = await place.casebound("cancel", f"other-{place.settings.worker.task_queue}")
    assert done.returncode == 2
    assert "there is no run" in done.stderr
