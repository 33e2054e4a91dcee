"""What an agent may ask of the log tools; field descriptions are written for the agent.

Above: the tools read their arguments with these, `schemas` makes JSON Schemas of them. Below: pydantic.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PATTERN_MAX = 2000
"""Characters of a pattern."""
LIMIT_MAX = 500
OFFSET_MAX = 10_000
CONTEXT_MAX = 10
TOP_MAX = 1000
TEMPLATES_MAX = 200

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

    level: Literal["trace", "debug", "info", "notice", "warning", "error", "critical"] | None = Field(
        default=None,
        description="Only entries of this level and of more severe ones; for sources of which list_logs says that they "
        "have `levels`.",
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
        description='Named groups of `pattern` to count by, such as ["ip"] for a pattern with (?P<ip>[0-9.]+); for a '
        'source of JSON lines also paths of fields, such as ["http.status"].',
    )
    bucket: Literal["minute", "hour", "day"] | None = Field(
        default=None, description="Count per span of time, too, in the source's own zone."
    )
    distinct: list[GroupName] = Field(
        default_factory=list[str],
        max_length=8,
        description="Named groups of `pattern`, or fields of JSON lines, whose different values to count, overall and "
        "in each group.",
    )
    having_min: int = Field(default=1, ge=1, description="Leave out groups with fewer lines.")
    sort: Literal["count", "key"] = Field(
        default="count", description="`count`: largest group first; `key`: by key, so buckets come in order of time."
    )
    top: int = Field(default=50, ge=1, le=TOP_MAX, description="Most groups to return; `groups_total` counts all.")


class TemplatesRequest(Selection):
    """Arguments of `log_templates`."""

    order: Literal["common", "rare", "newest"] = Field(
        default="common",
        description="`common`: most lines first; `rare`: fewest first; `newest`: what appeared last first.",
    )
    top: int = Field(default=30, ge=1, le=TEMPLATES_MAX, description="Most templates to return.")


class ListRequest(Request):
    """Arguments of `list_logs`."""

    source: str | None = Field(default=None, description="Name of one log source; leave out for all.")
