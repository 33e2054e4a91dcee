"""Tells at the end of a session which servers and data sets the tests ran on.

A suite that skips where something is missing is green on a machine that has nothing; this says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest

from tests.support import tree

TARGETS = ("valkey", "redis-6.2", "redis", "mariadb", "postgres", "loghub")
_FIXTURES = {"valkey_url": "valkey", "mariadb_url": "mariadb", "postgres_url": "postgres", "loghub": "loghub"}

_ran: Counter[str] = Counter()
_skipped: Counter[str] = Counter()


def targets_of(item: pytest.Item) -> set[str]:
    """Name the targets a test runs on, by its fixtures and markers."""
    names: list[str] = getattr(item, "fixturenames", [])
    found = {target for fixture, target in _FIXTURES.items() if fixture in names}
    if item.get_closest_marker("loghub"):
        found.add("loghub")
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        found |= {value for value in callspec.params.values() if value in TARGETS}
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Count a test as run when its body ran, as skipped when any phase was."""
    report = yield
    if report.skipped or report.when == "call":
        (_skipped if report.skipped else _ran).update(targets_of(item))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line per target, and the files that should be split."""
    if not _ran and not _skipped:
        return
    terminalreporter.section("targets")
    for target in TARGETS:
        ran, skipped = _ran[target], _skipped[target]
        used = f"{ran} tests ran" if ran else "NOT USED"
        terminalreporter.line(f"{target:10} {used}" + (f", {skipped} skipped" if skipped else ""))
    large = [path for path in tree.python_files(*tree.CODE) if tree.line_count(path) > tree.FILE_SOFT]
    if large:
        names = ", ".join(f"{tree.relative(path)} ({tree.line_count(path)})" for path in large)
        terminalreporter.line(f"over {tree.FILE_SOFT} lines: {names}")
