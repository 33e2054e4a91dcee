"""`casebound show` and `casebound evidence`: what is kept of a run and of one call. No worker is needed."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio.client import WorkflowFailureError
from temporalio.exceptions import CancelledError

from boundary.ids import is_run_id, is_tool_call_id
from boundary.redaction import Redactor
from boundary.store import StoredInvocation
from boundary.strict_json import load
from casebound.cli_errors import Exit, UsageError, tell
from casebound.client import FoundRun, find_run, run_handle
from casebound.commands.follow import failure_text
from casebound.commands.output import print_lines, print_report, progress_view
from casebound.commands.session import Session, open_session
from casebound.progress import pause_of, show_last, watch
from casebound.render import run_json
from casebound.render_evidence import evidence_lines
from casebound.render_timeline import timeline_lines
from casebound.run_view import KnownRun, all_records, view_run
from casebound.settings import load_settings
from casebound.timeline import of_calls, of_history


@dataclass(frozen=True)
class EvidenceOptions:
    """The command line of `evidence`."""

    run: str
    tool_call_id: str
    raw: bool
    config: Path | None


@dataclass(frozen=True)
class ShowOptions:
    """The command line of `show`."""

    run: str
    config: Path | None
    json: bool = False
    timeline: bool = False
    watch: bool = False


async def show(options: ShowOptions) -> int:
    """Print the report of a run, how far it is, or what happened when."""
    settings = load_settings(options.config)
    async with open_session(settings, serve=False) as session:
        if options.watch:
            await _until_its_end(session, options.run)
        known, redactor = await _known(session, options.run), Redactor(settings.secret_values())
        if options.timeline:
            await _print_timeline(session, known, redactor, as_json=options.json)
            return Exit.OK
        view = await view_run(known, session.store, redactor)
        if options.json:
            print(run_json(view), flush=True)
        else:
            print_report(view, session.place)
        return Exit.OK


async def _until_its_end(session: Session, name: str) -> None:
    """Show the progress of a run until it ends; an interrupt leaves the run alone."""
    found = await find_run(session.client, name)
    if found is None or not found.running:
        return
    handle, view = run_handle(session.client, found.workflow_id), progress_view()
    unheard = f"no worker answers for the run (task queue {session.task_queue!r}): it goes on once one does"
    watching = asyncio.create_task(watch(handle, view, unheard, timedelta.max))
    try:
        with suppress(WorkflowFailureError):
            await handle.result()
        await show_last(handle, view)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        view.close()


async def _print_timeline(session: Session, known: KnownRun, redactor: Redactor, *, as_json: bool) -> None:
    now_ms = await session.store.backend.now_ms()
    records = await all_records(known.run_id, session.store, now_ms)
    moments = list(of_calls(records.values()))
    found = await find_run(session.client, known.workflow_id) if known.workflow_id else None
    if found is not None:
        moments += [moment async for moment in of_history(session.client, found)]
    masked = [one.model_copy(update={"detail": redactor.text(one.detail)[0]}) for one in moments]
    if as_json:
        ordered = sorted(masked, key=lambda moment: moment.at)
        moments_json = [moment.model_dump(mode="json") for moment in ordered]
        print(json.dumps({"run_id": known.run_id, "timeline": moments_json}, ensure_ascii=False, indent=2), flush=True)
    else:
        print_lines(timeline_lines(masked))


async def evidence(options: EvidenceOptions) -> int:
    """Print one call's agent result, or its raw response, as JSON on stdout; what it is, on stderr."""
    if not is_tool_call_id(options.tool_call_id):
        raise UsageError(f"{options.tool_call_id!r} is no tool call id: 1 to 256 printable ASCII characters, no blank")
    settings = load_settings(options.config)
    async with open_session(settings, serve=False) as session:
        known = await _known(session, options.run)
        stored = await _record(session, known.run_id, options)
        print_lines(evidence_lines(stored.record, Redactor(settings.secret_values())), stderr=True)
        body = stored.raw if options.raw else stored.agent_result
        if body is None:
            what = "raw response" if options.raw else "agent result"
            tell(
                f"the stored {what} is not the one that was recorded" if stored.altered else f"the record has no {what}"
            )
            return Exit.UNPROVEN
        print(json.dumps(load(body), ensure_ascii=False, indent=2), flush=True)
        return Exit.OK


async def _record(session: Session, run_id: str, options: EvidenceOptions) -> StoredInvocation:
    now_ms = await session.store.backend.now_ms()
    wanted = [options.tool_call_id]
    found = await session.store.invocations.read(run_id, wanted, now_ms=now_ms, agent=not options.raw, raw=options.raw)
    if options.tool_call_id not in found:
        raise UsageError(
            f"run {run_id} has no record of the call {options.tool_call_id!r}: it was refused, never made, "
            f"or has expired; `casebound show {run_id}` lists the calls"
        )
    return found[options.tool_call_id]


async def _known(session: Session, name: str) -> KnownRun:
    """Gather what Temporal knows of a run, or, when it forgot it, what the store does.

    Raises:
        RunNotFound: neither knows it.
    """
    found = await find_run(session.client, name)
    if found is not None:
        return await _from_temporal(session, found)
    if is_run_id(name):
        index = await session.store.runs.read(name, now_ms=await session.store.backend.now_ms())
        if index is not None:
            return KnownRun(run_id=name, workflow_id="")
    raise session.no_run(name)


async def _from_temporal(session: Session, found: FoundRun) -> KnownRun:
    result, detail, cancelled = None, "", False
    if found.running:
        paused = await pause_of(run_handle(session.client, found.workflow_id))
        detail = f"still running, {paused}" if paused else "still running"
    else:
        try:
            result = await run_handle(session.client, found.workflow_id).result()
        except WorkflowFailureError as error:
            detail, cancelled = failure_text(error.cause), isinstance(error.cause, CancelledError)
    return KnownRun(
        run_id=found.run_id,
        workflow_id=found.workflow_id,
        question=found.question,
        result=result,
        started_at=found.started_at,
        ended_at=found.closed_at,
        detail=detail,
        running=found.running,
        cancelled=cancelled,
    )
