"""`casebound diagnose`: one diagnosis, from a question to a report."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from activities.contracts import (
    QUESTION_MAX,
    RUNBOOK_MAX_BYTES,
    CatalogEntry,
    PlannerRef,
    RunInput,
    RunLimits,
    RunOutcome,
)
from boundary.errors import StoreUnavailable
from boundary.redaction import Redactor
from boundary.report import Verdict
from casebound.cli_errors import Exit, UsageError, say, tell
from casebound.client import check_record_ttl, start_run
from casebound.commands.follow import Ending, follow
from casebound.commands.output import own_name, print_report, progress_view
from casebound.commands.session import Session, attaches, open_session
from casebound.paths import state_paths
from casebound.render import run_json
from casebound.run_view import KnownRun, RunView, view_run, view_without_store
from casebound.settings import CONFIG_NAME, Settings, load_settings
from casebound.sources import declared_catalog

if TYPE_CHECKING:
    from activities.planners.runbook import Runbook


@dataclass(frozen=True)
class DiagnoseOptions:
    """The command line of `diagnose`."""

    question: str | None
    config: Path | None
    runbook: Path | None
    deadline: timedelta
    record_ttl: timedelta | None
    owner: str
    json: bool
    limits: dict[str, int] = field(default_factory=dict[str, int])
    """Fields of `RunLimits` that were given."""


async def diagnose(options: DiagnoseOptions) -> int:
    """Run one diagnosis and print its report."""
    settings = load_settings(options.config)
    if not attaches(settings) and settings.file is None:
        raise UsageError(
            f"there is no {CONFIG_NAME} here, which declares what may be looked at; name one with --config"
        )
    request = run_input(options, settings)
    if attaches(settings):
        say("connecting ...")
    code: int | None = None
    try:
        async with open_session(settings, serve=True, workers_needed=True) as session:
            code = await _run(session, request, options, settings)
    except asyncio.CancelledError:
        # Ctrl-C after the report was printed only hurries the end.
        if code is None:
            raise
    return code


def run_input(options: DiagnoseOptions, settings: Settings) -> RunInput:
    """Make the run's input, everything checked that can be before a server is asked.

    Raises:
        CaseboundError: with what is wrong and what to do.
    """
    check_record_ttl(options.deadline, options.record_ttl)
    if options.runbook is None:
        raise UsageError("say what to do with --runbook FILE; a runbook is the only planner there is yet")
    # On servers of one's own the sources are the workers', so there the worker checks the rest.
    text, runbook = _read_runbook(options.runbook, None if attaches(settings) else declared_catalog(settings))
    question = options.question if options.question is not None else runbook.question or ""
    if options.question is not None and not question.strip():
        raise UsageError("the question is empty: ask one, or leave it out to ask the runbook's")
    if not question.strip():
        raise UsageError('ask a question: casebound diagnose "Why did ...?", or give the runbook a `question`')
    if len(question) > QUESTION_MAX:
        raise UsageError(f"the question has {len(question)} characters; at most {QUESTION_MAX}")
    limits = _limits(options, settings)
    try:
        return RunInput(
            question=question,
            planner=PlannerRef(kind="runbook", name=options.runbook.name),
            runbook=text,
            limits=limits,
            deadline_s=options.deadline.total_seconds(),
            record_ttl_s=options.record_ttl.total_seconds() if options.record_ttl else None,
            owner=options.owner,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _limits(options: DiagnoseOptions, settings: Settings) -> RunLimits:
    try:
        return RunLimits.model_validate({**settings.limits.model_dump(), **options.limits})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        option = "--" + str(first["loc"][0]).replace("_", "-")
        raise UsageError(f"{option}: {first['msg'].replace('Input should be', 'give a number')}") from None


def _read_runbook(file: Path, catalog: tuple[CatalogEntry, ...] | None) -> tuple[str, Runbook]:
    """Read and validate a runbook, with a catalog its tools and arguments, too; returns its text and what it says."""
    from activities.planners.runbook import RunbookError, load_runbook

    try:
        data = file.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise UsageError(f"--runbook: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--runbook: {file} is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    if len(data) > RUNBOOK_MAX_BYTES:
        raise UsageError(f"--runbook: {file} has {len(data)} bytes; at most {RUNBOOK_MAX_BYTES}")
    try:
        return text, load_runbook(text, str(file), catalog)
    except RunbookError as error:
        raise UsageError(str(error)) from None


async def _run(session: Session, request: RunInput, options: DiagnoseOptions, settings: Settings) -> int:
    source = settings.file.name if settings.file else ""
    started = await start_run(session.client, request, task_queue=session.task_queue, source=source)
    view = progress_view()
    view.say(f"run {started.run_id}")
    if started.not_listed_by:
        missing = ", ".join(started.not_listed_by)
        view.say(f"the server has no search attributes {missing}: the run cannot be found by them; casebound setup")
    unheard = f"no worker has answered for the run yet (task queue {session.task_queue!r})"
    ending = await follow(started.handle, view, lost=session.lost(), unheard=unheard, deadline=options.deadline)
    if ending.lost:
        tell(f"{ending.failure}; the run goes on when the same configuration is used again")
        return Exit.FAILED
    if ending.left is not None:
        tell(f"{ending.failure}; the run goes on: {own_name(Path(sys.argv[0]))} show {started.run_id}")
        return ending.left
    known = KnownRun(
        run_id=started.run_id,
        workflow_id=started.handle.id,
        question=request.question,
        result=ending.result,
        detail=ending.failure,
        cancelled=ending.cancelled,
    )
    shown = await _view(known, session, Redactor(settings.secret_values()))
    if options.json:
        print(run_json(shown), flush=True)
    else:
        print_report(shown, session.place)
    if ending.failure:
        tell(ending.failure)
    code = exit_code(shown, ending)
    if code == Exit.FAILED and session.stack is not None:
        say(f"log of the worker: {state_paths().worker_log}")
    return code


async def _view(known: KnownRun, session: Session, redactor: Redactor) -> RunView:
    """Gather the report; the workflow's result is printed even if the store does not answer any more."""
    try:
        return await view_run(known, session.store, redactor)
    except StoreUnavailable as error:
        tell(f"the evidence store does not answer: {error.message}")
        return view_without_store(known)


def exit_code(view: RunView, ending: Ending) -> int:
    """Decide the exit code of a run that has ended."""
    if ending.cancelled or view.outcome is RunOutcome.CANCELLED:
        return Exit.CANCELLED
    if view.outcome is None or view.outcome in (RunOutcome.PLANNER_FAILED, RunOutcome.STORE_LOST):
        return Exit.FAILED
    return Exit.OK if view.verdict is Verdict.SUPPORTED else Exit.UNPROVEN


def limits_given(**options: int | None) -> dict[str, int]:
    """Keep the limits that were given on the command line."""
    return {name: value for name, value in options.items() if value is not None}
