"""`casebound runs`: which runs there are. No worker is needed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from activities.contracts import RunOutcome
from casebound.cli_errors import Exit, UsageError, say
from casebound.cli_text import Line, one_line
from casebound.commands.output import print_lines
from casebound.commands.session import Session, open_session
from casebound.run_list import ListedRun, NotFilterable, Wanted, from_store, from_temporal
from casebound.settings import load_settings

OWNER_SHOWN = 16
QUESTION_SHOWN = 100
"""Characters of a line; the JSON has all that is listed."""


@dataclass(frozen=True)
class RunsOptions:
    """The command line of `runs`."""

    wanted: Wanted
    limit: int
    stored: bool
    """Also those that Temporal has forgotten."""
    json: bool
    config: Path | None


async def runs(options: RunsOptions) -> int:
    """Print the runs, newest first, one a line or as one JSON object.

    Raises:
        UsageError: there is no such outcome.
    """
    if options.wanted.outcome and options.wanted.outcome not in set(RunOutcome):
        raise UsageError(f"no outcome {options.wanted.outcome!r}: a run ends as {', '.join(RunOutcome)}")
    async with open_session(load_settings(options.config), serve=False) as session:
        listed: list[ListedRun] = []
        try:
            async for run in _all(session, options):
                listed.append(run)
                if not options.json:
                    print_lines([_line(run)])
                if len(listed) == options.limit:
                    break
        except NotFilterable as error:
            raise UsageError(error.message) from error
    if options.json:
        print(json.dumps({"runs": [run.model_dump(mode="json") for run in listed]}, ensure_ascii=False, indent=2))
    if len(listed) == options.limit:
        say(f"the latest {options.limit} are listed; --limit lists more, a text or --owner fewer")
    elif not listed:
        say("no such run")
    return Exit.OK if listed else Exit.UNPROVEN


async def _all(session: Session, options: RunsOptions) -> AsyncGenerator[ListedRun]:
    known: set[str] = set()
    async for run in from_temporal(session.client, options.wanted):
        known.add(run.run_id)
        yield run
    if options.stored:
        now_ms = await session.store.backend.now_ms()
        async for run in from_store(session.store.runs, frozenset(known), options.wanted, now_ms):
            yield run


def _line(run: ListedRun) -> Line:
    started = f"{run.started_at:%Y-%m-%d %H:%M}" if run.started_at else "-"
    how = " ".join(word for word in (run.outcome, run.verdict) if word) or run.status
    question = one_line(run.question, QUESTION_SHOWN) or "-"
    style = "green" if run.verdict == "SUPPORTED" else "cyan" if run.status == "running" else ""
    owner = one_line(run.owner, OWNER_SHOWN) or "-"
    return Line(f"{started:16}  {run.run_id:36}  {how:28}  {owner:{OWNER_SHOWN}}  {question}", style)
