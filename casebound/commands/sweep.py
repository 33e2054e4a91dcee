"""`casebound sweep`: settle what ended runs left PROJECTING. No worker is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from boundary.ids import is_run_id
from casebound.cli_errors import Exit, say
from casebound.cli_text import one_line
from casebound.client import find_run
from casebound.commands.session import Session, open_session
from casebound.settings import load_settings
from casebound.sweep import Sweep, SweptRun, retention

QUESTION_SHOWN = 60
"""Characters of a question."""

REASON_SHOWN = 300


@dataclass(frozen=True)
class SweepOptions:
    """The command line of `sweep`."""

    runs: tuple[str, ...]
    """Empty: every run of the store."""
    dry_run: bool
    json: bool
    config: Path | None


async def sweep(options: SweepOptions) -> int:
    """Settle what is left of the named runs, or of all; prints each as it is done."""
    async with open_session(load_settings(options.config), serve=False) as session:
        names = [await _run_id(session, name) for name in options.runs] or await session.store.runs.ids()
        # The embedded store's runs are the embedded Temporal's: what that one does not know is gone.
        forgotten_after = timedelta(0) if session.stack else await retention(session.client)
        sweeping = Sweep(session.client, session.store, forgotten_after, options.dry_run)
        swept: list[SweptRun] = []
        for run_id in dict.fromkeys(names):
            run = await sweeping.settle(run_id)
            if run is not None:
                swept.append(run)
                _print([] if options.json else _lines(run, options.dry_run))
            elif options.runs:
                say(f"run {run_id}: the store keeps nothing of it any more")
        _print([_json(swept, options.dry_run)] if options.json else [_total(swept, options.dry_run)])
        return Exit.OK


async def _run_id(session: Session, name: str) -> str:
    """Resolve a name by the store, which knows a run longest, or by Temporal.

    Raises:
        RunNotFound: neither knows it.
    """
    if is_run_id(name):
        now_ms = await session.store.backend.now_ms()
        if await session.store.runs.read(name, now_ms=now_ms) is not None:
            return name
    found = await find_run(session.client, name)
    if found is None:
        raise session.no_run(name)
    return found.run_id


def _lines(run: SweptRun, dry_run: bool) -> Iterator[str]:
    count = len(run.settled)
    done = f"{_records(count)} {'to settle' if dry_run else 'settled'}" if count else "nothing to settle"
    if run.skipped is not None:
        done = "skipped"
    question = one_line(run.question, QUESTION_SHOWN)
    yield f"{run.run_id}  {run.state:10}  {'-' if run.state == 'running' else done}  {question}".rstrip()
    if run.skipped is not None:
        yield f"  {one_line(run.skipped, REASON_SHOWN)}"
    for call in run.settled:
        yield f"  {call.tool_call_id} ({call.tool_name}): {call.code}"


def _total(swept: Sequence[SweptRun], dry_run: bool) -> str:
    records = sum(len(run.settled) for run in swept)
    what = "to settle; nothing was changed" if dry_run else "settled"
    skipped = sum(run.skipped is not None for run in swept)
    runs = f"{len(swept)} run{'' if len(swept) == 1 else 's'}" + (f", {skipped} skipped" if skipped else "")
    return f"{runs}: {_records(records)} {what}"


def _json(swept: Sequence[SweptRun], dry_run: bool) -> str:
    totals = {
        "runs": len(swept),
        "records": sum(len(run.settled) for run in swept),
        "skipped": sum(run.skipped is not None for run in swept),
    }
    runs = [run.model_dump(mode="json") for run in swept]
    return json.dumps({"dry_run": dry_run, "runs": runs, "totals": totals}, ensure_ascii=False, indent=2)


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def _print(lines: Iterator[str] | list[str]) -> None:
    for line in lines:
        print(line, flush=True)
