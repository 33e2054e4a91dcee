"""Reads the SQL tools' arguments, and keeps a refusal's code.

Above: `query` and `describe`. Below: the log tools' reading of requests.
"""

from __future__ import annotations

from collections.abc import Callable

from activities.logs.selection import refusal
from activities.sql.source import SqlSource
from boundary.contracts import CallError, call_error
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure

TIMEOUT_MS = 75_000
"""The longest statement, its connection, and what ending it takes."""


def checked(compile_request: Callable[[], object]) -> CallError | None:
    """Return the refusal that compiling a request ends with, or None."""
    try:
        compile_request()
    except ToolFailure as failure:
        return call_error(failure.code or ErrorCode.EXECUTION_ERROR, failure.message)
    return None


def known(sources: dict[str, SqlSource], name: str) -> SqlSource:
    """Return the source of that name.

    Raises:
        ToolFailure: INVALID_ARGUMENTS, there is none.
    """
    if name not in sources:
        raise refusal(f"no source {name!r}: expected one of {', '.join(sources)}")
    return sources[name]
