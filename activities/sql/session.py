"""What the three kinds of database have in common: one connection per call, rows as they come, and an end to all of it.

Above: the tools and `probing` open one with `sessions.open_session`. Below: `mysql`, `postgres`, `sqlite`. `Watch`
ends what runs too long or is not wanted any more, on the server; the drivers' own blocking calls cannot be told to
stop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from boundary.contracts import JsonValue
from boundary.errors import ErrorCode
from boundary.tools import ToolContext, ToolFailure

CONNECT_TIMEOUT_S = 5
"""To connect, log in and set up the session."""

LOCK_WAIT_S = 1
"""Longest wait for another session's lock."""

GRACE_S = 2.0
"""What a statement may take beyond its time-out before the connection is cut off."""

_BEAT_S = 0.05
_PROGRESS_S = 1.0

Row = list[JsonValue]


@dataclass(frozen=True)
class Column:
    """A column of a result."""

    name: str
    type: str | None
    """As the server names it; None where it has no types (SQLite's expressions)."""


@dataclass
class Rows:
    """A result as it comes."""

    columns: list[Column] = field(default_factory=list[Column])
    rows: list[Row] = field(default_factory=list[Row])
    more_rows: bool = False
    """The row cap was hit: there are more."""
    cut_by_size: bool = False
    """The byte cap was hit before the row cap."""


class Session(Protocol):
    """One read-only connection, its settings read back and in force."""

    server: str
    """Such as "MariaDB 10.11.19"."""

    def select(self, sql: str, parameters: Sequence[str] = ()) -> list[dict[str, JsonValue]]:
        """Run a statement of our own and return its rows by column; for the catalog."""
        ...

    def run(self, sql: str, max_rows: int, max_bytes: int, context: ToolContext) -> Rows:
        """Run the agent's statement and read rows up to the caps.

        Raises:
            ToolFailure: with the code for what went wrong.
        """
        ...

    def watch(self, context: ToolContext) -> Watch:
        """Make what ends a statement of this session when it is not wanted any more."""
        ...

    def can_write(self) -> str | None:
        """Say by which privileges the account can write, None: it can only read."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Stopped(ToolFailure):
    """Nobody waits for the answer any more."""

    def __init__(self) -> None:
        super().__init__("the query was stopped", code=ErrorCode.EXECUTION_ERROR)


class Watch:
    """Ends a running statement on the server when it is told to stop, or past the time-out; reports progress."""

    def __init__(
        self, context: ToolContext, timeout_s: float, cancel: Callable[[], None], cut_off: Callable[[], None]
    ) -> None:
        self._context = context
        self._timeout_s = timeout_s
        self._cancel = cancel
        self._cut_off = cut_off
        self._done = threading.Event()
        self.rows = 0
        self.stopped = False
        self.late = False

    @contextmanager
    def over(self) -> Generator[Watch]:
        """Watch while the block runs."""
        thread = threading.Thread(target=self._watch, name="sql-watch", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._done.set()
            thread.join()

    def failure(self) -> ToolFailure | None:
        """Return why the statement was ended from here, if it was."""
        if self.stopped:
            return Stopped()
        return timed_out(self._timeout_s) if self.late else None

    def _watch(self) -> None:
        begun = time.monotonic()
        reported = begun
        ended: float | None = None
        while not self._done.wait(_BEAT_S):
            now = time.monotonic()
            if ended is None:
                self.stopped = self._context.stop.is_set()
                self.late = now - begun > self._timeout_s + GRACE_S / 2
                if self.stopped or self.late:
                    ended = now
                    with suppress(Exception):  # the statement ends by its own time-out, or is cut off below
                        self._cancel()
            elif now - ended > GRACE_S:
                with suppress(OSError):
                    self._cut_off()
            if now - reported >= _PROGRESS_S:
                reported = now
                self._context.progress(f"{now - begun:.0f} s, {self.rows} rows")


class Watched:
    """Runs statements of our own so that they end when the call does."""

    def __init__(self, session: Session, context: ToolContext) -> None:
        self._session = session
        self._context = context

    def select(self, sql: str, parameters: Sequence[str] = ()) -> list[dict[str, JsonValue]]:
        """Run a statement and return its rows by column.

        Raises:
            ToolFailure: with the code for what went wrong.
        """
        watch = self._session.watch(self._context)
        try:
            with watch.over():
                return self._session.select(sql, parameters)
        except ToolFailure as failure:
            raise watch.failure() or failure from None


class Collector:
    """Takes rows until a cap is hit."""

    def __init__(self, columns: list[Column], max_rows: int, max_bytes: int) -> None:
        self.result = Rows(columns)
        self._max_rows = max_rows
        self._room = max_bytes

    def add(self, row: Row, size: int) -> bool:
        """Take a row of about `size` bytes of JSON; False: it was one too many, read no further."""
        if len(self.result.rows) >= self._max_rows:
            self.result.more_rows = True
            return False
        if size > self._room:
            self.result.more_rows = self.result.cut_by_size = True
            return False
        self._room -= size
        self.result.rows.append(row)
        return True


def timed_out(seconds: float) -> ToolFailure:
    """Make the failure of a statement that ran too long."""
    return ToolFailure(
        f"the statement ran over the source's time-out of {seconds:g} s: narrow it with WHERE on an indexed column, "
        "aggregate less, or look at EXPLAIN first",
        code=ErrorCode.EXECUTION_TIMEOUT,
    )


def locked() -> ToolFailure:
    """Make the failure of a statement that met another session's lock."""
    return ToolFailure(
        f"the statement waited over {LOCK_WAIT_S} s for another session's lock on the table: "
        "see who holds it, or try again later",
        code=ErrorCode.EXECUTION_TIMEOUT,
        retryable=True,
    )


def not_protected(name: str) -> ToolFailure:
    """Make the failure of a session whose settings are not in force."""
    return ToolFailure(
        f"the server of source {name!r} did not take the settings that keep a session from writing; nothing was asked",
        code=ErrorCode.UPSTREAM_UNAVAILABLE,
    )
