"""The port every tool implements: a definition, an execution, a projection.

Above: `ToolBoundary` calls it, between the record's creation and its settlement. Below: the
tools of `activities`. A tool only observes: it gets no store, no run and no credentials but
its own, and what it returns is raw, which the agent never sees.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.errors import CaseboundError, ErrorCode


@dataclass(frozen=True)
class ToolDefinition:
    """What a catalog says of a tool. Schemas are JSON Schema 2020-12, without remote references."""

    name: str
    """Model-safe, `^[a-z][a-z0-9_]{0,63}$`."""
    description: str
    arguments_schema: JsonObject
    result_schema: JsonObject
    """Shape of the agent result."""
    read_only: bool = True
    """False: every call is NOT_READ_ONLY."""
    timeout_ms: int = 60_000
    """Longest single execution."""
    max_attempts: int = 3
    """Retryable failures after which a call is settled ERROR."""
    max_calls: int | None = None
    """Calls of this tool a run may make; None: only the run's own limit."""
    result_bytes: int = 24 * 1024
    """Budget the projector gets, in bytes of JSON; about 6,000 tokens."""


class StopFlag(Protocol):
    """Tells a running tool that nobody waits for its answer any more."""

    def is_set(self) -> bool:
        """Tell whether to stop now."""
        ...


@dataclass(frozen=True)
class ToolContext:
    """What a tool gets beside its arguments."""

    stop: StopFlag
    """Synchronous tools look at it at least every 100 ms of work and then raise or return."""
    progress: Callable[[str], None] = field(default=lambda _: None)
    """Says in a few words how far the work is; shown in the Temporal UI. Thread-safe."""
    max_raw_bytes: int = 8 * 1024 * 1024
    """More raw than this is RESULT_TOO_LARGE: stop reading before."""


@dataclass(frozen=True)
class Projection:
    """The agent-facing side of a raw response."""

    agent_result: JsonValue
    evidence_status: EvidenceStatus
    """EVIDENCE_FOUND or NO_EVIDENCE."""
    truncated: bool = False
    """Items of the raw response were left out to stay within the budget."""


class ToolFailure(CaseboundError):
    """A tool's own word that it failed.

    Attributes:
        code: EXECUTION_ERROR, EXECUTION_TIMEOUT, UPSTREAM_UNAVAILABLE, INVALID_ARGUMENTS or NOT_READ_ONLY.
        retryable: a later attempt may succeed.
    """

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.EXECUTION_ERROR, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class Tool(Protocol):
    """One read-only observation. Instances are shared by concurrent calls."""

    @property
    def definition(self) -> ToolDefinition:
        """The tool's entry in the catalog."""
        ...

    def check(self, arguments: JsonObject) -> CallError | None:
        """Refuse what JSON Schema cannot express (a bad pattern, a statement that writes); pure and quick."""
        ...

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue | Awaitable[JsonValue]:
        """Observe and return raw JSON. A plain function runs in the boundary's thread pool.

        Raises:
            ToolFailure: the tool could not look. Any other exception becomes EXECUTION_ERROR.
        """
        ...

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """Make the agent result, whole items only, within `budget_bytes` of JSON; pure."""
        ...
