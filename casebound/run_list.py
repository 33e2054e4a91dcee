"""Lists runs: from Temporal's visibility, newest first, and on request those that only the store still has.

Above: `casebound runs`. Below: Temporal and the run indexes. One page of the server's answer at a time is
looked at, and no run is described on its own, so that a list of the latest costs the same however many
there are.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from activities.stored import RunBrief
from boundary.contracts import Frozen
from boundary.errors import CaseboundError
from boundary.run_index import RunIndex
from casebound import search_attributes
from casebound.client import WORKFLOW_TYPE, first_start
from workflows.attributes import FIRST_RUN, OUTCOME, OWNER, VERDICT

PAGE = 1000
"""Runs the server is asked for at a time; its own limit."""


class NotFilterable(CaseboundError):
    """The server cannot filter by what was asked for."""


@dataclass(frozen=True)
class Wanted:
    """Which runs are listed."""

    text: str = ""
    """Part of the question, whatever its case."""
    outcome: str = ""
    owner: str = ""
    running: bool = False
    since: timedelta | None = None


class ListedRun(Frozen):
    """One line of the list."""

    run_id: str
    workflow_id: str
    question: str
    """Its first 200 characters."""
    owner: str = ""
    status: str
    """Temporal's word: running, completed, canceled, terminated, ...; expired: only the store has it."""
    outcome: str | None = None
    """None: it has not ended, or the server does not list it."""
    verdict: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


async def from_temporal(client: Client, wanted: Wanted) -> AsyncGenerator[ListedRun]:
    """List runs, newest first.

    Raises:
        NotFilterable: a filter needs a search attribute that the server does not have.
        RPCError: Temporal does not answer.
    """
    since = None if wanted.since is None else datetime.now(UTC) - wanted.since
    query = await _query(client, wanted, since)
    async for execution in client.list_workflows(query, page_size=PAGE):
        run = await _listed(execution)
        if since is not None and run.started_at is not None and run.started_at < since:
            continue  # a run that went on in another execution since
        if wanted.owner in ("", run.owner) and wanted.outcome in ("", run.outcome) and _says(run.question, wanted):
            yield run


async def from_store(runs: RunIndex, known: frozenset[str], wanted: Wanted, now_ms: int) -> AsyncGenerator[ListedRun]:
    """List the runs that have an index in the store and are not known otherwise; walks over all its keys.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    if wanted.outcome or wanted.owner or wanted.running:
        return
    for run_id in await runs.ids():
        index = None if run_id in known else await runs.read(run_id, now_ms=now_ms)
        if index is None:
            continue
        brief = RunBrief.model_validate_json(index.brief)
        if _says(brief.question, wanted):
            yield ListedRun(
                run_id=run_id, workflow_id=brief.workflow_id, question=brief.question[:200], status="expired"
            )


def _says(question: str, wanted: Wanted) -> bool:
    return wanted.text.casefold() in question.casefold()


async def _query(client: Client, wanted: Wanted, since: datetime | None) -> str:
    # Executions that went on in another one are no runs of their own.
    parts = [f"WorkflowType = '{WORKFLOW_TYPE}'", "ExecutionStatus != 'ContinuedAsNew'"]
    known = await search_attributes.known(client) if wanted.outcome or wanted.owner else ()
    for key, value in ((OUTCOME, wanted.outcome), (OWNER, wanted.owner)):
        if value and key.name not in known:
            message = f"the server has no search attribute {key.name}\n  fix: declare it by `casebound setup`"
            raise NotFilterable(message)
        # Servers find no value that has to be escaped: such a one is looked for in their answer only.
        if value and not set(value) & set("'\"\\"):
            parts.append(f"{key.name} = '{value}'")
    if wanted.running:
        parts.append("ExecutionStatus = 'Running'")
    if since is not None:
        parts.append(f"StartTime >= '{since.isoformat()}'")
    return " AND ".join(parts)


async def _listed(execution: WorkflowExecution) -> ListedRun:
    memo, attributes = await execution.memo(), execution.typed_search_attributes
    status = execution.status or WorkflowExecutionStatus.RUNNING
    return ListedRun(
        run_id=str(memo.get(FIRST_RUN) or execution.run_id),
        workflow_id=execution.id,
        question=str(memo.get("question", "")),
        owner=attributes.get(OWNER) or "",
        status=status.name.lower(),
        outcome=attributes.get(OUTCOME),
        verdict=attributes.get(VERDICT),
        started_at=first_start(memo, execution.start_time),
        ended_at=execution.close_time,
    )
