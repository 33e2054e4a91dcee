"""The full-text index of all documents, in memory, brought up to date at each call.

Above: `search`. Below: `files`, `documents`, `terms`, and SQLite's FTS5. One lock is held while
the index is refreshed and asked, so that an answer's lines belong to the text that was indexed.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from activities.knowledge.documents import Document, parse_document
from activities.knowledge.files import (
    Fingerprint,
    Found,
    KnowledgeFile,
    Refused,
    Unreadable,
    find_documents,
    read_text,
)
from activities.knowledge.source import KnowledgeSource
from activities.knowledge.terms import Query, index_terms
from boundary.errors import ErrorCode
from boundary.tools import ToolContext, ToolFailure

NO_FTS5 = "this Python's SQLite has no FTS5: use a Python whose sqlite3 is built with it"

_PROGRESS_EVERY = 20
_STOP_CHECK_PASSAGES = 50
_TABLES = """
CREATE TABLE passage (id INTEGER PRIMARY KEY, source TEXT, document TEXT, title TEXT, heading TEXT,
                      first_line INTEGER, last_line INTEGER, text TEXT);
CREATE INDEX passage_document ON passage (source, document);
CREATE VIRTUAL TABLE term USING fts5 (title, heading, body, tokenize = 'porter unicode61 remove_diacritics 2');
"""
_SEARCH = """
SELECT p.source, p.document, p.title, p.heading, p.first_line, p.last_line, p.text
FROM term JOIN passage p ON p.id = term.rowid
WHERE term MATCH ?1 AND p.source IN (SELECT value FROM json_each(?3))
ORDER BY term.rowid IN (SELECT rowid FROM term WHERE term MATCH ?2) DESC, bm25(term, 4.0, 3.0, 1.0),
         p.source, p.document, p.first_line
LIMIT ?4 OFFSET ?5
"""
_COUNT = """
SELECT count(*) FROM term JOIN passage p ON p.id = term.rowid
WHERE term MATCH ?1 AND p.source IN (SELECT value FROM json_each(?2))
"""


@dataclass(frozen=True)
class Hit:
    """A passage that matched."""

    source: str
    document: str
    title: str
    heading: list[str]
    first_line: int
    last_line: int
    text: str


@dataclass(frozen=True)
class Answer:
    """One page of hits, best first, and what was looked at."""

    matched: int
    hits: list[Hit]
    documents: int
    skipped: dict[str, tuple[Refused, ...]]
    unread: tuple[Refused, ...]
    """Of the skipped: documents that could not be read, so that what was looked for may be in them."""
    unavailable: dict[str, str]


class Index:
    """The index; shared by concurrent calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Fingerprint] = {}
        self._unreadable: dict[tuple[str, str], str] = {}
        self._connection: sqlite3.Connection | None = None

    def ask(
        self, sources: Sequence[KnowledgeSource], query: Query | None, limit: int, offset: int, context: ToolContext
    ) -> Answer:
        """Refresh the sources and search them; without a query, nothing matches.

        Raises:
            ToolFailure: none of the sources could be looked at, there is no FTS5, or told to stop.
        """
        while not self._lock.acquire(timeout=0.1):
            _check_stop(context)
        try:
            return self._ask(sources, query, limit, offset, context)
        finally:
            self._lock.release()

    def _ask(
        self, sources: Sequence[KnowledgeSource], query: Query | None, limit: int, offset: int, context: ToolContext
    ) -> Answer:
        connection = self._open()
        looked: list[str] = []
        documents = 0
        skipped: dict[str, tuple[Refused, ...]] = {}
        broken: dict[str, str] = {}
        unread: list[Refused] = []
        for source in sources:
            try:
                found = find_documents(source)
            except ToolFailure as failure:
                broken[source.name] = failure.message
                continue
            bad = self._refresh(connection, source.name, found, context)
            if len(bad) == len(found.files):
                reason = (*found.refused, *bad)[0]
                broken[source.name] = (
                    f"source {source.name!r} has no readable document: {reason.document} {reason.reason}"
                )
                continue
            looked.append(source.name)
            documents += len(found.files) - len(bad)
            unread += bad
            if found.refused or bad:
                skipped[source.name] = (*found.refused, *bad)
        if not looked:
            raise _all_broken(broken)
        matched, hits = _search(connection, query, looked, limit, offset)
        return Answer(matched, hits, documents, skipped, tuple(unread), broken)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            try:
                connection.executescript(_TABLES)
            except sqlite3.OperationalError:
                connection.close()
                raise ToolFailure(NO_FTS5) from None
            weakref.finalize(self, connection.close)
            self._connection = connection
        return self._connection

    def _refresh(
        self, connection: sqlite3.Connection, source: str, found: Found, context: ToolContext
    ) -> tuple[Refused, ...]:
        """Index what changed, drop what is gone; return what could not be read."""
        current = {(source, file.name) for file in found.files}
        for key in [key for key in self._known if key[0] == source and key not in current]:
            with connection:
                _drop(connection, key)
            del self._known[key]
            self._unreadable.pop(key, None)
        for number, file in enumerate(found.files):
            _check_stop(context)
            if self._known.get((source, file.name)) != file.fingerprint:
                self._index(connection, source, file, context)
            if number % _PROGRESS_EVERY == 0:
                context.progress(f"indexed {number} of {len(found.files)} documents")
        bad = [(file.name, self._unreadable.get((source, file.name))) for file in found.files]
        return tuple(Refused(name, reason) for name, reason in bad if reason is not None)

    def _index(self, connection: sqlite3.Connection, source: str, file: KnowledgeFile, context: ToolContext) -> None:
        key = (source, file.name)
        # Whatever ends this attempt, the next call looks at the file again.
        self._known[key] = (-1, -1, -1)
        try:
            fingerprint, text = read_text(file)
        except Unreadable as error:
            self._unreadable[key] = str(error)
            with connection:
                _drop(connection, key)
            return
        with connection:
            _drop(connection, key)
            _insert(connection, key, parse_document(file.name, text), context)
        self._unreadable.pop(key, None)
        self._known[key] = fingerprint


