"""Tells at the end of a session which servers and data sets the tests ran on.

A suite that skips where something is missing is green on a machine that has nothing; this says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable

import pytest

from tests.support import tree

TARGETS = ("valkey", "redis-6.2", "redis", "mariadb", "postgres", "loghub")
_FIXTURES = {"valkey_url": "valkey", "mariadb_url": "mariadb", "postgres_url": "postgres", "loghub": "loghub"}

PROPERTY = "target"
"""Under which a report carries its test's targets, from the process that ran it to the one that tells."""


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
    """Note the targets of a test whose body ran, or of which any phase was skipped."""
    report = yield
    if report.skipped or report.when == "call":
        report.user_properties += [(PROPERTY, target) for target in sorted(targets_of(item))]
    return report


def counted(reports: Iterable[object]) -> Counter[str]:
    """Count the targets of the tests that were reported."""
    return Counter(
        str(value)
        for report in reports
        if isinstance(report, pytest.TestReport)
        for name, value in report.user_properties
        if name == PROPERTY
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line per target, and the files that should be split."""
    stats = terminalreporter.stats
    ran = counted([*stats.get("passed", ()), *stats.get("failed", ())])
    skipped = counted(stats.get("skipped", ()))
    if not ran and not skipped:
        return
    terminalreporter.section("targets")
    for target in TARGETS:
        used = f"{ran[target]} tests ran" if ran[target] else "NOT USED"
        terminalreporter.line(f"{target:10} {used}" + (f", {skipped[target]} skipped" if skipped[target] else ""))
    large = [path for path in tree.python_files(*tree.CODE) if tree.line_count(path) > tree.FILE_SOFT]
    if large:
        names = ", ".join(f"{tree.relative(path)} ({tree.line_count(path)})" for path in large)
        terminalreporter.line(f"over {tree.FILE_SOFT} lines: {names}")
