"""What happened to a run and when: its calls by their records, its steering and its end by its history.

Above: `casebound show --timeline`. Below: the store's records and Temporal's histories, the whole chain's.
Either may be gone; the other's part is shown. Nothing here asks a worker.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from boundary.contracts import Frozen, shorten
from boundary.store import StoredInvocation
from casebound.client import FoundRun

DETAIL_MAX = 300
"""Characters of a line's detail."""

_ENDS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed out",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: "went on in another execution",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED: "cancellation requested",
}


class Moment(Frozen):
    """One line of a timeline."""

    at: datetime
    what: str
    detail: str = ""


@dataclass(frozen=True)
class _Steered:
    """An update's argument as JSON: every one says by whom, some say why."""

    values: Mapping[str, Any]

    @property
    def detail(self) -> str:
        by, rest = self.values.get("by"), {key: value for key, value in self.values.items() if key != "by" and value}
        said = ", ".join(str(value) if key in ("reason", "text") else f"{key} {value}" for key, value in rest.items())
        return ": ".join(part for part in (f"by {by}" if by else "", said) if part)


def of_calls(records: Iterable[StoredInvocation]) -> Iterator[Moment]:
    """Tell when each call began and how it ended."""
    for stored in records:
        record = stored.record
        name = f"#{record.call_index} {record.tool_name}"
        yield Moment(at=record.created_at, what=f"{name} began", detail=record.tool_call_id)
        if record.settled_at is not None:
            how = record.error.code.value if record.error else record.evidence_status.value
            again = f", executed {record.executions} times" if record.executions > 1 else ""
            yield Moment(at=record.settled_at, what=f"{name} ended", detail=f"{how}{again}")


async def of_history(client: Client, found: FoundRun) -> AsyncGenerator[Moment]:
    """Tell how the run was started, steered and ended, over all executions of its chain.

    Raises:
        RPCError: Temporal does not answer.
    """
    seen: set[str] = set()
    # A reset leaves the chain's first part where it was: the current execution is then none of its successors.
    for first in (found.run_id, ""):
        run_id: str | None = first
        while run_id is not None and run_id not in seen:
            seen.add(run_id)
            after: str | None = None
            async for event in _events(client, found.workflow_id, run_id):
                if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
                    own = event.workflow_execution_started_event_attributes.original_execution_run_id
                    if not first and own in seen:
                        break
                    seen.add(own)
                continued = event.workflow_execution_continued_as_new_event_attributes
                after = continued.new_execution_run_id or after
                if (moment := await _moment(client, event)) is not None:
                    yield moment
            run_id = after


async def _events(client: Client, workflow_id: str, run_id: str) -> AsyncGenerator[HistoryEvent]:
    try:
        async for event in client.get_workflow_handle(workflow_id, run_id=run_id or None).fetch_history_events():
            yield event
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise


async def _moment(client: Client, event: HistoryEvent) -> Moment | None:
    at = event.event_time.ToDatetime(UTC)
    match event.event_type:
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            started = event.workflow_execution_started_event_attributes
            return None if started.continued_execution_run_id else Moment(at=at, what="started")
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
            request = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
            values: list[Any] = await client.data_converter.decode(list(request.args.payloads)[:1])
            said = cast("dict[str, Any]", values[0]) if values and isinstance(values[0], dict) else {}
            detail = _Steered(said).detail
            return Moment(at=at, what=request.name, detail=shorten(detail, DETAIL_MAX))
        case kind if kind in _ENDS:
            return Moment(at=at, what=_ENDS[kind])
        case _:
            return None
