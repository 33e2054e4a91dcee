"""What `[tools.NAME]` says of a tool: its time, its attempts, its calls, and whose workers run it.

Above: `settings` reads it, `sources` applies it. Below: the port. A tool itself knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from boundary.tools import Tool, ToolDefinition
from casebound.settings_errors import SettingsError


class ToolSettings(BaseModel):
    """Of one tool; what is not given stays as the tool has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    timeout_s: float | None = Field(default=None, gt=0, le=300)
    """Longest single execution; all of a call's attempts together have 5 minutes."""
    max_attempts: int | None = Field(default=None, ge=1, le=20)
    """Failures that may pass after which a call is given up."""
    max_calls: int | None = Field(default=None, ge=1, le=5000)
    """Calls of the tool that one run may make."""
    task_queue: str | None = Field(default=None, min_length=1, max_length=200)
    """Whose workers run the tool; None: those that serve the run."""


class ConfiguredTool:
    """A tool with another entry in the catalog. Implements `boundary.tools.Tool`."""

    def __init__(self, tool: Tool, settings: ToolSettings) -> None:
        definition = tool.definition
        self.definition: ToolDefinition = replace(
            definition,
            timeout_ms=definition.timeout_ms if settings.timeout_s is None else round(settings.timeout_s * 1000),
            max_attempts=settings.max_attempts or definition.max_attempts,
            max_calls=settings.max_calls or definition.max_calls,
        )
        # The tool's own methods: whether `execute` is a coroutine function decides where it runs.
        self.check = tool.check
        self.execute = tool.execute
        self.project = tool.project


def configured(tools: Sequence[Tool], settings: Mapping[str, ToolSettings]) -> list[Tool]:
    """Apply the settings to the tools they name.

    Raises:
        SettingsError: they name a tool that there is not.
    """
    names = [tool.definition.name for tool in tools]
    for name in settings:
        if name not in names:
            known = ", ".join(names) or "none, since no source is declared"
            raise SettingsError(f"[tools.{name}]: there is no tool {name!r}\n  fix: name one of: {known}")
    return [
        ConfiguredTool(tool, settings[tool.definition.name]) if tool.definition.name in settings else tool
        for tool in tools
    ]
