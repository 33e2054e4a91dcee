"""`casebound show` and `casebound evidence`: what is kept of a run and of one call. No worker is needed."""

from __future__ import annotations

import json
from dataclasses import dataclass
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
from casebound.commands.output import print_lines, print_report
from casebound.commands.session import Session, open_session
from casebound.render import run_json
from casebound.render_evidence import evidence_lines
from casebound.run_view import KnownRun, view_run
from casebound.settings import load_settings


@dataclass(frozen=True)
class EvidenceOptions:
    """The command line of `evidence`."""

    run: str
    tool_call_id: str
    raw: bool
    config: Path | None


async def show(run: str, config: Path | None, *, as_json: bool) -> int:
    """Print the report of a run, or how far it is."""
    settings = load_settings(config)
    async with open_session(settings, serve=False) as session:
        view = await view_run(await _known(session, run), session.store, Redactor(settings.secret_values()))
        if as_json:
            print(run_json(view), flush=True)
        else:
            print_report(view, session.place)
        return Exit.OK


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
            tell(f"the record has no {what}")
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
    result, detail, cancelled = None, "still running", False
    if not found.running:
        detail = ""
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
