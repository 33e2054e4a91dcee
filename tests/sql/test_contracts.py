"""The tools' contracts are frozen: a change of what an agent sees is made on purpose."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from activities.sql import SqlSource, sql_tools
from boundary.registry import ToolRegistry

CONTRACTS = Path(__file__).parents[2] / "docs" / "contracts"
NAMES = ("describe_database", "query_database")


@pytest.fixture
def registry() -> ToolRegistry:
    """The tools over two sources that stand for whatever is declared."""
    urls = {"shop": "mysql://reader@db.invalid/shop", "audit": "postgresql://reader@db.invalid/audit"}
    return ToolRegistry(sql_tools([SqlSource.model_validate({"name": name, "url": url}) for name, url in urls.items()]))


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
    assert "shop" in schema["properties"]["source"]["enum"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"source": "shop"},
        {"source": "other", "sql": "SELECT 1"},
        {"source": "shop", "sql": ""},
        {"source": "shop", "sql": "x" * 16385},
        {"source": "shop", "sql": "SELECT 1", "max_rows": 0},
        {"source": "shop", "sql": "SELECT 1", "max_rows": 1001},
        {"source": "shop", "sql": "SELECT 1", "max_rows": "5"},
        {"source": "shop", "sql": "SELECT 1", "url": "mysql://root@db.invalid/shop"},
    ],
)
def test_arguments_outside_the_schema_do_not_pass_its_gate(registry: ToolRegistry, arguments: dict[str, Any]) -> None:
    """An agent names a declared source, never an address."""
    registered = registry.get("query_database")
    assert registered is not None
    assert registered.gate.violations(arguments) is not None


def test_there_are_no_tools_without_sources() -> None:
    """A catalog does not offer what cannot answer."""
    assert sql_tools([]) == []
