"""`casebound tools` says what an agent could use, and why something cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.casebound.programs import casebound

CONFIG = """
[logs.app]
path = "app.log"
timestamp = "%Y-%m-%d %H:%M:%S"
zone = "UTC"

[logs.gone]
path = "gone.log"
timestamp = "%Y-%m-%d %H:%M:%S"
zone = "UTC"

[knowledge.runbooks]
path = "runbooks"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One source of each kind that can be used, and one whose file is not there."""
    (tmp_path / "casebound.toml").write_text(CONFIG)
    (tmp_path / "app.log").write_text("2026-01-02 03:04:05 started\n2026-01-02 03:05:05 ended\n")
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "pool.md").write_text("# 连接池耗尽\n\n回滚最近一次发布。\n")
    return tmp_path


def test_every_tool_and_source_is_listed_with_its_state(folder: Path) -> None:
    """Code 1: a source cannot be used; what is left can."""
    done = casebound(folder, "tools", "--json")
    assert done.returncode == 1, done.stderr
    listed = json.loads(done.stdout)
    assert {(source["kind"], source["name"]): source["available"] for source in listed["sources"]} == {
        ("logs", "app"): True,
        ("logs", "gone"): False,
        ("knowledge", "runbooks"): True,
    }
    tools = {tool["name"]: (tool["sources"], tool["unavailable_sources"]) for tool in listed["tools"]}
    for name in ("list_logs", "search_logs", "count_logs", "log_templates"):
        assert tools.pop(name) == (["app"], ["gone"])
    for name in ("search_knowledge", "read_knowledge"):
        assert tools.pop(name) == (["runbooks"], [])
    assert not tools
    [gone] = [source for source in listed["sources"] if source["name"] == "gone"]
    assert gone["reason"] == "source 'gone': there is no file 'gone.log'"


def test_a_person_reads_what_is_there_and_what_is_not(folder: Path) -> None:
    """One line a source; the reason stands beside it, no path of the machine does."""
    said = casebound(folder, "tools").stdout
    assert "logs.app" in said
    assert "1 file, 54 bytes, 2026-01-02T03:04:05Z to 2026-01-02T03:05:05Z" in said
    assert "1 document, 1 passage" in said
    assert "there is no file 'gone.log'" in said
    assert str(folder) not in said


def test_with_every_source_in_use_the_code_is_0(folder: Path) -> None:
    """As a script would ask."""
    (folder / "gone.log").write_text("2026-01-02 03:04:05 found\n")
    assert casebound(folder, "tools").returncode == 0


def test_lines_without_a_time_are_told_and_only_none_at_all_is_unusable(folder: Path) -> None:
    """A log of few, long entries is a log; one whose format is another is not."""
    (folder / "app.log").write_text("2026-01-02 03:04:05 dump\n" + "  of the engine\n" * 500)
    (folder / "gone.log").write_text("01/02/2026 03:04:05 other format\n")
    sources = {source["name"]: source for source in json.loads(casebound(folder, "tools", "--json").stdout)["sources"]}
    assert sources["app"]["available"]
    assert "correct `timestamp`" in sources["app"]["warnings"][0]
    assert not sources["gone"]["available"]
    assert "'%Y-%m-%d %H:%M:%S'" in sources["gone"]["reason"]


def test_without_a_source_it_says_how_to_declare_one(tmp_path: Path) -> None:
    """There is nothing to list."""
    done = casebound(tmp_path, "tools")
    assert (done.returncode, done.stdout) == (1, "")
    assert "[logs.NAME]" in done.stderr


def test_doctor_looks_at_the_embedded_stack_without_starting_it(folder: Path) -> None:
    """Programs, folder and sources; a broken source is one problem among what is well."""
    done = casebound(folder, "doctor")
    assert done.returncode == 1, done.stderr
    assert "ok        Temporal" in done.stdout
    assert "ok        store" in done.stdout
    assert "there is no file 'gone.log'" in done.stdout
    assert not (folder / "state").exists()
    (folder / "gone.log").write_text("2026-01-02 03:04:05 found\n")
    assert casebound(folder, "doctor").returncode == 0


def test_doctor_tells_a_bad_configuration_and_no_more(folder: Path) -> None:
    """With the fix."""
    (folder / "casebound.toml").write_text('[knowledge.books]\npath = "a"\nglob = "b*"\n')
    done = casebound(folder, "doctor")
    assert done.returncode == 1
    assert "give exactly one of `path` and `glob`" in done.stdout


def test_doctor_says_of_each_server_of_ones_own_what_is_wrong(folder: Path) -> None:
    """Neither hides the other."""
    more = {"TEMPORAL_ADDRESS": "127.0.0.1:1", "REDIS_URL": "redis://:hidden-word@127.0.0.1:1/0"}
    done = casebound(folder, "doctor", more=more)
    assert done.returncode == 1
    assert "problem   Temporal" in done.stdout
    assert "problem   store" in done.stdout
    assert "hidden-word" not in done.stdout + done.stderr
