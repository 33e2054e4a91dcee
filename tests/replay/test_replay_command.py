"""`casebound replay` on files and on a server: a line for each history, and an exit code for CI."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from activities.contracts import StopInput
from boundary.errors import CaseboundError
from casebound.cli_errors import UsageError
from casebound.commands.replay import ReplayOptions, replay
from casebound.replay_sources import NoHistories
from tests.casebound.programs import case, casebound
from tests.steering.doubles import HeldPlanner
from tests.support.histories import DIRECTORY
from tests.support.runs import Harness, call, calls, report
from tests.support.tools import FakeTool

GOOD = DIRECTORY / "reported.json"
STARTED = "workflowExecutionStartedEventAttributes"


def options(*files: Path, query: str | None = None, limit: int = 100, **more: bool) -> ReplayOptions:
    """A command line."""
    given = {"strict": False, "json": False, **more}
    return ReplayOptions(files=files, query=query, limit=limit, timeout=timedelta(seconds=30), **given)


def changed(folder: Path, edit: Callable[[Any], Any], name: str = "changed.json") -> Path:
    """Write a recorded history with one change."""
    document = json.loads(GOOD.read_text())
    document = edit(document) or document
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def other_tool(document: Any) -> None:
    """The run called another tool than today's code would."""
    for event in document["events"]:
        attributes = event.get("activityTaskScheduledEventAttributes", {})
        if attributes.get("activityType") == {"name": "probe"}:
            attributes["activityType"] = {"name": "probed"}


def other_attempts(document: Any) -> None:
    """The run waited for less."""
    document["events"][4]["activityTaskScheduledEventAttributes"]["startToCloseTimeout"] = "3s"


def test_files_are_replayed_offline_and_the_exit_code_is_for_ci(tmp_path: Path) -> None:
    """A line for each, the event and what is asked for instead below; 1, since one of them does not replay."""
    for name in ("reported", "paused"):
        shutil.copy(DIRECTORY / f"{name}.json", tmp_path)
    bad = changed(tmp_path, other_tool, "z.json")
    nowhere = {"TEMPORAL_ADDRESS": "127.0.0.1:1", "REDIS_URL": "redis://127.0.0.1:1"}
    done = casebound(tmp_path, "replay", str(tmp_path), more=nowhere)
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        f"OK      {tmp_path / 'paused.json'}  53 events",
        f"OK      {tmp_path / 'reported.json'}  62 events",
        f"FAILED  {bad}  62 events",
        "  event 17, ActivityTaskScheduled probed: the code asks for the activity probe instead",
        "  Temporal says: Activity type of scheduled event 'probed' does not match activity type of activity "
        "command 'probe'",
        "3 histories: 2 replay, 1 does not",
    ]
    assert done.stderr == ""


async def test_differences_are_warnings_unless_the_command_is_strict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run goes on all the same; whether it should is for a person to say."""
    path = changed(tmp_path, other_attempts)
    assert await replay(options(path)) == 0
    printed = capsys.readouterr().out
    assert f"DIFFERS {path}  62 events\n" in printed
    assert "event 5, ActivityTaskScheduled casebound.open_run: start-to-close time-out was 3 s, is now 10 s" in printed
    assert "1 history: 1 replay, 1 of them with differences" in printed
    assert await replay(options(path, strict=True)) == 1


async def test_the_json_object_has_every_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was compared and what not; stdout holds nothing else."""
    assert await replay(options(GOOD, changed(tmp_path, other_tool), json=True)) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["totals"] == {"histories": 2, "failed": 1}
    good, bad = printed["verdicts"]
    assert (good["source"], good["replays"], good["same"], good["fault"]) == (str(GOOD), True, True, None)
    assert good["not_compared"] == []
    assert (bad["fault"]["kind"], bad["fault"]["event_id"]) == ("nondeterminism", 17)
    assert bad["run_id"] == good["run_id"]


def listed(document: Any) -> Any:
    """The bare list of events."""
    return document["events"]


async def test_a_bare_list_of_events_is_a_history(tmp_path: Path) -> None:
    """Older versions of Temporal's UI download it so."""
    assert await replay(options(changed(tmp_path, listed))) == 0


