"""The tools of a worker as planners see them: names, descriptions, schemas, limits. Pure.

Above: `run_records` puts the catalog into each run's brief, and the command line checks a runbook
against it before a run starts. Below: the `ToolRegistry`.
"""

from __future__ import annotations

from collections.abc import Mapping

from activities.contracts import CatalogEntry, ToolLimits
from boundary.registry import ToolRegistry


def catalog_of(registry: ToolRegistry, queues: Mapping[str, str]) -> tuple[CatalogEntry, ...]:
    """List the registry's tools, in its order, with the task queues of those that have one of their own."""
    return tuple(
        CatalogEntry(
            name=definition.name,
            description=definition.description,
            arguments_schema=definition.arguments_schema,
            result_schema=definition.result_schema,
            limits=ToolLimits(
                timeout_ms=definition.timeout_ms,
                attempts=definition.max_attempts,
                max_calls=definition.max_calls,
                task_queue=queues.get(definition.name),
            ),
        )
        for definition in registry.definitions
    )
