"""The command line when it cannot do what is asked: exit code 2, one clear message, no traceback, nothing started."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from casebound import __version__
from tests.casebound.programs import case, casebound
from tests.support import redis_servers

ATTACHED = {"TEMPORAL_ADDRESS": "127.0.0.1:1", "REDIS_URL": "redis://127.0.0.1:1/0"}


def refused(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """Return what a refused command said, having checked that it did nothing else."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert not (folder / "state" / "temporal.db").exists()
    return done.stderr


def test_the_version_is_told(tmp_path: Path) -> None:
    """On stdout, alone."""
    assert casebound(tmp_path, "--version").stdout == f"casebound {__version__}\n"


def test_help_and_version_do_not_wait_for_temporal() -> None:
    """The SDK is imported when a command needs it."""
    code = "import sys, casebound.cli; print([m for m in ('temporalio', 'redis', 'rich.live') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["diagnoze"], "No such command 'diagnoze'"),
        (["diagnose", "--runbok", "x"], "No such option: --runbok"),
        (["diagnose", "--deadline", "10"], "'10' is no duration; write it like 90s, 10m, 2h or 7d; with a unit: 10s"),
        (["diagnose", "--max-tool-calls", "-1"], "--max-tool-calls"),
        (["diagnose"], "say what to do with --runbook FILE"),
        (["diagnose", "--runbook", "missing.yaml"], "--runbook: missing.yaml cannot be read: No such file"),
        (["diagnose", "--runbook", "bad.yaml"], "bad.yaml:2: "),
        (["diagnose", "--runbook", "latin.yaml"], "latin.yaml is not UTF-8 at byte 6"),
        (["diagnose", "--runbook", "huge.yaml"], "huge.yaml has 131073 bytes; at most 131072"),
        (["diagnose", "", "--runbook", "book.yaml"], "the question is empty: ask one"),
        (["diagnose", "q" * 4001, "--runbook", "book.yaml"], "the question has 4001 characters; at most 4000"),
        (["diagnose", "--runbook", "book.yaml", "--max-turns", "0"], "--max-turns: give a number greater than"),
        (
            ["diagnose", "--runbook", "book.yaml", "--deadline", "1h", "--record-ttl", "1h"],
            "a record TTL of 1h is too short: evidence outlives the deadline of 1h by 60s; give at least 1h1m",
        ),
        (["diagnose", "--runbook", "book.yaml", "--config", "no.toml"], "no.toml: there is no such file"),
        (["diagnose", "--runbook", "book.yaml", "--config", "bad.toml"], "bad.toml: worker.treads: unknown key"),
        (["diagnose", "--runbook", "book.yaml", "--owner", "o" * 201], "owner: String should have at most 200"),
        (["diagnose", "bad \udcff byte", "--runbook", "book.yaml"], "question: "),
        (["evidence", "run", "two words"], "'two words' is no tool call id"),
        (["worker"], "set TEMPORAL_ADDRESS and REDIS_URL to the servers to work for"),
    ],
)
def test_a_mistake_is_told_before_anything_is_started(tmp_path: Path, arguments: list[str], said: str) -> None:
    """Usage, configuration, runbook: what is wrong and what would be right."""
    case(tmp_path)
    (tmp_path / "bad.yaml").write_text("name: x\nstepz: []\n")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xfc\n")
    (tmp_path / "huge.yaml").write_text("#" * 131073)
    (tmp_path / "bad.toml").write_text("[worker]\ntreads = 3\n")
    assert said in refused(casebound(tmp_path, *arguments), tmp_path)


