"""Any query text finds the right passage, or finds nothing, and never fails."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.knowledge import KnowledgeSource, probe
from boundary.strict_json import dump
from boundary.tools import ToolContext, ToolFailure
from tests.knowledge.support import CORPUS, Knowledge

KB = Knowledge(CORPUS)

FIRST = [
    ("数据库连接池耗尽", "db-pool.md"),
    ("连接池耗尽怎么办?", "db-pool.md"),
    ("超时", "db-pool.md"),
    ("接口超时", "db-pool.md"),
    ("JDBC", "db-pool.md"),
    ("Redis 主从切换", "redis-failover.md"),
    ("\uff32\uff25\uff24\uff29\uff33", "redis-failover.md"),
    ("哨兵没有选举", "redis-failover.md"),
    ("REPLICAOF", "redis-failover.md"),
    ("磁盘空间", "disk-full.md"),
    ("盘", "disk-full.md"),
    ("1213", "deadlock.md"),
    ("死锁", "deadlock.md"),
    ("InnoDB status", "deadlock.md"),
    ("How do I fix connection pool exhaustion after deploy?", "pool-exhaustion.md"),
    ("TS-999", "pool-exhaustion.md"),
    ("999", "pool-exhaustion.md"),
    ("java.lang.OutOfMemoryError", "oom.md"),
    ("OutOfMemoryError", "oom.md"),
    ("OutOfMemory", "oom.md"),
    ("outofmemoryerror", "oom.md"),
    ("heap dumps", "oom.md"),
    ("blk_-1608999687919862906", "hdfs-block.md"),
    ("1608999687919862906", "hdfs-block.md"),
    ("missing block", "hdfs-block.md"),
    ("ERR_CONN_RESET", "network-reset.md"),
    ("what are the lessons about idle balancers", "network-reset.md"),
]


@pytest.mark.parametrize(("query", "document"), FIRST)
def test_a_query_finds_the_right_document_first(query: str, document: str) -> None:
    """Decided by reading the documents."""
    assert KB.search(query)["passages"][0]["document"] == document


HOSTILE = ['"', "NEAR(a b)", "a AND", "OR NOT", "*", "a*", "-a", "title:a", "\0", "\ud800", "🙂"]
LONG = ["x " * 50_000, "连" * 33_000]


@given(st.one_of(st.text(alphabet=st.characters(exclude_categories=())), st.sampled_from(HOSTILE + LONG)))
def test_no_query_text_fails(query: str) -> None:
    """Operators of FTS5 are plain text."""
    result = KB.search(query)
    assert result["shown"] == min(result["matched"], 8)


def test_nothing_found_is_no_evidence() -> None:
    """It looked at every document."""
    projection = KB.project("search_knowledge", query="kubernetes")
    assert projection.evidence_status == "NO_EVIDENCE"
    assert projection.agent_result["documents"] == len(list(CORPUS.iterdir()))


def test_a_missing_folder_is_a_failure_and_names_no_path(tmp_path: Path) -> None:
    """Searching nothing proves nothing; probe gives the same reason."""
    with pytest.raises(ToolFailure, match="no such folder") as failure:
        Knowledge(tmp_path / "gone").search("x")
    assert failure.value.code == "UPSTREAM_UNAVAILABLE"
    assert str(tmp_path) not in failure.value.message
    assert probe(KnowledgeSource(name="kb", path=tmp_path / "gone")).reason == failure.value.message


def test_the_index_follows_changed_new_and_removed_files(tmp_path: Path) -> None:
    """Within the call that asks."""
    (tmp_path / "a.md").write_text("# A\nalpha\n")
    kb = Knowledge(tmp_path)
    assert kb.search("alpha")["matched"] == 1
    (tmp_path / "a.md").write_text("# A\nbeta gamma\n")
    (tmp_path / "b.md").write_text("# B\nbeta\n")
    assert kb.search("alpha")["matched"] == 0
    assert kb.search("beta")["matched"] == 2
    (tmp_path / "a.md").unlink()
    assert [item["document"] for item in kb.search("beta")["passages"]] == ["b.md"]


def test_concurrent_calls_share_one_index(tmp_path: Path) -> None:
    """Each sees a document that another call indexed once."""
    (tmp_path / "a.md").write_text("alpha")
    kb = Knowledge(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(kb.search, ["alpha"] * 40))
    assert [result["matched"] for result in results] == [1] * 40


def test_a_call_told_to_stop_while_indexing_fails_and_the_next_one_finds(tmp_path: Path) -> None:
    """No half-indexed document stays."""
    (tmp_path / "a.md").write_text("alpha")
    kb = Knowledge(tmp_path)
    stop = threading.Event()
    stop.set()
    with pytest.raises(ToolFailure, match="told to stop"):
        kb.tools["search_knowledge"].execute({"query": "alpha"}, ToolContext(stop=stop))
    assert kb.search("alpha")["matched"] == 1


def test_a_result_within_the_budget_is_whole_passages() -> None:
    """The rest is named by `next_offset`."""
    projection = KB.project("search_knowledge", query="redis 死锁 block idle 清理", budget=900)
    result = projection.agent_result
    assert len(dump(result)) <= 900
    assert projection.truncated
    assert result["next_offset"] == result["shown"] < result["matched"]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """The readable documents are searched all the same."""
    (tmp_path / "good.md").write_text("alpha")
    (tmp_path / "gbk.md").write_bytes("超时".encode("gbk"))
    (tmp_path / "bin.txt").write_bytes(b"a\0b")
    result = Knowledge(tmp_path).search("alpha")
    assert result["matched"] == 1
    assert {item["document"] for item in result["skipped"]} == {"gbk.md", "bin.txt"}
    found = probe(KnowledgeSource(name="kb", path=tmp_path))
    assert (found.available, found.detail, len(found.warnings)) == (True, "1 document, 1 passage", 2)


def test_nothing_found_beside_a_document_nobody_could_read_is_no_absence(tmp_path: Path) -> None:
    """What was looked for may stand in it; the failure names it."""
    (tmp_path / "good.md").write_text("alpha")
    (tmp_path / "gbk.md").write_bytes("超时".encode("gbk"))
    with pytest.raises(ToolFailure, match=r"this is no absence: gbk\.md"):
        Knowledge(tmp_path).search("omega")