def _drop(connection: sqlite3.Connection, key: tuple[str, str]) -> None:
    connection.execute(
        "DELETE FROM term WHERE rowid IN (SELECT id FROM passage WHERE source = ? AND document = ?)", key
    )
    connection.execute("DELETE FROM passage WHERE source = ? AND document = ?", key)


def _insert(connection: sqlite3.Connection, key: tuple[str, str], document: Document, context: ToolContext) -> None:
    title = index_terms(document.title)
    for number, passage in enumerate(document.passages):
        if number % _STOP_CHECK_PASSAGES == 0:
            _check_stop(context)
        text = document.text(passage.first_line, passage.last_line)
        row = connection.execute(
            "INSERT INTO passage (source, document, title, heading, first_line, last_line, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, document.title, json.dumps(passage.heading), passage.first_line, passage.last_line, text),
        ).lastrowid
        connection.execute(
            "INSERT INTO term (rowid, title, heading, body) VALUES (?, ?, ?, ?)",
            (row, title, index_terms("\n".join(passage.heading)), index_terms(text)),
        )


def _search(
    connection: sqlite3.Connection, query: Query | None, sources: list[str], limit: int, offset: int
) -> tuple[int, list[Hit]]:
    if query is None:
        return 0, []
    names = json.dumps(sources)
    matched: int = connection.execute(_COUNT, (query.any, names)).fetchone()[0]
    rows = connection.execute(_SEARCH, (query.any, query.all, names, limit, offset)).fetchall()
    hits = [Hit(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5], row[6]) for row in rows]
    return matched, hits


def _all_broken(broken: dict[str, str]) -> ToolFailure:
    return ToolFailure("; ".join(broken.values()), code=ErrorCode.UPSTREAM_UNAVAILABLE)


def _check_stop(context: ToolContext) -> None:
    if context.stop.is_set():
        raise ToolFailure("told to stop before the documents were indexed")
