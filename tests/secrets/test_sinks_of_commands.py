"""Secrets of logs, of the store's URL and of the worker's environment, searched for in what commands print.

A real `casebound worker` reads a log that is full of secrets; its store wants a password.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import Client

from boundary.errors import CaseboundError
from boundary.redaction import Redactor
from boundary.redis_backend import RedisBackend, connect
from casebound.commands.session import open_checked_store
from casebound.settings import load_settings
from tests.casebound import programs
from tests.faults.servers import PASSWORD, PrivateServer
from tests.secrets import sinks
from tests.secrets.planted import FORMS, found_in, secret, text
from tests.support.runs import replay

pytestmark = pytest.mark.timeout(180)

VARIABLE = "ZQVAR00XWplain"
"""Value of a variable that is named like a secret; nothing else gives it away."""

RUNBOOK = """\
name: secrets
question: What was logged?
steps:
  - id: all
    tool: search_logs
    arguments: {source: app, pattern: ".|%s", limit: 100}
report:
  claims:
    - text: The application started.
      cites: [{call: all, quote: application started}]
"""


@dataclass
class Attached:
    """A folder in which commands run, servers of their own, and what was printed so far."""

    folder: Path
    server: PrivateServer
    client: Client
    environment: dict[str, str]
    printed: dict[str, str] = field(default_factory=dict[str, str])

    async def casebound(self, *arguments: str, **more: str) -> str:
        """Run the command to its end; returns its stdout."""
        done = await asyncio.to_thread(programs.casebound, self.folder, *arguments, more={**self.environment, **more})
        self.printed[f"{' '.join(arguments)} {len(self.printed)}"] = done.stdout + done.stderr
        return done.stdout


@pytest_asyncio.fixture
async def attached(tmp_path: Path, temporal_client: Client, task_queue: str) -> AsyncIterator[Attached]:
    """Servers, and a log with a secret of each form in each line."""
    (tmp_path / "store").mkdir()
    server = PrivateServer("valkey", tmp_path / "store")
    server.start()
    server.configure(maxmemory=64 * 1024 * 1024, maxmemory_policy="allkeys-lru")
    url = server.add_user("~*", "+@all")
    lines = [text("output", number).replace("\n", "\\n") for number in range(len(FORMS))]
    stamped = "".join(f"2026-01-02T03:04:05 {line}\n" for line in ["application started", *lines, f"key {VARIABLE}"])
    (tmp_path / "app.log").write_text(stamped)
    (tmp_path / "casebound.toml").write_text(
        '[store]\nprefix = "secrets"\n[worker]\n'
        + f'task_queue = "{task_queue}"\n'
        + programs.SOURCE.split("[logs.lost]")[0]
    )
    (tmp_path / "book.yaml").write_text(RUNBOOK % text("arguments", 1))
    target = temporal_client.service_client.config.target_host
    environment = {"TEMPORAL_ADDRESS": target, "REDIS_URL": url, "EXAMPLE_API_KEY": VARIABLE}
    yield Attached(tmp_path, server, temporal_client, environment)
    server.close()


@pytest.mark.proves("FIELD-OWN-SECRETS")
async def test_no_secret_is_printed_by_a_command_or_logged_by_a_worker(attached: Attached) -> None:
    """diagnose, show, evidence and the worker, with a store that is there, that warns, and that is gone."""
    worker = programs.start(attached.folder, "worker", more=attached.environment)
    try:
        printed = json.loads(await attached.casebound("diagnose", "--runbook", "book.yaml", "--json"))
        run_id = printed["run_id"]
        for command in (("show", run_id), ("evidence", run_id, "all")):
            await attached.casebound(*command)
        found = await _everything(attached, printed)
        attached.server.kill()
        await attached.casebound("show", run_id)
    finally:
        worker.terminate()
        out, err = await asyncio.to_thread(worker.communicate, timeout=60)
    found |= attached.printed | {"worker": out + err}
    assert (printed["outcome"], printed["verdict"]) == ("REPORTED", "SUPPORTED")
    assert "[redacted]" in json.dumps(printed["calls"][0]["agent_result"])
    assert found_in(found, "output") == []
    assert found_in(attached.printed | {"worker": out + err}, "arguments") == []
    for known in (VARIABLE, PASSWORD, *PASSWORD.split("/")):
        assert [name for name, content in found.items() if known in content] == []
    *served, gone = attached.printed
    assert all("allkeys-lru" in attached.printed[name] for name in served)
    assert "the evidence store does not answer" in attached.printed[gone]
    assert "allkeys-lru" in found["worker"]


async def _everything(attached: Attached, printed: dict[str, Any]) -> dict[str, str]:
    """What Temporal and the store keep of the run."""
    handle = attached.client.get_workflow_handle(printed["workflow_id"])
    history = await handle.fetch_history()
    await replay(history)
    found = dict(sinks.of_history(history)) | dict(await sinks.of_description(handle, "at the end"))
    redis = connect(attached.server.url)
    try:
        return found | await sinks.of_store(RedisBackend(redis), "secrets")
    finally:
        await redis.aclose()


UNUSABLE = (
    f"http://app:{secret('url', 0)}@127.0.0.1/0",
    f"redis://:{secret('url', 0)}/x@127.0.0.1/0",
    f"redis://[{secret('url', 0)}@127.0.0.1/0",
    f"redis://127.0.0.1:1/0?{secret('url', 0)}=1",
    f"redis://:{secret('url', 0)}@127.0.0.1:1/0",
    f"redis://:{secret('url', 0)}@nowhere.invalid:1/0",
)


@pytest.mark.parametrize("url", UNUSABLE)
@pytest.mark.parametrize("where", ["environment", "file"])
async def test_a_store_that_cannot_be_used_is_told_without_its_password(tmp_path: Path, url: str, where: str) -> None:
    """However the URL is wrong, and wherever it stands; no log says more."""
    file = tmp_path / "casebound.toml"
    file.write_text(f'[store]\nurl = "{url}"\n' if where == "file" else "")
    with sinks.all_logs() as logs:
        async with AsyncExitStack() as opened:
            with pytest.raises(CaseboundError) as caught:
                await _open(file, {} if where == "file" else {"REDIS_URL": url}, opened)
    told = {"message": str(caught.value), "logs": "\n".join(logs.lines)}
    assert found_in(told, "url") == []
    assert re.search("REDIS_URL|store", caught.value.message)


async def _open(file: Path, environment: dict[str, str], opened: AsyncExitStack) -> None:
    settings = load_settings(file, environment)
    Redactor(settings.secret_values({}))  # as every command makes one
    await open_checked_store(settings, opened)
