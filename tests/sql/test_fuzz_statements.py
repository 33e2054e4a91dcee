"""No SQL text makes a statement reach a server that changes state, waits on a lock or runs past its time-out.

Each text goes through `query_database` as the boundary runs it, as an account that may do anything, so that nothing
but the tool keeps it from doing so; the server says what came of it. A few hundred texts in CI, always the same ones;
`make soak` tries CASEBOUND_SOAK_EXAMPLES (600) batches a server, new ones each time.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from activities.sql.lexing import Dialect
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure
from tests.sql.arenas import Arena, SqliteArena, Waiting, maria_arena, postgres_arena
from tests.sql.grammar import known, long_texts, texts
from tests.sql.statements_long import LATE, nested
from tests.sql.support import Sql, sql, unconnected
from tests.sql.test_sessions import eventually

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
EXAMPLES = int(os.environ.get("CASEBOUND_SOAK_EXAMPLES", "600")) if SOAK else 10
BATCH = 25
"""Texts between two looks at the server's state."""
STATEMENT_TIMEOUT_S = 0.3
"""Shorter than the wait for a lock, so that whoever waits does so until the time-out."""
REACHING = 0.2
"""At least so many of the texts reach the server, or else they prove little."""
QUOTING = "'\"`$\\/*-#;!()[]{}.:@ \nEeNx1"
PATIENCE = pytest.mark.timeout(3 * 3600 if SOAK else 120)

FUZZED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not SOAK,
    database=None,
    # A failing batch is told with what reached the server; shrinking would find it changed already.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.filter_too_much,
    ],
    print_blob=True,
)


class Judge:
    """Plays texts in one arena, and tells what their server says."""

    def __init__(self, arena: Arena, waiting: Waiting) -> None:
        self._arena = arena
        self._waiting = waiting
        self._tools: Sql = sql(arena.url, statement_timeout_s=STATEMENT_TIMEOUT_S)
        self._before = arena.state()
        self.tally: Counter[str] = Counter()

    def play(self, batch: Sequence[str]) -> None:
        """Run the texts, then look: nothing has changed, nobody waits, nobody is there any more."""
        ends = {text: self._end(text) for text in batch}
        sent = {text: end for text, end in ends.items() if end != "refused"}
        assert not self._waiting.found, (self._waiting.found, sent)
        assert eventually(lambda: not self._arena.running()), (self._arena.running(), sent)
        after = self._arena.state()
        changed = {label: (value, after[label]) for label, value in self._before.items() if after[label] != value}
        assert not changed, (changed, sent)

    def reached(self) -> float:
        """Share of the texts that reached the server."""
        return 1 - self.tally["refused"] / self.tally.total()

    def _end(self, text: str) -> str:
        for word, name in self._arena.names.items():
            text = text.replace(word, name)
        end = self._outcome(text)
        self.tally[end] += 1
        return end

    def _outcome(self, text: str) -> str:
        if self._tools.check("query_database", source="db", sql=text) is not None:
            return "refused"
        try:
            self._tools.project("query_database", source="db", sql=text)
        except ToolFailure as failure:
            return self._said(failure, text)
        return "answered"

    def _said(self, failure: ToolFailure, text: str) -> str:
        """Tell how it ended; a server's refusal to write, and its wait for a lock, are what the guard spares it."""
        assert failure.code not in (ErrorCode.NOT_READ_ONLY, ErrorCode.UPSTREAM_UNAVAILABLE), (text, failure.message)
        assert "another session's lock" not in failure.message, text
        return str(failure.code)


@pytest.fixture
def waiting() -> Waiting:
    """Who was seen to wait."""
    return Waiting()


@pytest.fixture
def maria_judge(mariadb_url: str, waiting: Waiting) -> Iterator[Judge]:
    """A judge over MariaDB."""
    with maria_arena(mariadb_url, waiting) as arena:
        yield Judge(arena, waiting)


@pytest.fixture
def postgres_judge(postgres_url: str, waiting: Waiting) -> Iterator[Judge]:
    """A judge over PostgreSQL."""
    with postgres_arena(postgres_url, waiting) as arena:
        yield Judge(arena, waiting)


def tried(judge: Judge, dialect: Dialect) -> None:
    """Play the known statements, then batches of others and of calls that may take long, and count."""
    known_texts = [*known(dialect), *(statement for statement, _ in LATE[dialect]), *nested(dialect, 19)]
    for start in range(0, len(known_texts), BATCH):
        judge.play(known_texts[start : start + BATCH])
    told = judge.tally.copy()

    @given(batch=st.lists(texts(dialect), min_size=BATCH, max_size=BATCH))
    @FUZZED
    def play(batch: list[str]) -> None:
        judge.play(batch)

    @given(batch=st.lists(long_texts(dialect), min_size=BATCH, max_size=BATCH))
    @FUZZED
    def play_long(batch: list[str]) -> None:
        judge.play(batch)

    play()
    play_long()
    judge.tally -= told
    print(f"{dialect}: {dict(judge.tally)}, {judge.reached():.0%} reached the server", file=sys.stderr)
    assert judge.reached() > REACHING
    assert judge.tally["answered"] > 0


@PATIENCE
def test_no_text_changes_mariadb_or_waits_or_outlives_its_time_out(maria_judge: Judge, waiting: Waiting) -> None:
    """Its rows, sequences, files, locks, accounts and settings stay, and its process list is empty."""
    tried(maria_judge, "mysql")
    assert waiting.looks > 0


@PATIENCE
def test_no_text_changes_postgresql_or_waits_or_outlives_its_time_out(postgres_judge: Judge, waiting: Waiting) -> None:
    """Its tuples, sequences, files, locks, roles and settings stay, and pg_stat_activity is empty."""
    tried(postgres_judge, "postgres")
    assert waiting.looks > 0


@PATIENCE
def test_no_text_changes_an_sqlite_file(shop_file: Path, waiting: Waiting) -> None:
    """Not a byte of it, and no file appears beside it."""
    tried(Judge(SqliteArena(shop_file), waiting), "sqlite")


@PATIENCE
@pytest.mark.parametrize("dialect", ["mysql", "postgres", "sqlite"])
def test_whatever_the_text_the_guard_takes_it_or_says_why_not(dialect: Dialect) -> None:
    """It raises nothing, and comes to an end: one that does not meets the suite's time-out."""
    tools = unconnected(dialect)

    @given(text=st.one_of(texts(dialect), st.text(max_size=200), st.text(QUOTING, max_size=60)))
    @settings(FUZZED, max_examples=EXAMPLES * BATCH)
    @example(text="SELECT " + "DATE(" * 39 + "1" + ")" * 39)
    @example(text="SELECT " + "ARRAY[" * 39 + "1" + "]" * 39)
    @example(text="SELECT '\ud800'")
    def judge(text: str) -> None:
        tools.check("query_database", source="db", sql=text)

    judge()
