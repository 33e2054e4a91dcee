"""`casebound doctor`: whether this machine, its servers and its sources are as a diagnosis needs them.

It changes nothing and starts nothing. Each thing is looked at for itself, so that one that is broken hides no other.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from temporalio.client import Client
from temporalio.service import RPCError

from boundary.errors import CaseboundError
from casebound import __version__, search_attributes
from casebound.cli_errors import Exit
from casebound.cli_text import Line
from casebound.client import has_worker
from casebound.commands.output import print_lines
from casebound.commands.session import attaches, open_checked_store
from casebound.commands.tools import source_lines
from casebound.embedded_servers import store_program, temporal_program
from casebound.paths import state_paths
from casebound.settings import Settings, load_settings
from casebound.sources import look_at_sources
from casebound.temporal import connect_configured

Level = Literal["ok", "warning", "problem"]
STYLES: dict[Level, str] = {"ok": "green", "warning": "yellow", "problem": "red"}


@dataclass
class Findings:
    """What was found so far."""

    lines: list[Line] = field(default_factory=list[Line])
    problems: int = 0

    def add(self, level: Level, what: str, text: str) -> None:
        """Take down one thing."""
        self.problems += level == "problem"
        self.lines.append(Line(f"{level:8}  {what:14}  {text}", STYLES[level]))


async def doctor(config: Path | None) -> int:
    """Look at everything; 0: nothing stands in a diagnosis' way, 1: something does."""
    found = Findings()
    found.add("ok", "casebound", f"{__version__}, Python {platform.python_version()}")
    try:
        settings = load_settings(config)
        attached = attaches(settings)
    except CaseboundError as error:
        found.add("problem", "configuration", error.message)
        print_lines(found.lines)
        return Exit.UNPROVEN
    found.add("ok", "configuration", str(settings.file) if settings.file else "no casebound.toml here: no sources")
    if attached:
        await _look_at_servers(settings, found)
    else:
        _look_at_programs(found)
    await _look_at_sources(settings, found)
    print_lines(found.lines)
    return Exit.UNPROVEN if found.problems else Exit.OK


async def _look_at_servers(settings: Settings, found: Findings) -> None:
    try:
        client = await connect_configured()
    except CaseboundError as error:
        found.add("problem", "Temporal", error.message)
    else:
        found.add("ok", "Temporal", f"{client.service_client.config.target_host}, namespace {client.namespace!r}")
        try:
            await _look_at_namespace(client, settings.worker.task_queue, found)
        except RPCError as error:
            found.add("problem", "Temporal", f"did not answer what was asked of it: {error.message}")
    async with AsyncExitStack() as opened:
        try:
            store = await open_checked_store(settings, opened)
        except CaseboundError as error:
            found.add("problem", "store", error.message)
            return
        found.add("ok", "store", f"answers, data set {store.store_id}")
        for warning in store.warnings:
            found.add("warning", "store", warning)


async def _look_at_namespace(client: Client, queue: str, found: Findings) -> None:
    known = await search_attributes.known(client)
    missing = [name for name in search_attributes.ALL if name not in known]
    if missing:
        found.add("warning", "attributes", f"{', '.join(missing)} not declared: run `casebound setup` once")
    if await has_worker(client, queue):
        found.add("ok", "worker", f"one polls the task queue {queue!r}")
    else:
        found.add("problem", "worker", f"none polls the task queue {queue!r}: start `casebound worker` there")


def _look_at_programs(found: Findings) -> None:
    """See that the embedded stack could start: its programs are there, its folder can be written."""
    programs: dict[str, Callable[[], Path]] = {"Temporal": temporal_program, "store": store_program}
    for what, program in programs.items():
        try:
            found.add("ok", what, f"embedded, {program().name}")
        except CaseboundError as error:
            found.add("problem", what, error.message)
    root = state_paths().root
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    if os.access(there, os.W_OK):
        found.add("ok", "state", str(root))
    else:
        found.add("problem", "state", f"{root} cannot be written: set CASEBOUND_STATE_DIR to another folder")


async def _look_at_sources(settings: Settings, found: Findings) -> None:
    sources = await look_at_sources(settings)
    found.problems += sum(not source.probe.available for source in sources)
    if not sources:
        found.add("warning", "sources", "none is declared, so a run has no tools")
        return
    found.lines += [Line(), *source_lines(sources)]
