"""What an agent gets from the knowledge tools; field descriptions are written for the agent.

Above: the tools. Below: pydantic. Optional fields that do not apply are left out, never null.
"""

from __future__ import annotations

from pydantic import Field

from activities.logs.results import Result


class SkippedDocument(Result):
    """A document that was not looked at."""

    source: str
    document: str
    reason: str


class UnavailableSource(Result):
    """A source that could not be looked at."""

    source: str
    reason: str


class Passage(Result):
    """Lines of a document."""

    rank: int = Field(description="1 is the best match.")
    source: str
    document: str = Field(description="Relative to the source's folder.")
    title: str
    heading: list[str] = Field(description="Headings the passage stands under, outermost first.")
    first_line: int = Field(description="Line number in the document, from 1.")
    last_line: int = Field(description="Last line of the passage; of those shown where `cut`.")
    text: str = Field(description="The lines, word for word.")
    cut: bool | None = Field(default=None, description="True: the passage is longer; use read_knowledge.")


class SearchResult(Result):
    """Result of `search_knowledge`."""

    documents: int = Field(description="Documents that were looked at.")
    matched: int = Field(description="Passages with at least one word of the query.")
    shown: int = Field(description="Number of `passages` below.")
    next_offset: int | None = Field(default=None, description="`offset` of the next page; absent: there is none.")
    truncated: bool = Field(description="True: fewer passages than `limit` are shown because of their size.")
    ignored_words: int | None = Field(default=None, description="Words of a very long query that were left out.")
    skipped: list[SkippedDocument] | None = Field(default=None, description="At most 20.")
    skipped_total: int | None = None
    unavailable: list[UnavailableSource] | None = None
    passages: list[Passage] = Field(description="Best first; those with all words of the query before others.")


class ReadResult(Result):
    """Result of `read_knowledge`."""

    source: str
    document: str
    title: str
    total_lines: int
    first_line: int
    last_line: int = Field(description="Last line shown; 0 for an empty document.")
    next_line: int | None = Field(default=None, description="`first_line` of the next page of what was asked for.")
    truncated: bool = Field(description="True: not all that was asked for is shown.")
    cut: bool | None = Field(default=None, description="True: the one line shown is longer than shown.")
    text: str = Field(description="The lines, word for word.")
