"""Kinds of line: what varies is masked, counts are exact, and each pattern finds its own lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.logs.mining import MAX_TEMPLATES, Miner, masked
from boundary.contracts import JsonObject
from tests.logs.support import Logs, app

LINES = """\
2024-01-01 00:00:00 login of ada from 10.0.0.1:4411 took 12.5 ms
2024-01-01 00:00:01 login of bob from 10.0.0.2:4412 took 3 ms
2024-01-01 00:00:02 disk /dev/sda1 is at 91%
2024-01-01 00:00:03 login of eve from 10.0.0.9:1 took 700 ms
  at frame 0x7f3a (lib.so)
2024-01-01 00:00:04 request 9f1c2d3e4a5b6c7d done, id 123e4567-e89b-12d3-a456-426614174000
"""


def templates(tools: Logs, **arguments: Any) -> JsonObject:
    return tools.project("log_templates", source="app", **arguments).agent_result


def test_lines_that_differ_in_values_are_one_template(tmp_path: Path) -> None:
    """Most lines first; first and last of each by time, the template without the line's own time."""
    found = templates(app(tmp_path, LINES))
    assert (found["matched"], found["templates_total"], found["shown"]) == (6, 4, 4)
    top = found["templates"][0]
    assert (top["template"], top["count"]) == ("login of <*> from <ip> took <num> ms", 3)
    assert (top["first"]["time"], top["first"]["line"]) == ("2024-01-01T00:00:00Z", 1)
    assert (top["last"]["time"], top["last"]["line"]) == ("2024-01-01T00:00:03Z", 4)
    assert top["example"] == "2024-01-01 00:00:00 login of ada from 10.0.0.1:4411 took 12.5 ms"
    assert {template["template"] for template in found["templates"][1:]} == {
        "disk /dev/sda<num> is at <num>%",
        "  at frame <hex> (lib.so)",
        "request <hex> done, id <uuid>",
    }


def test_a_pattern_finds_the_lines_of_its_template_and_no_others(tmp_path: Path) -> None:
    """As `pattern` of a search, and as `exclude`."""
    tools = app(tmp_path, LINES)
    for template in templates(tools)["templates"]:
        assert tools.count(pattern=template["pattern"])["matched"] == template["count"]
        assert tools.count(exclude=template["pattern"])["matched"] == 6 - template["count"]


def test_a_word_of_any_length_leaves_a_pattern_to_search_by(tmp_path: Path) -> None:
    """An encoded blob would alone be longer than a pattern may be."""
    tools = app(tmp_path, f"2024-01-01 00:00:00 {'xY' * 5000}= received\n")
    [template] = templates(tools)["templates"]
    assert tools.count(pattern=template["pattern"])["matched"] == 1


@pytest.mark.parametrize(
    ("order", "first"),
    [("common", "login of <*> from <ip> took <num> ms"), ("newest", "request <hex> done, id <uuid>")],
)
def test_what_is_unusual_can_come_first(tmp_path: Path, order: str, first: str) -> None:
    """`newest`: by when a template's first line appeared."""
    assert templates(app(tmp_path, LINES), order=order)["templates"][0]["template"] == first


def test_rare_ones_first(tmp_path: Path) -> None:
    """The most common is last."""
    assert [template["count"] for template in templates(app(tmp_path, LINES), order="rare")["templates"]] == [
        1,
        1,
        1,
        3,
    ]


def test_only_selected_lines_are_looked_at(tmp_path: Path) -> None:
    """Pattern and window are those of a search; nothing matched is no evidence."""
    tools = app(tmp_path, LINES)
    assert templates(tools, text="login", since="2024-01-01T00:00:01")["matched"] == 2
    assert tools.project("log_templates", source="app", text="absent").evidence_status == "NO_EVIDENCE"


def test_counts_add_up_also_where_lines_are_too_different(tmp_path: Path) -> None:
    """Memory is bounded: what is like nothing is counted as the rest."""
    words = [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)]
    lines = [f"2024-01-01 00:00:00 {word} {word[::-1]} {word * 2} {word}z\n" for word in words]
    found = templates(app(tmp_path, "".join(lines)), top=200)
    assert found["matched"] == 3000
    assert found["templates_total"] == MAX_TEMPLATES
    assert found["rest"] == 3000 - MAX_TEMPLATES


def test_what_does_not_fit_is_left_out_by_whole_templates(tmp_path: Path) -> None:
    """And said."""
    shown = app(tmp_path, LINES).project("log_templates", budget=1500, source="app")
    assert shown.truncated
    assert 0 < shown.agent_result["shown"] < 4
    assert shown.agent_result["templates_total"] == 4


@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")), max_size=40))
def test_every_line_has_one_template_whatever_it_holds(lines: list[bytes]) -> None:
    """As many masked lines as lines; equal lines are of one template."""
    texts = list(masked(lines))
    assert len(texts) == len(lines)
    miner: Miner[None] = Miner()
    found = [miner.find(text, None) for text in texts]
    for line, template in zip(lines, found, strict=True):
        assert template is found[lines.index(line)]


@pytest.mark.parametrize("lines", [["a  b c", "a x b c"], ["a x\ty c", "a z c"]])
def test_a_pattern_finds_also_words_that_are_empty_or_hold_tabs(tmp_path: Path, lines: list[str]) -> None:
    """Words are what is between blanks."""
    tools = app(tmp_path, "\n".join(f"2024-05-01 08:00:00 {line}" for line in lines))
    for kind in tools.project("log_templates", source="app").agent_result["templates"]:
        assert tools.search(pattern=kind["pattern"])["matched"] >= kind["count"]
