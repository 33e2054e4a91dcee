"""Turns what drivers and servers say into failures an agent can act on, without addresses.

Above: `mysql`, `postgres`, `sqlite`. Below: `session` for the time-outs' own words.
"""

from __future__ import annotations

from activities.sql.refusals import not_read_only, not_understood
from activities.sql.session import locked, timed_out
from activities.sql.source import SqlSource
from boundary.contracts import shorten
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure

_NAMES = "describe_database lists tables and columns"

_MYSQL_TIMEOUT = {1969, 3024}
_MYSQL_LOCK = {1205, 1213, 3572}
_MYSQL_READ_ONLY = {1290, 1792, 1836}
_MYSQL_LOST = {0, 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 2014, 2055, 4031}
_MYSQL_BUSY = {1040, 1203, 1226}
_MYSQL_DENIED = {1044, 1142, 1143, 1227, 1370}
_MYSQL_NAMES = {1049, 1051, 1052, 1054, 1109, 1146, 1176, 1305}

_SQLITE_MISTAKES = (
    "no such",
    "near ",
    "ambiguous",
    "syntax",
    "misuse",
    "wrong number",
    "should have",
    "unrecognized",
    "malformed",
)
_SQLITE_BROKEN = ("not a database", "is malformed", "malformed database", "unable to open", "encrypted")


def unreachable(source: SqlSource, why: str, *, retryable: bool = True) -> ToolFailure:
    """Make the failure of a connection that could not be made or was lost."""
    return ToolFailure(f"source {source.name!r}: {why}", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=retryable)


def mysql_failure(source: SqlSource, code: int, message: str) -> ToolFailure:
    """Judge an error of MariaDB or MySQL by its number."""
    if code in _MYSQL_TIMEOUT:
        return timed_out(source.statement_timeout_s)
    if code in _MYSQL_LOCK:
        return locked()
    if code in _MYSQL_READ_ONLY:
        return not_read_only("the server refused the statement: it would write, and the session only reads")
    if code in _MYSQL_LOST:
        return unreachable(source, "the connection to the server was lost; try again")
    if code in _MYSQL_BUSY:
        return unreachable(source, "the server takes no more connections; try again later")
    if code in _MYSQL_DENIED:
        return _denied(source)
    return _said(source, message, names=code in _MYSQL_NAMES, mistake=1000 <= code < 2000 or code >= 3000)


def postgres_failure(source: SqlSource, state: str, message: str, hint: str = "") -> ToolFailure:
    """Judge an error of PostgreSQL by its SQLSTATE."""
    if state == "57014":
        return timed_out(source.statement_timeout_s)
    if state in ("55P03", "40P01"):
        return locked()
    if state == "25006":
        return not_read_only("the server refused the statement: it would write, and the session only reads")
    if state == "42501":
        return _denied(source)
    if state.startswith(("08", "57P")) or not state:
        return unreachable(source, "the connection to the server was lost; try again")
    if state.startswith("53"):
        return unreachable(source, "the server has no resources left for this; try again later")
    text = f"{message}; {hint}" if hint else message
    return _said(
        source, text, names=state.startswith("42"), mistake=state.startswith(("42", "22", "21", "54", "0A", "3F"))
    )


def sqlite_failure(source: SqlSource, message: str) -> ToolFailure:
    """Judge an error of SQLite by its words; it has few numbers."""
    lower = message.lower()
    if "interrupted" in lower:
        return timed_out(source.statement_timeout_s)
    if "locked" in lower or "busy" in lower:
        return locked()
    if "readonly" in lower or "not authorized" in lower or "prohibited" in lower:
        return not_read_only("SQLite refused the statement: it would do more than read")
    if any(word in lower for word in _SQLITE_BROKEN):
        return unreachable(source, "the file is no SQLite database that can be read", retryable=False)
    return _said(source, message, names="no such" in lower, mistake=any(word in lower for word in _SQLITE_MISTAKES))


def _denied(source: SqlSource) -> ToolFailure:
    return ToolFailure(
        f"the account of source {source.name!r} may not read this: have SELECT granted to it",
        code=ErrorCode.EXECUTION_ERROR,
    )


def _said(source: SqlSource, message: str, *, names: bool, mistake: bool) -> ToolFailure:
    text = shorten(" ".join(source.without_address(message).split()), 300)
    if not mistake:
        return ToolFailure(f"the server failed: {text}", code=ErrorCode.EXECUTION_ERROR)
    return not_understood(f"the server says: {text}; {_NAMES}" if names else f"the server says: {text}")
