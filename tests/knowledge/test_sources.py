"""What a source of knowledge leads to: globs, several sources, pages of a result, limits."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from activities.knowledge import KnowledgeSource, files, knowledge_tools
from boundary.contracts import JsonObject
from boundary.errors import ErrorCode
from boundary.tools import Tool, ToolContext, ToolFailure
from tests.knowledge.support import Knowledge


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def tools(*sources: KnowledgeSource) -> dict[str, Tool]:
    return {tool.definition.name: tool for tool in knowledge_tools(sources)}


def search(made: dict[str, Tool], **arguments: object) -> JsonObject:
    tool = made["search_knowledge"]
    raw = tool.execute(arguments, ToolContext(stop=threading.Event()))
    result = tool.project(arguments, raw, 24 * 1024).agent_result
    Draft202012Validator(tool.definition.result_schema).validate(result)
    return result


def test_a_glob_takes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    """Also in folders; hidden ones and other suffixes are left out."""
    write(tmp_path, dict.fromkeys(("a/run/x.md", "b/run/y.txt", "b/other/z.md", "b/run/q.py"), "the pool is empty"))
    write(tmp_path, {".git/run/w.md": "the pool is empty"})
    made = tools(KnowledgeSource(name="kb", glob=f"{tmp_path}/*/run/*"))
    assert {passage["document"] for passage in search(made, query="pool")["passages"]} == {"a/run/x.md", "b/run/y.txt"}


def test_several_sources_are_searched_together_or_alone(tmp_path: Path) -> None:
    """Each passage names its source; one that cannot be looked at is named beside what was found."""
    write(tmp_path, {"one/a.md": "restart the pool", "two/a.md": "drain the pool"})
    sources = [KnowledgeSource(name=name, path=tmp_path / name) for name in ("one", "two", "gone")]
    found = search(tools(*sources), query="pool")
    assert {passage["source"] for passage in found["passages"]} == {"one", "two"}
    assert [item["source"] for item in found["unavailable"]] == ["gone"]
    alone = search(tools(*sources), query="pool", source="two")
    assert ([passage["source"] for passage in alone["passages"]], "unavailable" in alone) == (["two"], False)


def test_pages_of_a_result_have_each_passage_once(tmp_path: Path) -> None:
    """In the order of their ranks, up to the last."""
    write(tmp_path, {f"{number:02}.md": f"pool number {number}" for number in range(25)})
    made, seen, offset = tools(KnowledgeSource(name="kb", path=tmp_path)), list[tuple[int, str]](), 0
    while True:
        page = search(made, query="pool", limit=7, offset=offset)
        seen += [(passage["rank"], passage["document"]) for passage in page["passages"]]
        if "next_offset" not in page:
            break
        offset = page["next_offset"]
    assert [rank for rank, _ in seen] == list(range(1, 26))
    assert len({document for _, document in seen}) == page["matched"] == 25


def test_a_source_of_too_many_documents_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the others would be called absent."""
    monkeypatch.setattr(files, "MAX_FILES", 3)
    write(tmp_path, {f"{number}.md": "pool" for number in range(3)})
    assert Knowledge(tmp_path).search("pool")["matched"] == 3
    write(tmp_path, {"3.md": "pool"})
    with pytest.raises(ToolFailure, match="has more than 3 documents: declare it in narrower parts") as caught:
        Knowledge(tmp_path).search("pool")
    assert caught.value.code is ErrorCode.UPSTREAM_UNAVAILABLE


def test_documents_over_the_size_of_a_source_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before them, by name, are searched."""
    monkeypatch.setattr(files, "MAX_SOURCE_BYTES", 10)
    write(tmp_path, {"a.md": "pool one", "b.md": "pool two"})
    found = Knowledge(tmp_path).search("pool")
    assert [item["document"] for item in found["skipped"]] == ["b.md"]
    assert [passage["document"] for passage in found["passages"]] == ["a.md"]
