"""The tools that the declared sources make, how planners see them, and how the sources are right now.

Above: `worker` serves these tools, `diagnose` checks a runbook against them before anything is started,
`tools` and `doctor` show them. Below: the tool packages of `activities`. Only probing looks at a source.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from activities import knowledge, logs, sql
from activities.catalog import catalog_of
from activities.contracts import CatalogEntry
from activities.probe import Probe
from boundary.redaction import Redactor
from boundary.registry import ToolRegistry
from boundary.tools import Tool
from casebound.settings import Settings
from casebound.tool_settings import configured


@dataclass(frozen=True)
class Source:
    """A declared source, and what a look at it found."""

    kind: str
    name: str
    description: str
    tools: tuple[str, ...]
    """Names of the tools that can look at it."""
    probe: Probe


def declared_tools(settings: Settings) -> list[Tool]:
    """Make the tools of the settings' sources, with what the settings say of each tool.

    Raises:
        SettingsError: they speak of a tool that there is not.
    """
    return configured([tool for tools in _by_kind(settings).values() for tool in tools], settings.tools)


def declared_catalog(settings: Settings) -> tuple[CatalogEntry, ...]:
    """Make the catalog that runs of a worker with these settings get.

    Raises:
        InvalidTool: a tool's definition is not usable.
    """
    return catalog_of(ToolRegistry(declared_tools(settings)), settings.tool_queues)


async def look_at_sources(settings: Settings) -> list[Source]:
    """Look at every source, all at once; what is wrong with one is said there, secrets masked."""
    redactor = Redactor(settings.secret_values())
    looks: list[tuple[str, str, str, Callable[[], Probe]]] = [
        *(("logs", name, source.description, partial(logs.probe, source)) for name, source in settings.logs.items()),
        *(("sql", name, source.description, partial(sql.probe, source)) for name, source in settings.sql.items()),
        *(
            ("knowledge", name, source.description, partial(knowledge.probe, source))
            for name, source in settings.knowledge.items()
        ),
    ]
    found = await asyncio.gather(*[asyncio.to_thread(look) for *_, look in looks])
    tools = {kind: tuple(tool.definition.name for tool in made) for kind, made in _by_kind(settings).items()}
    return [
        Source(kind, name, description, tools[kind], _masked(redactor, probe))
        for (kind, name, description, _), probe in zip(looks, found, strict=True)
    ]


def _by_kind(settings: Settings) -> dict[str, list[Tool]]:
    """Make the tools, by the name of their sources' tables."""
    return {
        "logs": logs.log_tools(list(settings.logs.values())),
        "sql": sql.sql_tools(list(settings.sql.values())),
        "knowledge": knowledge.knowledge_tools(list(settings.knowledge.values())),
    }


def _masked(redactor: Redactor, probe: Probe) -> Probe:
    def masked(text: str) -> str:
        return redactor.text(text)[0]

    reason = None if probe.reason is None else masked(probe.reason)
    return Probe(probe.available, reason, tuple(map(masked, probe.warnings)), masked(probe.detail))
