"""The tools that the declared sources make, and how planners see them. Nothing here connects anywhere.

Above: `worker` serves these tools, `diagnose` checks a runbook against them before anything is
started. Below: the tool packages of `activities`.
"""

from __future__ import annotations

from activities.catalog import catalog_of
from activities.contracts import CatalogEntry
from activities.logs import log_tools
from boundary.registry import ToolRegistry
from boundary.tools import Tool
from casebound.settings import Settings
from casebound.tool_settings import configured


def declared_tools(settings: Settings) -> list[Tool]:
    """Make the tools of the settings' sources, with what the settings say of each tool.

    Raises:
        SettingsError: they speak of a tool that there is not.
    """
    return configured(log_tools(list(settings.logs.values())), settings.tools)


def declared_catalog(settings: Settings) -> tuple[CatalogEntry, ...]:
    """Make the catalog that runs of a worker with these settings get.

    Raises:
        InvalidTool: a tool's definition is not usable.
    """
    return catalog_of(ToolRegistry(declared_tools(settings)), settings.tool_queues)