def written(folder: Path, text: str) -> Path:
    """Write a file that is none."""
    path = folder / "written.json"
    path.write_text(text)
    return path


def of_another_type(document: Any) -> None:
    """A workflow of somebody else."""
    document["events"][0][STARTED]["workflowType"]["name"] = "Theirs"


def unreadable(document: Any) -> None:
    """An event of a type there is none of."""
    document["events"][3]["eventType"] = "EVENT_TYPE_NONSENSE"


UNUSABLE: list[tuple[str, Callable[[Path], Path], str]] = [
    ("no file", lambda folder: folder / "none.json", "none.json: there is no such file"),
    ("an empty directory", lambda folder: folder, r"there is no \*.json in this directory"),
    ("no JSON", lambda folder: written(folder, "{"), "written.json: it is no JSON"),
    ("a number", lambda folder: written(folder, "7"), "written.json: it is no history: there is no list of events"),
    ("no events", lambda folder: written(folder, "{}"), "written.json: it is no history: there is no list of events"),
    ("no event", lambda folder: written(folder, "[]"), "it does not begin with the event WorkflowExecutionStarted"),
    ("strings", lambda folder: written(folder, '["a"]'), "written.json: its events cannot be read"),
    ("an event unknown", lambda folder: changed(folder, unreadable), "changed.json: event 4 is of a type that is not"),
    ("another type", lambda folder: changed(folder, of_another_type), "workflow type 'Theirs', not AgentRun"),
]


@pytest.mark.parametrize(("make", "words"), [case[1:] for case in UNUSABLE], ids=[case[0] for case in UNUSABLE])
async def test_what_cannot_be_replayed_is_told_before_anything_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], Path], words: str
) -> None:
    """Exit code 2: such an error is told by the command line; here, that nothing was printed before it."""
    with pytest.raises(NoHistories, match=words) as refused:
        await replay(options(GOOD, make(tmp_path)))
    assert isinstance(refused.value, CaseboundError)
    assert capsys.readouterr().out == ""


def test_a_usage_error_is_exit_code_2(tmp_path: Path) -> None:
    """One line on stderr, nothing on stdout."""
    done = casebound(tmp_path, "replay", "nothing.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "casebound: nothing.json: there is no such file\n"


async def test_runs_of_a_server_are_replayed_while_they_go_on(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: Harness,
    temporal_client: Client,
    task_queue: str,
) -> None:
    """No store and no worker is needed; a query finds some of them, and the limit bounds how many."""
    planner = HeldPlanner(2, [calls(call("one")), report()])
    async with runs.worker(planner, [FakeTool()]):
        handles = [await runs.start(), await runs.start()]
        await planner.entered.wait()
        monkeypatch.setenv("TEMPORAL_ADDRESS", temporal_client.service_client.config.target_host)
        mine = f"TaskQueue = '{task_queue}' AND ExecutionStatus = 'Running'"
        assert await replay(options(query=mine)) == 0
        printed = capsys.readouterr().out.splitlines()
        assert {line.split()[1] for line in printed[:2]} == {handle.id for handle in handles}
        assert printed[2] == "2 histories: 2 replay"
        assert await replay(options(query=mine, limit=1)) == 0
        assert "1 history: 1 replay" in capsys.readouterr().out
        for handle in handles:
            await handle.execute_update("stop", StopInput())
        planner.open.set()
        for handle in handles:
            await handle.result()
    with pytest.raises(UsageError, match="no run that the query finds"):
        await replay(options(query=mine))
    with pytest.raises(NoHistories, match="does not understand the query"):
        await replay(options(query="Nonsense = = 1"))


@pytest.mark.timeout(180)
def test_runs_of_the_embedded_stack_are_replayed_where_no_server_is_named(tmp_path: Path) -> None:
    """The stack is started for it, as for `show`; every run of its state directory is looked at."""
    case(tmp_path)
    diagnosed = casebound(tmp_path, "diagnose", "--runbook", "book.yaml", "--json")
    done = casebound(tmp_path, "replay", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    one, total = done.stdout.splitlines()
    assert one.startswith(f"OK      {json.loads(diagnosed.stdout)['workflow_id']} ")
    assert total == "1 history: 1 replay"