STEP = """\
name: x
question: Q?
steps:
  - id: a
    tool: {tool}
    arguments: {arguments}
report:
  claims:
    - text: T.
      cites: [{{call: a}}]
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("serch_logs", "{source: app}", "book.yaml:5: there is no tool 'serch_logs'"),
        ("search_logs", "{source: ap, pattern: x}", "book.yaml:6: search_logs: "),
        ("search_logs", "{source: app, pattern: x, limit: many}", "book.yaml:6: search_logs: "),
        ("search_logs", "{source: app, patern: x}", "book.yaml:6: search_logs: "),
    ],
)
def test_a_runbook_that_its_own_sources_cannot_serve_is_told_before_anything_is_started(
    tmp_path: Path, tool: str, arguments: str, said: str
) -> None:
    """No such tool, no such source, arguments that the tool does not take: with file and line."""
    case(tmp_path)
    (tmp_path / "book.yaml").write_text(STEP.format(tool=tool, arguments=arguments))
    assert said in refused(casebound(tmp_path, "diagnose", "--runbook", "book.yaml"), tmp_path)


def test_an_embedded_diagnosis_needs_declared_sources(tmp_path: Path) -> None:
    """Without a configuration there would be nothing to look at."""
    case(tmp_path)
    (tmp_path / "casebound.toml").unlink()
    said = refused(casebound(tmp_path, "diagnose", "--runbook", "book.yaml"), tmp_path)
    assert "there is no casebound.toml here" in said


TEMPORAL, STORE = "TEMPORAL_ADDRESS", "REDIS_URL"


@pytest.mark.parametrize(
    ("command", "name", "other"),
    [
        ("diagnose --runbook book.yaml", TEMPORAL, STORE),
        ("diagnose --runbook book.yaml", STORE, TEMPORAL),
        ("worker", TEMPORAL, STORE),
        ("up", STORE, TEMPORAL),
        ("show r", TEMPORAL, STORE),
        ("evidence r c", STORE, TEMPORAL),
        ("cancel r", TEMPORAL, STORE),
        ("stop r", STORE, TEMPORAL),
    ],
)
def test_one_server_alone_is_a_mistake(tmp_path: Path, command: str, name: str, other: str) -> None:
    """It would surface as a run without evidence, or evidence without a run."""
    case(tmp_path)
    said = refused(casebound(tmp_path, *command.split(), more={name: ATTACHED[name]}), tmp_path)
    assert f"{name} is set but {other} is not" in said


def test_a_temporal_that_does_not_answer_is_told_within_seconds(tmp_path: Path) -> None:
    """With its address."""
    case(tmp_path)
    began = time.monotonic()
    said = refused(casebound(tmp_path, "diagnose", "--runbook", "book.yaml", more=ATTACHED), tmp_path)
    assert "cannot connect to Temporal at 127.0.0.1:1: connection refused" in said
    assert time.monotonic() - began < 15


def test_a_store_that_does_not_answer_is_told_within_seconds(tmp_path: Path, dev_server: WorkflowEnvironment) -> None:
    """Before any run is started."""
    case(tmp_path)
    began = time.monotonic()
    more = {**ATTACHED, "TEMPORAL_ADDRESS": dev_server.client.service_client.config.target_host}
    said = refused(casebound(tmp_path, "diagnose", "--runbook", "book.yaml", more=more), tmp_path)
    assert "the evidence store does not answer" in said
    assert said.count("REDIS_URL") <= 1
    assert time.monotonic() - began < 15


def test_without_a_worker_an_attached_diagnosis_does_not_start(
    tmp_path: Path, dev_server: WorkflowEnvironment, valkey_url: str, key_prefix: str, task_queue: str
) -> None:
    """It names the command that serves runs; sources are the workers', so no configuration is needed for that."""
    case(tmp_path)
    (tmp_path / "casebound.toml").write_text(
        f'[store]\nprefix = "{key_prefix}"\n[worker]\ntask_queue = "{task_queue}"\n'
    )
    address = dev_server.client.service_client.config.target_host
    more = {"TEMPORAL_ADDRESS": address, "REDIS_URL": valkey_url}
    began = time.monotonic()
    said = refused(casebound(tmp_path, "diagnose", "--runbook", "book.yaml", more=more), tmp_path)
    assert f"no worker polls the task queue '{task_queue}'" in said
    assert "casebound worker" in said
    assert 5 <= time.monotonic() - began < 15
    assert redis_servers.answers(valkey_url)


def test_an_unknown_temporal_profile_is_told(tmp_path: Path) -> None:
    """The ecosystem's configuration has mistakes of its own."""
    case(tmp_path)
    more = {**ATTACHED, "TEMPORAL_PROFILE": "nope"}
    said = refused(casebound(tmp_path, "diagnose", "--runbook", "book.yaml", more=more), tmp_path)
    assert "the Temporal client configuration cannot be used: Profile 'nope' not found" in said
