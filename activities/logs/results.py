"""What an agent gets from the log tools; field descriptions are written for the agent.

Above: the tools write their results with these, `schemas` makes JSON Schemas of them. Below:
pydantic. Optional fields that do not apply are left out, never null.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from boundary.contracts import JsonObject


class Result(BaseModel):
    """Base of what an agent gets."""

    model_config = ConfigDict(extra="forbid")


class Window(Result):
    """The span of time that was asked for, in UTC."""

    since: str | None = Field(default=None, description="Inclusive; absent: from the beginning.")
    until: str | None = Field(default=None, description="Exclusive; absent: to the end.")
    zone: str = Field(description="The source's zone, in which times without offset were read.")


class SkippedFile(Result):
    """A file that was not read."""

    file: str
    reason: str


class LookedAt(Result):
    """What was read to answer, whatever matched."""

    files: int
    lines: int = Field(description="Lines that were read.")
    first: str | None = Field(default=None, description="Earliest time of the log, UTC.")
    last: str | None = Field(default=None, description="Latest time of the log, UTC.")
    range: Literal["every line", "sampled"] = Field(
        description="Whether `first` and `last` come from every line or, in a large log, from some lines of each part."
    )
    unparsed_lines: int | None = Field(
        default=None,
        description="Lines without a time of their own; they have that of the line before. Absent when sampled.",
    )
    sought: bool | None = Field(
        default=None,
        description="True: the source is declared to be in order of time, and only what is near the window was read.",
    )
    files_outside: int | None = Field(
        default=None, description="Files passed over because, by their first times, they are not near the window."
    )
    left_out_without_time: int | None = Field(
        default=None, description="Entries that match but have no time, so that no window can hold them."
    )
    left_out_without_level: int | None = Field(
        default=None, description="Entries that match but say no level that is known."
    )
    skipped: list[SkippedFile] | None = Field(default=None, description="Files of the source that were not read.")


class Place(Result):
    """A line's time and where to find it."""

    time: str | None = Field(default=None, description="UTC, as precise as the log.")
    time_text: str | None = Field(default=None, description="The time as the log writes it.")
    file: str = Field(description="Relative to the source's folder.")
    line: int = Field(description="Line number, from 1.")


class EdgeLine(Place):
    """The earliest or the latest matching line."""

    text: str
    cut: bool | None = Field(default=None, description="True: the line is longer than shown.")


class Context(Result):
    """Neighbours of a line in its file."""

    before: list[str]
    after: list[str]


class FoundLine(Result):
    """One matching line, or one entry of several."""

    file: str
    line: int
    lines: int | None = Field(default=None, description="Lines of the entry; absent: one.")
    time: str | None = None
    text: str
    cut: bool | None = Field(default=None, description="True: the line is longer than shown.")
    context: Context | None = None


class SearchResult(Result):
    """Result of `search_logs`."""

    source: str
    window: Window
    looked_at: LookedAt
    matched: int = Field(description="Exact number of matching lines, shown or not.")
    occurrences: int | None = Field(
        default=None, description="Like `matched`, a line that stands for n equal ones counted n times."
    )
    first: EdgeLine | None = Field(default=None, description="Earliest matching line, by time.")
    last: EdgeLine | None = Field(default=None, description="Latest matching line, by time.")
    shown: int = Field(description="Number of `lines` below.")
    next_offset: int | None = Field(default=None, description="`offset` of the next page; absent: there is none.")
    truncated: bool = Field(description="True: fewer lines than `limit` are shown because of their size.")
    lines: list[FoundLine]


class Group(Result):
    """Lines with the same key."""

    key: dict[str, str] = Field(
        description="Value of each group or field counted by, empty where it took no part in the match or the line has "
        "no such field; `bucket`: start of the span of time in the source's zone."
    )
    count: int
    occurrences: int | None = None
    distinct: dict[str, int] | None = None
    first: Place
    last: Place


class CountResult(Result):
    """Result of `count_logs`."""

    source: str
    window: Window
    looked_at: LookedAt
    matched: int = Field(description="Exact number of matching lines.")
    occurrences: int | None = Field(
        default=None, description="Like `matched`, a line that stands for n equal ones counted n times."
    )
    first: EdgeLine | None = Field(default=None, description="Earliest matching line, by time.")
    last: EdgeLine | None = Field(default=None, description="Latest matching line, by time.")
    distinct: dict[str, int] | None = Field(default=None, description="Number of different values of each group.")
    groups_total: int = Field(description="Exact number of different keys, whatever is shown.")
    groups_kept: int = Field(description="Those with at least `having_min` lines.")
    shown: int = Field(description="Number of `groups` below.")
    truncated: bool = Field(description="True: fewer groups than `top` are shown because of their size.")
    groups: list[Group]


class LogTemplate(Result):
    """Lines that read alike."""

    template: str = Field(
        description="<num>, <ip>, <hex> and <uuid> stand for what varies, <*> for any word; the time is left out."
    )
    count: int
    first: Place
    last: Place
    example: str = Field(description="The first of its lines, as it was read.")
    cut: bool | None = Field(default=None, description="True: template or example are longer than shown.")
    pattern: str = Field(description="RE2 pattern that its lines match; for search_logs, count_logs, or `exclude`.")


class TemplatesResult(Result):
    """Result of `log_templates`."""

    source: str
    window: Window
    looked_at: LookedAt
    matched: int = Field(description="Exact number of matching lines.")
    templates_total: int = Field(description="Number of templates, whatever is shown.")
    rest: int | None = Field(
        default=None, description="Lines that are of none of them: there are too many kinds of line to tell apart."
    )
    shown: int = Field(description="Number of `templates` below.")
    truncated: bool = Field(description="True: fewer templates than `top` are shown because of their size.")
    templates: list[LogTemplate]


class ListedFile(Result):
    """A file of a source."""

    file: str
    bytes: int
    compressed: bool


class ListedSource(Result):
    """A source, and whether its declaration fits what is there."""

    source: str
    description: str
    format: Literal["text", "json"] = Field(description="`json`: lines are JSON objects, whose fields can be counted.")
    timestamp: str
    zone: str
    levels: bool = Field(description="Whether `level` can be asked for.")
    multiline: bool = Field(
        description="True: a line without a time belongs to the entry before it, and is found with it."
    )
    files_total: int
    bytes_total: int
    files: list[ListedFile] = Field(description="At most 100, oldest generation first.")
    first: str | None = Field(default=None, description="Earliest time, UTC.")
    last: str | None = Field(
        default=None, description="Latest time, UTC; absent where only reading the whole log could tell."
    )
    lines_checked: int
    checked: Literal["every line", "both ends of each file", "the start of each file"] = Field(
        description="Which lines `first`, `last` and `parsable` come from."
    )
    parsable: float | None = Field(
        default=None, description="Share of the checked lines that have a time of the declared format."
    )
    fits: bool | None = Field(default=None, description="False: hardly any line has a time of the declared format.")
    skipped: list[SkippedFile] | None = Field(default=None, description="Matches that are not read.")
    problem: str | None = Field(default=None, description="Why the source cannot be searched, or not fully.")


class ListResult(Result):
    """Result of `list_logs`."""

    sources: list[ListedSource]
    sources_total: int
    truncated: bool


def as_json(result: Result) -> JsonObject:
    """Write a result; fields that do not apply are left out."""
    return result.model_dump(mode="json", exclude_none=True)
