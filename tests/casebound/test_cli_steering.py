"""Steering from another terminal: each command says what happened, and why not where nothing did."""

from __future__ import annotations

import asyncio
import json
import os
import re

import pytest

from tests.casebound import programs
from tests.casebound.attached import RUNBOOK, Place, answer_first_only, until_second_call
from tests.support.tools import FakeTool, show_raw

pytestmark = pytest.mark.timeout(180)

BY_ME = f"by {os.environ['USER']}: " if os.environ.get("USER") else ""

BOOK = RUNBOOK.replace(
    "    when: first.found\n",
    "  - id: third\n    tool: probe\n    arguments: {q: 3}\n    when: \"'look at three' in notes\"\n",
)
"""Two calls in the first turn; a third where somebody says so."""


async def test_pause_extend_note_resume_and_stop_from_another_terminal(place: Place) -> None:
    """A person sees what the run will do; the progress of `diagnose` shows who paused it and why."""
    (place.folder / "book.yaml").write_text(BOOK)
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json", "--record-ttl", "30m")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        paused = await place.casebound("pause", run_id, "--reason", "release", "--owner", "ada")
        assert paused.returncode == 0, paused.stderr
        assert f"run {run_id} is paused: the call that runs ends, no new one starts; casebound resume" in paused.stderr
        shown = await place.casebound("show", run_id)
        assert "Outcome   none yet: still running, paused by ada: release\n" in shown.stdout
        extended = await place.casebound("extend", run_id, "5m")
        assert (extended.returncode, "the deadline of run" in extended.stderr) == (0, True)
        too_far = await place.casebound("extend", run_id, "2h")
        assert (too_far.returncode, "it can move by 840 s at most" in too_far.stderr) == (2, True)
        noted = await place.casebound("note", run_id, "look at three")
        assert f"the planner of run {run_id} is given the note with turn 2" in noted.stderr
        resumed = await place.casebound("resume", run_id)
        assert (resumed.returncode, "goes on after" in resumed.stderr) == (0, True)
        watching = place.start("show", run_id, "--watch", "--json")
        assert watching.stderr is not None
        while "#2 probe" not in (line := await asyncio.to_thread(watching.stderr.readline)):
            assert line, "the watching command ended"
        assert (await place.casebound("stop", run_id, "--reason", "enough")).returncode == 0
        watched = await programs.ended(watching)
        code, out, err = await programs.ended(process)
        printed = json.loads(out)
        timeline = (await place.casebound("show", run_id, "--timeline")).stdout
    assert (code, printed["outcome"]) == (0, "STOPPED")
    assert (watched[0], json.loads(watched[1])) == (0, printed)
    assert "paused by ada: release" in err
    told = [re.split(r" \+\w+  ", line)[1] for line in timeline.splitlines()]
    steered = [line for line in told if not line.startswith("#")]
    assert steered[0] == "started"
    assert steered[1:4] == [
        "pause  by ada: release",
        f"extend  {BY_ME}seconds 300.0",
        f"note  {BY_ME}look at three",
    ]
    assert [line.split("  ")[0] for line in steered[4:]] == ["resume", "stop", "completed"]
    assert "#1 probe began  first" in told
    assert "#1 probe ended  EVIDENCE_FOUND" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("note", "casebound-x", "x" * 2001), "text: String should have at most 2000 characters"),
        (("note", "casebound-x", ""), "text: String should have at least 1 character"),
        (("pause", "casebound-x", "--reason", "x" * 501), "reason: String should have at most 500 characters"),
        (("resume", "casebound-x", "--owner", "x" * 201), "by: String should have at most 200 characters"),
    ],
)
async def test_a_text_that_no_run_takes_is_told(place: Place, arguments: tuple[str, ...], told: str) -> None:
    """Before a run is looked for: one line, no trace."""
    done = await place.casebound(*arguments)
    assert (done.returncode, done.stderr) == (2, f"casebound: {told}\n")


async def test_a_duration_that_is_none_is_told(place: Place) -> None:
    """Before anything is sent."""
    wrong = await place.casebound("extend", "casebound-x", "soon")
    assert (wrong.returncode, "is no duration" in wrong.stderr) == (2, True)
