"""Tells whether a source can be searched, for the list of tools a person asks for.

Above: the application. Below: `files`, `documents`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from activities.knowledge.documents import parse_document
from activities.knowledge.files import Unreadable, find_documents, read_text
from activities.knowledge.index import NO_FTS5
from activities.knowledge.source import KnowledgeSource
from activities.probe import Probe
from boundary.tools import ToolFailure


def probe(source: KnowledgeSource) -> Probe:
    """Read the source once; never raises for what is wrong with it."""
    if not _has_fts5():
        return Probe(False, NO_FTS5, (), "")
    try:
        found = find_documents(source)
    except ToolFailure as failure:
        return Probe(False, failure.message, (), "")
    warnings = [f"{item.document}: {item.reason}" for item in found.refused]
    documents = passages = 0
    for file in found.files:
        try:
            _, text = read_text(file)
        except Unreadable as error:
            warnings.append(f"{file.name}: {error}")
            continue
        documents += 1
        passages += len(parse_document(file.name, text).passages)
    if not documents:
        return Probe(False, f"source {source.name!r} has no readable document: {warnings[0]}", tuple(warnings), "")
    return Probe(True, None, tuple(warnings), f"{_count(documents, 'document')}, {_count(passages, 'passage')}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _has_fts5() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (body)")
        except sqlite3.OperationalError:
            return False
    return True
