"""The tools' contracts are frozen: a change of what an agent sees is made on purpose."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from activities.knowledge import KnowledgeSource, knowledge_tools
from boundary.registry import ToolRegistry

CONTRACTS = Path(__file__).parents[2] / "docs" / "contracts"
NAMES = ("search_knowledge", "read_knowledge")


@pytest.fixture
def registry() -> ToolRegistry:
    """The tools over two sources that stand for whatever is declared."""
    sources = [KnowledgeSource(name=name, path=Path("/kb") / name) for name in ("api", "worker")]
    return ToolRegistry(knowledge_tools(sources))


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
