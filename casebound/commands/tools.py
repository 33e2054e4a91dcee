"""`casebound tools`: what an agent could use here, and how each source is right now. No server is needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boundary.registry import ToolRegistry
from boundary.tools import ToolDefinition
from casebound.cli_errors import Exit, say
from casebound.cli_text import Line
from casebound.commands.output import print_lines
from casebound.settings import load_settings
from casebound.sources import Source, declared_tools, look_at_sources


async def tools(config: Path | None, *, as_json: bool) -> int:
    """Print every tool and every source with its status; 1: a source is not available, or there is none."""
    settings = load_settings(config)
    definitions = ToolRegistry(declared_tools(settings)).definitions
    sources = await look_at_sources(settings)
    if as_json:
        print(json.dumps(_as_json(definitions, sources), ensure_ascii=False, indent=2))
    else:
        print_lines(_lines(definitions, sources))
    if not sources:
        say(
            "no source is declared, so there is no tool: declare one in casebound.toml, "
            "as [logs.NAME], [sql.NAME] or [knowledge.NAME]"
        )
    return Exit.OK if sources and all(source.probe.available for source in sources) else Exit.UNPROVEN


def source_lines(sources: Sequence[Source]) -> list[Line]:
    """Show each source in a line, what is wrong with it below."""
    lines: list[Line] = []
    width = max((len(f"{source.kind}.{source.name}") for source in sources), default=0)
    for source in sources:
        probe, label = source.probe, f"{source.kind}.{source.name}"
        state, style = ("ready      ", "green") if probe.available else ("unavailable", "red")
        lines.append(Line(f"{label:{width}}  {state}  {probe.detail if probe.available else probe.reason}", style))
        lines += [Line(f"{'':{width}}  {'warning':11}  {warning}", "yellow") for warning in probe.warnings]
    return lines


def _lines(definitions: Sequence[ToolDefinition], sources: Sequence[Source]) -> list[Line]:
    lines = [Line("SOURCES", "bold"), *source_lines(sources)] if sources else []
    if definitions:
        lines += [Line(""), Line("TOOLS", "bold")]
    for definition in definitions:
        ready, broken = _sources_of(definition.name, sources)
        style = "green" if ready else "red"
        lines.append(Line(f"{definition.name:18}  {_status(ready, broken)}", style))
        lines.append(Line(f"{'':18}  {definition.description}", hang=20))
    return lines


def _status(ready: Sequence[str], broken: Sequence[str]) -> str:
    if not ready:
        return f"unavailable: no source of it is ({', '.join(broken)})"
    return f"ready on {', '.join(ready)}" + (f"; not on {', '.join(broken)}" if broken else "")


def _sources_of(tool: str, sources: Sequence[Source]) -> tuple[list[str], list[str]]:
    """Name the sources a tool can look at now, and those it cannot."""
    own = [source for source in sources if tool in source.tools]
    ready = [source.name for source in own if source.probe.available]
    return ready, [source.name for source in own if not source.probe.available]


def _as_json(definitions: Sequence[ToolDefinition], sources: Sequence[Source]) -> dict[str, Any]:
    listed: list[dict[str, Any]] = []
    for definition in definitions:
        ready, broken = _sources_of(definition.name, sources)
        listed.append(
            {
                "name": definition.name,
                "description": definition.description,
                "available": bool(ready),
                "sources": ready,
                "unavailable_sources": broken,
                "timeout_s": definition.timeout_ms / 1000,
                "max_attempts": definition.max_attempts,
                "max_calls": definition.max_calls,
            }
        )
    return {
        "tools": listed,
        "sources": [
            {
                "kind": source.kind,
                "name": source.name,
                "description": source.description,
                "available": source.probe.available,
                "reason": source.probe.reason,
                "warnings": list(source.probe.warnings),
                "detail": source.probe.detail,
                "tools": list(source.tools),
            }
            for source in sources
        ],
    }
