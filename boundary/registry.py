"""The tools of one worker, checked once, by name.

Above: the composition root builds one, preflight and the catalog read it. Below: `Tool` and
`SchemaGate`. It is not a run's catalog: that one stands in the run's history, and a name in it
may be missing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from boundary.contracts import shorten
from boundary.ids import is_tool_name
from boundary.schema_gate import InvalidTool, SchemaGate, inspect_schema
from boundary.tools import Tool, ToolDefinition


@dataclass(frozen=True)
class RegisteredTool:
    """A tool that passed every check of registration."""

    tool: Tool
    definition: ToolDefinition
    """As it was when the tool was registered."""
    gate: SchemaGate


class ToolRegistry:
    """The tools a worker has; never changes after it was built."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        """Check every tool.

        Raises:
            InvalidTool: an illegal or repeated name, a definition out of range, a schema that is refused.
        """
        self._tools: dict[str, RegisteredTool] = {}
        for tool in tools:
            registered = _registered(tool)
            name = registered.definition.name
            if name in self._tools:
                raise InvalidTool(f"two tools are named {name!r}: names must differ")
            self._tools[name] = registered

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' names in the order they were given."""
        return tuple(self._tools)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools' catalog entries in the order they were given."""
        return tuple(registered.definition for registered in self._tools.values())

    def get(self, name: str) -> RegisteredTool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)


def _registered(tool: Tool) -> RegisteredTool:
    definition = tool.definition
    if not is_tool_name(definition.name):
        raise InvalidTool(f"tool name {shorten(definition.name, 80)!r} must match ^[a-z][a-z0-9_]{{0,63}}$")
    try:
        _check_numbers(definition)
        inspect_schema(definition.result_schema)
        gate = SchemaGate(definition.arguments_schema)
    except InvalidTool as error:
        raise InvalidTool(f"tool {definition.name!r}: {error.message}") from None
    return RegisteredTool(tool, definition, gate)


def _check_numbers(definition: ToolDefinition) -> None:
    least_one = {
        "timeout_ms": definition.timeout_ms,
        "max_attempts": definition.max_attempts,
        "result_bytes": definition.result_bytes,
    }
    if definition.max_calls is not None:
        least_one["max_calls"] = definition.max_calls
    for field, value in least_one.items():
        if value < 1:
            raise InvalidTool(f"{field} is {value}: it must be at least 1")
