"""Nothing of a document is lost, and only a source's own documents are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.knowledge.documents import parse_document
from boundary.strict_json import dump
from boundary.tools import ToolFailure
from tests.knowledge.support import CORPUS, Knowledge

LINES = st.sampled_from(["", "# a", "## b", "text", "===", "---", "```", "~~~", "  ", "x" * 900, "title: t", "\r"])


@given(st.lists(LINES, max_size=40), st.sampled_from(["a.md", "a.txt", "a.rst"]))
def test_every_line_that_is_not_blank_is_in_exactly_one_passage(lines: list[str], name: str) -> None:
    """Whatever the headings are."""
    document = parse_document(name, "\n".join(lines))
    covered = [line for part in document.passages for line in range(part.first_line, part.last_line + 1)]
    assert len(covered) == len(set(covered))
    assert {number for number, line in enumerate(document.lines, 1) if line.strip()} <= set(covered)


def test_headings_are_atx_or_setext_and_none_is_in_a_fence() -> None:
    """A comment of a shell script is no heading; the front matter gives the title."""
    text = '---\ntitle: "T"\n---\nTop\n===\nx\n```sh\n# no\n```\n## Sub ##\ny\n'
    document = parse_document("a.md", text)
    assert [(item.level, item.text, item.first_line) for item in document.headings] == [(1, "Top", 4), (2, "Sub", 10)]
    assert document.title == "T"
    assert document.passages[-1].heading == ("Top", "Sub")


def test_lines_are_read_word_for_word(tmp_path: Path) -> None:
    """A byte order mark and line ends are not part of them."""
    (tmp_path / "a.md").write_bytes("\ufeff# 标题\r\n  x  \r\nlast".encode())
    result = Knowledge(tmp_path).read("a.md")
    assert (result["text"], result["total_lines"], result["last_line"]) == ("# 标题\n  x  \nlast", 3, 3)


def test_a_section_is_read_by_its_heading() -> None:
    """To the next heading of its level."""
    assert (
        KB.read("db-pool.md", heading="症状")["first_line"],
        KB.read("db-pool.md", heading="症状")["last_line"],
    ) == (3, 6)


KB = Knowledge(CORPUS)


@pytest.mark.parametrize("name", ["../../etc/shadow", "/etc/passwd", ".hidden.md", "a/../../x.md", "db-pool", "a\0.md"])
def test_only_listed_documents_are_read(name: str) -> None:
    """Anything else is refused."""
    with pytest.raises(ToolFailure) as failure:
        KB.read(name)
    assert failure.value.code == "INVALID_ARGUMENTS"


def test_a_link_out_of_the_source_is_refused(tmp_path: Path) -> None:
    """For reading and for searching."""
    inside = tmp_path / "kb"
    inside.mkdir()
    (tmp_path / "secret.md").write_text("SECRET")
    (inside / "a.md").write_text("a")
    (inside / "out.md").symlink_to(tmp_path / "secret.md")
    kb = Knowledge(inside)
    assert kb.search("SECRET")["matched"] == 0
    with pytest.raises(ToolFailure, match="leaves the source") as failure:
        kb.read("out.md")
    assert failure.value.code == "INVALID_ARGUMENTS"


def test_paging_by_lines_gives_the_whole_document_within_the_budget(tmp_path: Path) -> None:
    """Each page is whole lines and names the next."""
    lines = [f"line {number} 超时" for number in range(300)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    kb, first, seen = Knowledge(tmp_path), 1, list[str]()
    while first:
        projection = kb.project("read_knowledge", budget=1500, source="kb", document="a.txt", first_line=first)
        assert len(dump(projection.agent_result)) <= 1500
        seen += projection.agent_result["text"].split("\n")
        first = projection.agent_result.get("next_line", 0)
    assert seen == lines
