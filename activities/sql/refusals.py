"""The failures of the SQL tools before any connection: a statement that is not only read, or is no statement.

Above: `tools`' checks turn them into the call's error. Below: the boundary's codes. Messages say what to write
instead.
"""

from __future__ import annotations

from boundary.errors import ErrorCode
from boundary.tools import ToolFailure


def not_read_only(message: str) -> ToolFailure:
    """Make the refusal of a statement that could write, wait, lock or reach outside the tables."""
    return ToolFailure(message, code=ErrorCode.NOT_READ_ONLY)


def not_understood(message: str) -> ToolFailure:
    """Make the refusal of a text that is no statement of the dialect."""
    return ToolFailure(message, code=ErrorCode.INVALID_ARGUMENTS)
