"""Who may import whom. The arrows between packages are import-linter's (`make check`); the allow-lists are here."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest

from tests.support import tree

LIGHT = {
    "boundary",
    "boundary.contracts",
    "boundary.errors",
    "boundary.ids",
    "boundary.limits",
    "boundary.redaction",
    "boundary.report",
    "boundary.secret_contexts",
    "boundary.secret_patterns",
    "boundary.secret_shapes",
    "boundary.strict_json",
    "activities",
    "activities.contracts",
    "activities.contracts.carried",
    "activities.contracts.records",
    "activities.contracts.run_input",
    "activities.contracts.runs",
    "activities.contracts.steering",
    "activities.contracts.turns",
}
"""All that workflow code may load of the packages below it."""

LATER_STDLIB = {"compression"}
"""Of Python 3.14, imported only there."""

COME_WITH = {"google": "temporalio", "pydantic_core": "pydantic"}
"""Packages that another one brings in the version it needs."""

TOOL_LIBRARIES = ("redis", "re2", "jsonschema", "jinja2", "yaml", "typer", "rich", "pymysql", "psycopg", "sqlglot")


@cache
def import_graph() -> grimp.ImportGraph:
    """Imports between our modules, and to the packages of others."""
    return grimp.build_graph(*tree.PACKAGES, include_external_packages=True, cache_dir=None)


def ours(module: str) -> bool:
    """Tell whether the module belongs to one of the four packages."""
    return module.split(".")[0] in tree.PACKAGES


def others(modules: set[str]) -> set[str]:
    """Name the top-level packages of others among the modules, the standard library left out."""
    return {module.split(".")[0] for module in modules if not ours(module)} - sys.stdlib_module_names - LATER_STDLIB


def upstream(package: str) -> set[str]:
    """Everything the package imports, directly or through our own modules."""
    graph = import_graph()
    own = {module for module in graph.modules if module == package or module.startswith(f"{package}.")}
    return {found for module in own for found in graph.find_upstream_modules(module)} - own


@pytest.mark.proves("INV-NO-RAW-IN-WORKFLOW")
def test_workflows_import_only_light_modules() -> None:
    """Contracts, codes and pure rules; never a store, a tool or a planner."""
    imported = upstream("workflows")
    assert {module for module in imported if ours(module)} <= LIGHT
    assert others(imported) <= {"pydantic", "temporalio"}


def test_the_boundary_imports_pydantic_jsonschema_and_redis_alone() -> None:
    """It works without Temporal."""
    assert others(upstream("boundary")) <= {"pydantic", "pydantic_core", "jsonschema", "redis"}


def test_redis_is_imported_by_one_module() -> None:
    """Whatever talks to a store goes through `boundary.redis_backend`."""
    importers = {module for module in import_graph().modules if ours(module) and "redis" in others(direct(module))}
    assert importers <= {"boundary.redis_backend"}


def direct(module: str) -> set[str]:
    """What one module imports itself."""
    return set(import_graph().find_modules_directly_imported_by(module))


@pytest.mark.proves("INV-NO-RAW-IN-WORKFLOW")
def test_importing_the_workflow_loads_no_store_and_no_tool_library(tmp_path: Path) -> None:
    """Asked of a fresh process, where nothing is loaded by chance."""
    loaded = run_python("import sys, workflows.agent_run; print(*sys.modules, sep='\\n')", tmp_path).split()
    ours_loaded = {name for name in loaded if ours(name) and not name.startswith("workflows")}
    assert ours_loaded <= LIGHT
    assert [name for name in loaded if name.split(".")[0] in TOOL_LIBRARIES] == []


def test_the_four_packages_are_those_of_this_checkout(tmp_path: Path) -> None:
    """Their names are plain; another distribution could shadow them."""
    code = (
        f"import {', '.join(tree.PACKAGES)}; print(*(p.__path__[0] for p in ({', '.join(tree.PACKAGES)})), sep='\\n')"
    )
    assert run_python(code, tmp_path).split("\n")[:4] == [str(tree.ROOT / name) for name in tree.PACKAGES]


def test_each_package_is_typed() -> None:
    """`py.typed` tells type checkers to read our annotations."""
    for name in tree.PACKAGES:
        assert (tree.ROOT / name / "py.typed").exists()
        assert (tree.ROOT / name / "__init__.py").exists()


def test_every_imported_distribution_is_declared() -> None:
    """What the packages import is installed with them, not by chance beside them."""
    distributions = packages_distributions()
    imported = others({name for path in tree.python_files(*tree.PACKAGES) for name in tree.imported_modules(path)})
    undeclared = {
        name: distributions.get(name, [])
        for name in {COME_WITH.get(name, name) for name in imported}
        if not declared() & {normal(distribution) for distribution in distributions.get(name, [])}
    }
    assert undeclared == {}


def declared() -> set[str]:
    """Name the distributions that pyproject.toml asks for, extras included."""
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())["project"]
    asked: list[list[str]] = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    return {normal(re.split(r"[\[<>=!~; ]", line)[0]) for lines in asked for line in lines}


def normal(distribution: str) -> str:
    """Write a distribution's name the one way names are compared."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def run_python(code: str, directory: Path) -> str:
    """Run the code in a fresh interpreter that sees neither this directory nor the environment."""
    command = [sys.executable, "-I", "-c", code]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True, timeout=60).stdout
