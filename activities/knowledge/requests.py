"""What an agent may ask of the knowledge tools; field descriptions are written for the agent.

Above: the tools read their arguments with these, `activities.logs.schemas` makes JSON Schemas of
them. Below: pydantic.
"""

from __future__ import annotations

from pydantic import Field

from activities.logs.requests import Request

LIMIT_MAX = 50
OFFSET_MAX = 10_000


class SearchRequest(Request):
    """Arguments of `search_knowledge`."""

    query: str = Field(
        description="Words, identifiers, an error message or a question, in Chinese or English. There are no operators."
    )
    source: str | None = Field(default=None, description="Name of one knowledge source; leave out for all.")
    limit: int = Field(default=8, ge=1, le=LIMIT_MAX, description="Most passages to return; `matched` counts all.")
    offset: int = Field(default=0, ge=0, le=OFFSET_MAX, description="Passages to skip, for paging.")


class ReadRequest(Request):
    """Arguments of `read_knowledge`."""

    source: str = Field(description="Name of the knowledge source.")
    document: str = Field(min_length=1, max_length=1000, description="Document as search_knowledge names it.")
    first_line: int | None = Field(default=None, ge=1, description="First line to read; by default 1.")
    last_line: int | None = Field(default=None, ge=1, description="Last line to read; by default the last one.")
    heading: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="Read the section under this heading; instead of lines.",
    )
