"""What `list_logs` says of sources, good and bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from activities.logs import LogSource, sample
from boundary.strict_json import dump
from tests.logs.support import PLAIN, app, logs


def test_a_source_is_listed_with_its_files_zone_and_span(tmp_path: Path) -> None:
    """The span is by time, not by place."""
    log = "2024-05-01 10:00:00 b\n2024-05-01 08:00:00 a\n\tat main\n"
    tools = app(tmp_path, log, zone="+02:00", description="The shop's checkout.")
    assert tools.list(source="app") == {
        "sources": [
            {
                "source": "app",
                "description": "The shop's checkout.",
                "format": "text",
                "timestamp": "%Y-%m-%d %H:%M:%S",
                "zone": "+02:00",
                "levels": False,
                "multiline": False,
                "files_total": 1,
                "bytes_total": len(log),
                "files": [{"file": "app.log", "bytes": len(log), "compressed": False}],
                "first": "2024-05-01T06:00:00Z",
                "last": "2024-05-01T08:00:00Z",
                "lines_checked": 3,
                "checked": "every line",
                "parsable": 0.6667,
                "fits": True,
            }
        ],
        "sources_total": 1,
        "truncated": False,
    }


def test_a_format_that_does_not_fit_is_said(tmp_path: Path) -> None:
    """Before a window is asked for in vain."""
    listed = app(tmp_path, "01/05/2024 x\n" * 10).list()["sources"][0]
    assert (listed["parsable"], listed["fits"]) == (0.0, False)
    assert "first" not in listed


def test_one_missing_source_does_not_hide_the_others(tmp_path: Path) -> None:
    """Its problem stands with it."""
    (tmp_path / "here.log").write_text("2024-05-01 10:00:00 x\n")
    sources = [LogSource(name=name, path=tmp_path / f"{name}.log", **PLAIN) for name in ("gone", "here")]
    projection = logs(*sources).project("list_logs")
    gone, here = projection.agent_result["sources"]
    assert "there is no file 'gone.log'" in gone["problem"]
    assert "problem" not in here
    assert projection.evidence_status == "EVIDENCE_FOUND"
    assert str(tmp_path) not in dump(projection.agent_result).decode()


def test_many_files_are_cut_to_the_budget(tmp_path: Path) -> None:
    """The number of files stays exact; the source stays listed."""
    for number in range(300):
        (tmp_path / f"a.log.{number}").write_text("2024-05-01 10:00:00 x\n")
    tools = logs(LogSource(name="app", glob=str(tmp_path / "a.log*"), **PLAIN))
    projection = tools.project("list_logs", budget=2000)
    assert len(dump(projection.agent_result)) <= 2000
    assert projection.truncated
    assert projection.agent_result["truncated"]
    assert projection.agent_result["sources"][0]["files_total"] == 300
    assert len(tools.list()["sources"][0]["files"]) == 100


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(("lines", "checked"), [(1, 1), (10, 10), (14, 14), (100, 16)])
def test_no_line_of_a_sample_is_checked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int, checked: int, end: str
) -> None:
    """Of a small file beside large ones, or one a little larger than both its ends."""
    monkeypatch.setattr(sample, "WHOLE_BYTES", 0)
    monkeypatch.setattr(sample, "END_BYTES", 205)
    log = "\n".join(f"2024-05-01 08:00:00 {number:03}" for number in range(lines)) + end
    [source] = app(tmp_path, log).list()["sources"]
    assert source["lines_checked"] == checked
    assert source["parsable"] == 1.0
