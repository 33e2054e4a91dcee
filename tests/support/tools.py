"""Tools that do what a test says. Doubles for what a run observes; everything around them is real."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.tools import Projection, ToolContext, ToolDefinition

ANY_OBJECT: JsonObject = {"type": "object"}
STRICT: JsonObject = {
    "type": "object",
    "properties": {"q": {"type": "integer"}, "pad": {"type": "string"}},
    "additionalProperties": False,
}
CANARY = "canary-4f1c9d"
"""Planted in raw; the default projector drops it."""

Execute = Callable[[JsonObject, ToolContext], JsonValue]
ExecuteAsync = Callable[[JsonObject, ToolContext], Awaitable[JsonValue]]
Project = Callable[[JsonObject, JsonValue, int], Projection]


def echo(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer with the arguments and something the agent must not see."""
    return {"echo": arguments, "secret": CANARY}


def show_echo(arguments: JsonObject, raw: Any, budget_bytes: int) -> Projection:
    """Show the echo only."""
    return Projection({"echo": raw["echo"]}, EvidenceStatus.EVIDENCE_FOUND)


def show_nothing(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
    """Say that the tool looked and found nothing."""
    return Projection({"matched": 0}, EvidenceStatus.NO_EVIDENCE)


def show_raw(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
    """Show everything."""
    return Projection(raw, EvidenceStatus.EVIDENCE_FOUND)


@dataclass
class FakeTool:
    """A synchronous tool; remembers the arguments of each execution."""

    name: str = "probe"
    work: Execute = echo
    show: Project = show_echo
    schema: JsonObject = field(default_factory=lambda: STRICT)
    read_only: bool = True
    timeout_ms: int = 60_000
    max_attempts: int = 3
    max_calls: int | None = None
    refuse: Callable[[JsonObject], CallError | None] = lambda _: None
    executed: list[JsonObject] = field(default_factory=list)

    @property
    def definition(self) -> ToolDefinition:
        """The catalog entry the fields describe."""
        return ToolDefinition(
            name=self.name,
            description="Answers as the test says.",
            arguments_schema=self.schema,
            result_schema=ANY_OBJECT,
            read_only=self.read_only,
            timeout_ms=self.timeout_ms,
            max_attempts=self.max_attempts,
            max_calls=self.max_calls,
        )

    def check(self, arguments: JsonObject) -> CallError | None:
        """See `Tool.check`."""
        return self.refuse(arguments)

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """See `Tool.execute`."""
        self.executed.append(arguments)
        return self.work(arguments, context)

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        """See `Tool.project`."""
        return self.show(arguments, raw, budget_bytes)


@dataclass
class FakeAsyncTool(FakeTool):
    """The same, asynchronous."""

    work_async: ExecuteAsync | None = None

    async def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:  # type: ignore[override] - the port allows both
        """See `Tool.execute`."""
        self.executed.append(arguments)
        return self.work(arguments, context) if self.work_async is None else await self.work_async(arguments, context)
