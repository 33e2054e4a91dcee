"""Questions about real logs, whose answers were counted apart: by grep and awk, and in Python.

The logs are not part of the repository; CASEBOUND_LOGHUB names their folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from activities.contracts import CatalogEntry
from activities.planners.runbook import RunbookPlanner
from boundary.quotes import Found, Quotable
from boundary.strict_json import dump
from boundary.tools import EvidenceStatus
from casebound.settings import load_settings
from tests.logs.support import Logs, logs
from tests.planners.support import FakeRun, follow

pytestmark = pytest.mark.loghub

EXAMPLES = Path(__file__).parents[2] / "examples" / "loghub"


@pytest.fixture
def tools(loghub: Path) -> Logs:
    """The tools over the sources that the example declares."""
    settings = load_settings(EXAMPLES / "casebound.toml", {"CASEBOUND_LOGHUB": str(loghub)})
    return logs(*settings.logs.values())


@pytest.fixture
def questions(loghub: Path) -> dict[str, Any]:
    """What must and must not stand in the answer, by question."""
    return {entry["id"]: entry for entry in yaml.safe_load((loghub / "questions.yaml").read_text())}


@pytest.mark.parametrize("name", ["ssh-1", "ssh-2", "ssh-3", "hdfs-1", "zk-3"])
async def test_a_runbook_answers_its_question_with_every_fact_and_no_trap(
    tools: Logs, questions: dict[str, Any], name: str
) -> None:
    """Each fact stands in a claim whose citations hold; nothing in the report is a number of something else."""
    results: dict[str, tuple[str, Any]] = {}

    def answer(tool: str, arguments: Any) -> Any:
        projection = tools.project(tool, **arguments)
        return projection.agent_result if projection.evidence_status is EvidenceStatus.EVIDENCE_FOUND else None

    run = FakeRun((EXAMPLES / f"{name}.yaml").read_text(), questions[name]["ask"], catalog(tools))
    planner = RunbookPlanner()
    assert planner.check(run.brief) is None
    report = (await follow(planner, run, answer))[-1].report
    results = {call_id: (record.evidence_status, record.agent_result) for call_id, record in run.records.items()}

    said = " ".join(claim["text"] for claim in report["claims"])
    assert [fact for fact in questions[name]["must"] if fact not in said] == []
    assert [trap for trap in questions[name].get("trap", ()) if trap in str(report)] == []
    for claim in report["claims"]:
        for citation in claim["citations"]:
            status, result = results[citation["tool_call_id"]]
            if "pointer" not in citation:
                assert (claim["kind"], status) == ("absence", EvidenceStatus.NO_EVIDENCE)
            else:
                quotable = Quotable(dump(result))
                assert isinstance(quotable.find(citation["pointer"], citation.get("quote")), Found)


def catalog(tools: Logs) -> tuple[CatalogEntry, ...]:
    """The tools as a planner is told of them."""
    definitions = (tool.definition for tool in tools.tools.values())
    return tuple(
        CatalogEntry(
            name=one.name,
            description=one.description,
            arguments_schema=one.arguments_schema,
            result_schema=one.result_schema,
        )
        for one in definitions
    )


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
