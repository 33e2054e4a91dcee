"""A run is told which sources cannot be looked at, and goes on with the others."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from temporalio.client import Client

from activities.probe import Probe
from activities.stored import SourceStatus
from boundary.report import Standing
from casebound import source_watch
from casebound.settings import Settings, load_settings
from casebound.source_watch import SourceWatch
from casebound.sources import Source
from tests.examples.incident import follow

CONFIG = """
[logs.app]
path = "app.log"
timestamp = "%Y-%m-%d %H:%M:%S"
zone = "UTC"

[logs.gone]
path = "gone.log"
timestamp = "%Y-%m-%d %H:%M:%S"
zone = "UTC"
"""
GONE = "source 'gone': there is no file 'gone.log'"
RUNBOOK = """
name: two logs
question: What failed?
steps:
  - id: in_gone
    tool: count_logs
    when: sources.logs.gone.available
    arguments: {source: gone}
  - id: asked_all_the_same
    tool: count_logs
    arguments: {source: gone}
  - id: in_app
    tool: count_logs
    when: sources.logs.app.available
    arguments: {source: app, text: failed}
report:
  claims:
    - text: "{{ in_app.result.matched }} lines of app say that something failed; {{ sources.logs.gone.reason }}."
      cites: [{call: in_app, pointer: /matched}]
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two declared logs, of which one is not there."""
    (tmp_path / "casebound.toml").write_text(CONFIG)
    (tmp_path / "app.log").write_text("2026-01-02 03:04:05 failed\n")
    return load_settings(tmp_path / "casebound.toml", environment={})


async def test_a_broken_source_does_not_stop_the_run(temporal_client: Client, settings: Settings) -> None:
    """The planner is told why before it asks; a call for it fails with the same reason; the rest is proven."""
    finished = await follow(temporal_client, settings, RUNBOOK)
    assert set(finished.records) == {"asked_all_the_same", "in_app"}
    error = finished.records["asked_all_the_same"].record.error
    assert error is not None
    assert error.message == GONE
    [claim] = finished.result.claims
    assert (claim.standing, claim.text) == (Standing.PROVEN, f"1 lines of app say that something failed; {GONE}.")


async def test_runs_share_a_look_and_a_later_one_looks_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at the sources for each run would be a load on them."""
    looks = 0

    async def look(_: Settings) -> list[Source]:
        nonlocal looks
        looks += 1
        return [Source("logs", "app", "", (), Probe(looks > 1, None if looks > 1 else "away"))]

    monkeypatch.setattr(source_watch, "look_at_sources", look)
    watch = SourceWatch(settings)
    first = await asyncio.gather(watch.statuses(), watch.statuses())
    assert first == [(SourceStatus(kind="logs", name="app", available=False, reason="away"),)] * 2
    assert (await watch.statuses(), looks) == (first[0], 1)
    monkeypatch.setattr(source_watch, "LOOK_AGAIN_S", -1.0)
    assert (await watch.statuses(), looks) == ((SourceStatus(kind="logs", name="app", available=True),), 2)


async def test_a_run_does_not_wait_for_a_source_that_does_not_answer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is held against it then; what it says at last is told to later runs."""
    answers = threading.Event()

    async def look(_: Settings) -> list[Source]:
        await asyncio.to_thread(answers.wait)
        return [Source("logs", "app", "", (), Probe(False, "away"))]

    monkeypatch.setattr(source_watch, "look_at_sources", look)
    monkeypatch.setattr(source_watch, "WAIT_S", 0.01)
    watch = SourceWatch(settings)
    assert [status.available for status in await watch.statuses()] == [True, True]
    answers.set()
    monkeypatch.setattr(source_watch, "WAIT_S", 60.0)
    assert [status.reason for status in await watch.statuses()] == ["away"]


async def test_a_look_that_fails_is_logged_and_stops_no_run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By its kind: its message may hold anything."""

    async def look(_: Settings) -> list[Source]:
        raise RuntimeError("hidden-pass")

    monkeypatch.setattr(source_watch, "look_at_sources", look)
    assert [status.available for status in await SourceWatch(settings).statuses()] == [True, True]
    assert "RuntimeError" in caplog.text
    assert "hidden-pass" not in caplog.text
