"""The activity behind every tool: named after the tool, served by one dynamic function.

Above: the workflow calls it by the tool's name with one `ToolCallInput`. Below: the
`ToolBoundary`, which knows nothing of Temporal. Being dynamic, it answers for any name: a tool
this worker lacks is TOOL_UNAVAILABLE, never a task that no worker takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError
from temporalio import activity
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from activities.contracts import ToolCallInput
from activities.edge import codes_only
from activities.heartbeat import attempt, of_run
from boundary.contracts import AdmittedCall, ToolCallOutcome
from boundary.errors import ErrorCode, StoreUnavailable
from boundary.preflight import RunScope
from boundary.tool_boundary import ToolBoundary


class ToolCalls:
    """Carries admitted calls through the boundary.

    Args:
        boundary: the worker's boundary.
        store_id: identity of the worker's store; a run whose evidence is elsewhere is not served.
    """

    def __init__(self, boundary: ToolBoundary, store_id: str) -> None:
        self._boundary = boundary
        self._store_id = store_id

    @activity.defn(dynamic=True)
    async def call(self, args: Sequence[RawValue]) -> ToolCallOutcome:
        """Carry one admitted call to its outcome."""
        with codes_only():
            async with attempt() as current:
                request = of_run(_decoded(args))
                if request.store_id != self._store_id:
                    raise StoreUnavailable("this worker's store is not the one that holds the run's evidence")
                call = AdmittedCall(
                    run_id=request.run_id,
                    tool_call_id=request.tool_call_id,
                    tool_name=activity.info().activity_type,
                    arguments=request.arguments,
                    turn=request.turn,
                    position=request.position,
                    call_index=request.call_index,
                    grant=request.grant,
                )
                run = RunScope(request.run_id, cancelled=current.cancel_requested())
                return await self._boundary.invoke(call, run, current, preview_chars=request.preview_chars)


def _decoded(args: Sequence[RawValue]) -> ToolCallInput:
    if len(args) != 1:
        raise _bad_input(f"{len(args)} arguments")
    try:
        return activity.payload_converter().from_payload(args[0].payload, ToolCallInput)
    except (ValidationError, ValueError) as error:
        raise _bad_input(type(error).__name__) from None


def _bad_input(what: str) -> ApplicationError:
    message = f"the activity takes one ToolCallInput, got {what}; only a casebound workflow should call it"
    return ApplicationError(message, type=str(ErrorCode.INVALID_ARGUMENTS), non_retryable=True)
