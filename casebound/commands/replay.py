"""`casebound replay` says whether the runs that histories are of would go on with the code at hand.

Files are replayed without any server. A query needs Temporal only: no store, no worker.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from casebound.cli_errors import Exit, UsageError, say
from casebound.temporal import connect_configured, connect_local

if TYPE_CHECKING:
    from temporalio.client import Client

    from casebound.replay_sources import Sourced
    from casebound.replay_verdict import Verdict

SAID_EVERY = 25
"""Histories between two lines of progress."""


@dataclass(frozen=True)
class ReplayOptions:
    """The command line of `replay`."""

    files: tuple[Path, ...]
    query: str | None
    """None with files: no server is asked. None without: every run there is."""
    limit: int
    timeout: timedelta
    strict: bool
    json: bool


async def replay(options: ReplayOptions, leave: Callable[[int], int] = os._exit) -> int:
    """Replay the histories one by one, printing each verdict as it is there.

    Args:
        options: the command line.
        leave: ends the process at once; what is left of a replay that was given up may hold the interpreter for ever.
    """
    from casebound.replay_text import total_line, verdict_json, verdict_lines
    from casebound.replay_verdict import FaultKind

    # What the SDK logs of a failed replay, with its trace, is told by the verdict.
    logging.getLogger().addHandler(logging.NullHandler())
    verdicts: list[Verdict] = []
    printed: list[dict[str, object]] = []
    async for sourced in _histories(options):
        verdict = await _replayed(sourced, options)
        verdicts.append(verdict)
        if options.json:
            printed.append(verdict_json(sourced.source, verdict))
        else:
            for line in verdict_lines(sourced.source, verdict):
                print(line, flush=True)
        if len(verdicts) % SAID_EVERY == 0 and (options.json or not sys.stdout.isatty()):
            say(f"{len(verdicts)} histories replayed ...")
    if not verdicts:
        raise UsageError("there is no run that the query finds" if options.query else "there is no run to replay")
    failed = sum(not (verdict.same if options.strict else verdict.replays) for verdict in verdicts)
    if options.json:
        totals = {"histories": len(verdicts), "failed": failed}
        print(json.dumps({"verdicts": printed, "totals": totals}, ensure_ascii=False, indent=2), flush=True)
    else:
        print(total_line(verdicts), flush=True)
    code = Exit.UNPROVEN if failed else Exit.OK
    if any(verdict.fault is not None and verdict.fault.kind is FaultKind.TIMEOUT for verdict in verdicts):
        sys.stderr.flush()
        return leave(code)
    return code


async def _replayed(sourced: Sourced, options: ReplayOptions) -> Verdict:
    from casebound.replay import NotReplayable
    from casebound.replay import replay as replay_one
    from casebound.replay_verdict import Fault, FaultKind, Verdict

    history = sourced.history
    try:
        return await replay_one(history, timeout_s=options.timeout.total_seconds())
    except NotReplayable as error:
        return Verdict(history.workflow_id, "", len(history.events), Fault(FaultKind.UNUSABLE, error.message))


async def _histories(options: ReplayOptions) -> AsyncIterator[Sourced]:
    from casebound.replay_sources import fetch, read_files

    if options.files:
        for sourced in read_files(options.files):
            yield sourced
        if options.query is None:
            return
    async with _server() as client:
        async for sourced in fetch(client, options.query or "", options.limit):
            yield sourced


@asynccontextmanager
async def _server() -> AsyncGenerator[Client]:
    """Connect to the server that the environment names, or to the embedded stack's."""
    if os.environ.get("TEMPORAL_ADDRESS"):
        yield await connect_configured()
        return
    from casebound.stack import open_stack

    async with open_stack(say=say, announce=False) as stack:
        yield await connect_local(stack.temporal_address)
