"""Search attributes: declared by `casebound setup`, and a run starts without those that are missing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.run_list import Wanted
from casebound.search_attributes import ALL
from casebound.worker import store_over
from tests.casebound.attached import Place, answer
from tests.casebound.test_run_list import listed
from tests.support import temporal
from tests.support.tools import FakeTool, show_raw
from workflows import attributes

pytestmark = pytest.mark.timeout(120)


@pytest_asyncio.fixture
async def bare_client() -> AsyncIterator[Client]:
    """A client of a server that knows no search attribute of ours."""
    async with await temporal.start_dev_server(attributes=()) as env:
        yield await temporal.connect(env)


async def test_a_run_starts_without_what_is_missing_and_setup_declares_it(
    tmp_path: Path, bare_client: Client, valkey_url: str, key_prefix: str, task_queue: str
) -> None:
    """A warning names what is missing and the command; after it, the next run can be found by them."""
    redis = connect(valkey_url)
    store = await store_over(RedisBackend(redis), key_prefix)
    place = Place(tmp_path, bare_client, store, valkey_url, key_prefix, task_queue)
    async with place.worker(FakeTool(work=answer, show=show_raw)):
        before = await place.casebound("diagnose", "--runbook", "book.yaml", "--json")
        setup = await place.casebound("setup")
        again = await place.casebound("setup")
        after = await place.casebound("diagnose", "--runbook", "book.yaml", "--json", "--owner", "ada")
    await redis.aclose()
    assert before.returncode == 0, before.stderr
    assert "the server has no search attributes CaseboundOutcome, CaseboundVerdict, CaseboundOwner" in before.stderr
    assert (setup.returncode, f"declared in namespace 'default': {', '.join(ALL)}" in setup.stderr) == (0, True)
    assert "there already in namespace 'default'" in again.stderr
    assert (after.returncode, "search attributes" in after.stderr) == (0, False)
    described = await bare_client.get_workflow_handle(json.loads(after.stdout)["workflow_id"]).describe()
    assert [described.typed_search_attributes.get(key) for key in attributes.ALL] == ["REPORTED", "SUPPORTED", "ada"]
    assert "asked by ada, runbook book.yaml" in (await described.static_details() or "")
    assert await described.static_summary() == "What does the probe say?"
    assert await described.memo() == {
        "question": "What does the probe say?",
        "planner": "runbook book.yaml",
        "source": "casebound.toml",
    }
    for outcome, runs in (("REPORTED", 1), ("STOPPED", 0)):
        await listed(bare_client, runs, Wanted(outcome=outcome))


async def test_setup_without_a_server_of_ones_own_says_so(tmp_path: Path) -> None:
    """The embedded stack needs none."""
    from tests.casebound import programs

    done = programs.casebound(tmp_path, "setup")
    assert (done.returncode, "the embedded stack needs no setup" in done.stderr) == (2, True)
