"""Questions about real logs, whose answers were counted apart: by grep and awk, and in Python.

The logs are not part of the repository; CASEBOUND_LOGHUB names their folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from temporalio.client import Client

from boundary.report import Standing, Verdict
from casebound.settings import load_settings
from tests.examples.incident import follow
from tests.logs.support import Logs, logs

pytestmark = pytest.mark.loghub

EXAMPLES = Path(__file__).parents[2] / "examples" / "loghub"
RUNBOOKS = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))


@pytest.fixture
def tools(loghub: Path) -> Logs:
    """The tools over the sources that the example declares."""
    settings = load_settings(EXAMPLES / "casebound.toml", {"CASEBOUND_LOGHUB": str(loghub)})
    return logs(*settings.logs.values())


@pytest.fixture
def questions(loghub: Path) -> dict[str, Any]:
    """What must and must not stand in the answer, by question."""
    return {entry["id"]: entry for entry in yaml.safe_load((loghub / "questions.yaml").read_text())}


@pytest.mark.proves("INV-PROVEN")
@pytest.mark.parametrize("name", RUNBOOKS)
async def test_a_runbook_answers_its_question_with_every_fact_and_no_trap(
    temporal_client: Client, loghub: Path, questions: dict[str, Any], name: str
) -> None:
    """A whole run: each fact stands in a claim, every claim is proven, no trap is in any claim or citation."""
    settings = load_settings(EXAMPLES / "casebound.toml", {"CASEBOUND_LOGHUB": str(loghub)})
    done = await follow(temporal_client, settings, (EXAMPLES / f"{name}.yaml").read_text())
    claims = done.result.claims
    said = " ".join(claim.text for claim in claims)
    assert done.result.question == questions[name]["ask"]
    assert [fact for fact in questions[name]["must"] if fact not in said] == []
    shown = "".join(claim.model_dump_json() for claim in claims)
    assert [trap for trap in questions[name].get("trap", ()) if trap in shown] == []
    assert {claim.standing for claim in claims} == {Standing.PROVEN}
    assert done.result.verdict is Verdict.SUPPORTED


def reverse_dns(tools: Logs) -> list[str]:
    result = tools.count(
        source="openssh", pattern=r"\[(?P<ip>[0-9.]+)\] failed - (?P<why>POSSIBLE.*)!$", group_by=["ip"]
    )
    top = result["groups"][0]
    return [top["key"]["ip"], f"{top['count']} of {result['matched']} POSSIBLE BREAK-IN ATTEMPT lines"]


def accounts(tools: Logs) -> list[str]:
    result = tools.count(source="openssh", pattern=r": Invalid user (?P<name>.*) from ", group_by=["name"], top=1)
    top = result["groups"][0]
    return [
        f"{result['matched']} lines",
        f"{result['groups_total']} distinct names",
        f"{top['key']['name']} {top['count']}",
    ]


def broken_connections(tools: Logs) -> list[str]:
    broken = tools.count(source="zookeeper", pattern=r"Connection broken for id (?P<id>\d+)", group_by=["id"])
    top = broken["groups"][0]
    span = f"{top['first']['time_text'][11:]} to {top['last']['time_text'][11:]}"
    return [f"{top['count']} of {broken['matched']} 'Connection broken for id' lines", span]


def failing_node(tools: Logs) -> list[str]:
    pattern = r"^\S+ \d+ \S+ (?P<node>\S+) .*data TLB error interrupt"
    top = tools.count(source="bgl", pattern=pattern, group_by=["node"], top=1)["groups"][0]
    first, last = (top[edge]["time_text"].replace("-", " ") for edge in ("first", "last"))
    span = f"{first[:10].replace(' ', '-')} {first[11:19]} to {last[11:19]}"
    return [top["key"]["node"], f"{top['count']} 'data TLB error interrupt'", span]


@pytest.mark.parametrize(
    ("name", "ask", "not_of_the_log"),
    [
        ("ssh-4", reverse_dns, set[str]()),
        ("ssh-5", accounts, set[str]()),
        ("zk-2", broken_connections, {"not one of the servers 1, 2, 3"}),
        ("bgl-1", failing_node, set[str]()),
    ],
)
def test_one_count_answers_who_how_often_and_when(
    tools: Logs, questions: dict[str, Any], name: str, ask: Callable[[Logs], list[str]], not_of_the_log: set[str]
) -> None:
    """By one call each, CRLF line ends, blanks in names and two offsets of one zone included."""
    assert set(questions[name]["must"]) - not_of_the_log == set(ask(tools))
