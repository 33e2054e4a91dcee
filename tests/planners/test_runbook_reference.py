"""The example of docs/runbooks.md, followed over the real log tools."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from activities.contracts import CatalogEntry
from activities.logs import LogSource, log_tools
from activities.planners.runbook import RunbookPlanner
from activities.planners.runbook.filters import FILTERS
from activities.planners.runbook.functions import FUNCTIONS
from activities.planners.runbook.predicates import TESTS
from activities.planners.runbook.views import CALL_FIELDS, GROUP_FIELDS
from boundary.contracts import EvidenceStatus
from boundary.tools import Tool, ToolContext
from tests.planners.support import FakeRun, follow, ids, texts
from tests.support import tree

PAGE = (tree.ROOT / "docs" / "runbooks.md").read_text()
EXAMPLE = re.findall(r"^```yaml\n(name: .*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)[0]

ATTACK = """\
Dec 10 06:55:46 host sshd[1]: Failed password for invalid user admin from 183.62.140.253 port 1 ssh2
Dec 10 06:55:48 host sshd[1]: Failed password for invalid user admin from 183.62.140.253 port 2 ssh2
Dec 10 06:55:50 host sshd[1]: Failed password for root from 183.62.140.253 port 3 ssh2
Dec 10 06:56:00 host sshd[1]: Failed password for root from 5.36.59.76 port 4 ssh2
"""
BREACH = "Dec 10 07:00:00 host sshd[1]: Accepted password for root from 183.62.140.253 port 9 ssh2\n"


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, Tool]:
    source = LogSource(name="sshd", path=tmp_path / "sshd.log", timestamp="%b %d %H:%M:%S", year=2016, zone="UTC")
    return {tool.definition.name: tool for tool in log_tools([source])}


async def report(tools: dict[str, Tool]) -> Any:
    def answer(name: str, arguments: Any) -> Any:
        tool = tools[name]
        assert tool.check(arguments) is None
        raw = tool.execute(arguments, ToolContext(stop=threading.Event()))
        projection = tool.project(arguments, raw, tool.definition.result_bytes)
        return projection.agent_result if projection.evidence_status is EvidenceStatus.EVIDENCE_FOUND else None

    run = FakeRun(runbook=EXAMPLE, catalog=tuple(map(entry, tools.values())))
    planner = RunbookPlanner()
    assert planner.check(run.brief) is None
    turns = await follow(planner, run, answer)
    assert ids(turns[0]) == ["failures"]
    return turns[-1]


def entry(tool: Tool) -> CatalogEntry:
    return CatalogEntry(
        name=tool.definition.name,
        description=tool.definition.description,
        arguments_schema=tool.definition.arguments_schema,
        result_schema=tool.definition.result_schema,
    )


async def test_the_example_tells_who_attacked_and_that_nobody_got_in(tools: dict[str, Tool], tmp_path: Path) -> None:
    """A claim for each attacker, one for the account, one for the absence."""
    (tmp_path / "sshd.log").write_text(ATTACK)
    turn = await report(tools)
    assert texts(turn) == [
        "183.62.140.253 failed 3 times, from Dec 10 06:55:46 to Dec 10 06:55:50.",
        "The account tried most is admin.",
        "No address with 3 or more failures got in.",
    ]
    assert turn.report["claims"][0]["citations"][1] == {
        "tool_call_id": "failures",
        "pointer": "/groups/0/count",
        "quote": "3",
    }


async def test_the_example_tells_who_got_in(tools: dict[str, Tool], tmp_path: Path) -> None:
    """With the line that says so as its quote."""
    (tmp_path / "sshd.log").write_text(ATTACK + BREACH)
    turn = await report(tools)
    assert texts(turn)[-1] == f"183.62.140.253 got in: {BREACH.strip()}"
    assert turn.report["claims"][-1]["citations"] == [{"tool_call_id": "accepted.1", "quote": BREACH.strip()}]


async def test_the_example_tells_that_nobody_failed(tools: dict[str, Tool], tmp_path: Path) -> None:
    """Steps and claims about attackers leave themselves out."""
    (tmp_path / "sshd.log").write_text(BREACH)
    assert texts(await report(tools)) == ["Nobody failed to log in."]


def test_the_reference_names_everything_there_is() -> None:
    """Every filter, test, function and field of a step."""
    words = set(re.findall(r"[a-z_]+", PAGE))
    signs = {"==", "!=", "<", "<=", ">", ">="}
    assert {*FILTERS, *TESTS, *FUNCTIONS, *CALL_FIELDS, *GROUP_FIELDS} - signs <= words
