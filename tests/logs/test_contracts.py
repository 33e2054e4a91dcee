"""The tools' contracts are frozen: a change of what an agent sees is made on purpose."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from activities.logs import LogSource, log_tools
from boundary.registry import ToolRegistry
from tests.logs.support import PLAIN

CONTRACTS = Path(__file__).parents[2] / "docs" / "contracts"
NAMES = ("list_logs", "search_logs", "count_logs", "log_templates")


@pytest.fixture
def registry() -> ToolRegistry:
    """The tools over two sources that stand for whatever is declared."""
    sources = [LogSource(name=name, path=Path("/logs") / name, **PLAIN) for name in ("api", "worker")]
    return ToolRegistry(log_tools(sources))


@pytest.mark.parametrize("name", NAMES)
def test_a_contract_is_the_one_checked_in(registry: ToolRegistry, name: str) -> None:
    """To change it on purpose, write the new one into docs/contracts and say so in the changelog."""
    registered = registry.get(name)
    assert registered is not None
    checked_in = json.loads((CONTRACTS / f"{name}.json").read_text())
    assert dataclasses.asdict(registered.definition) == checked_in


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_described_and_no_other_is_taken(registry: ToolRegistry, name: str) -> None:
    """A model reads the schema and nothing else."""
    registered = registry.get(name)
    assert registered is not None
    schema = registered.definition.arguments_schema
    assert schema["additionalProperties"] is False
    assert all(field["description"] for field in schema["properties"].values())
    assert "api" in schema["properties"]["source"]["enum"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"source": "other"},
        {"source": "api", "limit": 0},
        {"source": "api", "limit": "5"},
        {"source": "api", "context": 11},
        {"source": "api", "path": "/etc/passwd"},
        {"source": "api", "pattern": ""},
        {"source": "api", "pattern": "x" * 2001},
        {"source": "api", "order": "up"},
    ],
)
def test_arguments_outside_the_schema_do_not_pass_its_gate(registry: ToolRegistry, arguments: dict[str, Any]) -> None:
    """An agent names a declared source, never a path."""
    registered = registry.get("search_logs")
    assert registered is not None
    assert registered.gate.violations(arguments) is not None
