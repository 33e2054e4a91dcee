"""What an agent asks of the log tools and what it gets: models, and the JSON Schemas made of them.

Above: `search`, `count` and `listing` read requests and write results with these. Below:
pydantic. Field descriptions are written for the agent. Optional result fields that do not apply
are left out, never null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from boundary.contracts import JsonObject

PATTERN_MAX = 2000
"""Characters of a pattern."""
LIMIT_MAX = 500
OFFSET_MAX = 10_000
CONTEXT_MAX = 10
TOP_MAX = 1000

GroupName = Annotated[str, Field(min_length=1, max_length=100)]


class Request(BaseModel):
    """Arguments of a tool; an explicit null means the same as leaving a field out."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Selection(Request):
    """Which lines of which source."""

    source: str = Field(description="Name of the log source.")
    pattern: str | None = Field(
        default=None,
        min_length=1,
        max_length=PATTERN_MAX,
        description="RE2 pattern a line must contain; ^ and $ are the line's ends. No look-around, no backreferences. "
        "Leave out `pattern` and `text` to select every line.",
    )
    text: str | None = Field(
        default=None,
        min_length=1,
        max_length=PATTERN_MAX,
        description="Literal text a line must contain; instead of `pattern`.",
    )
    case_sensitive: bool = Field(default=True, description="False: `pattern`, `text` and `exclude` ignore case.")
    exclude: str | None = Field(
        default=None,
        min_length=1,
        max_length=PATTERN_MAX,
        description="RE2 pattern that a line must not contain.",
    )
    since: str | None = Field(
        default=None,
        max_length=64,
        description="ISO 8601 time, inclusive. Without an offset it is read in the source's own zone.",
    )
    until: str | None = Field(
        default=None,
        max_length=64,
        description="ISO 8601 time, exclusive: lines at exactly this time are not selected.",
    )


class SearchRequest(Selection):
    """Arguments of `search_logs`."""

    order: Literal["oldest", "newest"] = Field(
        default="oldest", description="Which lines come first, by their time, not by their place in the file."
    )
    limit: int = Field(default=50, ge=1, le=LIMIT_MAX, description="Most lines to return; `matched` counts all.")
    offset: int = Field(default=0, ge=0, le=OFFSET_MAX, description="Lines to skip, for paging through the matches.")
    context: int = Field(
        default=0, ge=0, le=CONTEXT_MAX, description="Lines of the file to show before and after each match."
    )


class CountRequest(Selection):
    """Arguments of `count_logs`."""

    group_by: list[GroupName] = Field(
        default_factory=list[str],
        max_length=8,
        description='Named groups of `pattern` to count by, such as ["ip"] for a pattern with (?P<ip>[0-9.]+).',
    )
    bucket: Literal["minute", "hour", "day"] | None = Field(
        default=None, description="Count per span of time, too, in the source's own zone."
    )
    distinct: list[GroupName] = Field(
        default_factory=list[str],
        max_length=8,
        description="Named groups of `pattern` whose different values to count, overall and in each group.",
    )
    having_min: int = Field(default=1, ge=1, description="Leave out groups with fewer lines.")
    sort: Literal["count", "key"] = Field(
        default="count", description="`count`: largest group first; `key`: by key, so buckets come in order of time."
    )
    top: int = Field(default=50, ge=1, le=TOP_MAX, description="Most groups to return; `groups_total` counts all.")


class ListRequest(Request):
    """Arguments of `list_logs`."""

    source: str | None = Field(default=None, description="Name of one log source; leave out for all.")


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
    lines: int
    first: str | None = Field(default=None, description="Earliest time of the log, UTC.")
    last: str | None = Field(default=None, description="Latest time of the log, UTC.")
    range: Literal["every line", "sampled"] = Field(
        description="Whether `first` and `last` come from every line or, in a large log, from some lines of each part."
    )
    unparsed_lines: int | None = Field(
        default=None,
        description="Lines without a time of their own; they have that of the line before. Absent when sampled.",
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
    """One matching line."""

    file: str
    line: int
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
        description="Value of each group counted by, empty where it took no part in the match; `bucket`: start of the "
        "span of time in the source's zone."
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


class ListedFile(Result):
    """A file of a source."""

    file: str
    bytes: int
    compressed: bool


class ListedSource(Result):
    """A source, and whether its declaration fits what is there."""

    source: str
    description: str
    timestamp: str
    zone: str
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


def arguments_schema(model: type[Request], sources: Sequence[str]) -> JsonObject:
    """Make a tool's arguments schema; `source` is one of the declared names."""
    schema = _plain(model.model_json_schema())
    place: JsonObject = schema["properties"]["source"]
    description = place["description"]
    names = list(sources)
    schema["properties"]["source"] = (
        {"type": "string", "enum": names, "description": description}
        if "source" in schema.get("required", ())
        else {"enum": [*names, None], "default": None, "description": description}
    )
    return schema


def result_schema(model: type[Result]) -> JsonObject:
    """Make a tool's result schema."""
    return _plain(model.model_json_schema(mode="serialization"))


def as_json(result: Result) -> JsonObject:
    """Write a result; fields that do not apply are left out."""
    return result.model_dump(mode="json", exclude_none=True)


def _plain(schema: Any) -> Any:
    """Take the titles out of a schema: they only repeat the names."""
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        return {
            key: {name: _plain(part) for name, part in value.items()}
            if key in ("properties", "$defs")
            else _plain(value)
            for key, value in members.items()
            if key != "title"
        }
    if isinstance(schema, list):
        return [_plain(item) for item in cast("list[Any]", schema)]
    return schema
