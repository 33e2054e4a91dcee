"""What an operator does to a run from outside: pause, unpause or reset an activity, reset a workflow."""

from __future__ import annotations

from uuid import uuid4

from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from temporalio.api.activity.v1 import ActivityOptions
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, PendingActivityState, ResetReapplyType
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import (
    PauseActivityRequest,
    ResetActivityRequest,
    ResetWorkflowExecutionRequest,
    UnpauseActivityRequest,
    UpdateActivityOptionsRequest,
)
from temporalio.client import Client, WorkflowHistory

from tests.support.runs import RunHandle
from tests.support.waiting import wait_until

BETWEEN_ATTEMPTS = (
    PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED,
    PendingActivityState.PENDING_ACTIVITY_STATE_PAUSED,
)


class Operator:
    """Someone with the Temporal CLI."""

    def __init__(self, client: Client, handle: RunHandle) -> None:
        self._client = client
        self._handle = handle

    async def pause(self, tool: str) -> None:
        """Pause the tool's activity."""
        await self._client.workflow_service.pause_activity(
            PauseActivityRequest(namespace=self._client.namespace, execution=self._execution, type=tool)
        )

    async def unpause(self, tool: str) -> None:
        """Let it go on."""
        await self._client.workflow_service.unpause_activity(
            UnpauseActivityRequest(namespace=self._client.namespace, execution=self._execution, type=tool)
        )

    async def reset_activity(self, tool: str) -> None:
        """Begin it anew, attempt 1, without waiting for its retry."""
        await self._client.workflow_service.reset_activity(
            ResetActivityRequest(namespace=self._client.namespace, execution=self._execution, type=tool)
        )

    async def shorten_heartbeats(self, tool: str) -> None:
        """Let the server miss a lost worker after a second; ask for it while an attempt runs, or seems to."""
        options = ActivityOptions(heartbeat_timeout=Duration(seconds=1))
        await self._client.workflow_service.update_activity_options(
            UpdateActivityOptionsRequest(
                namespace=self._client.namespace,
                execution=self._execution,
                type=tool,
                activity_options=options,
                update_mask=FieldMask(paths=["heartbeat_timeout"]),
            )
        )

    async def reset_workflow(self, task_completed: int) -> str:
        """Begin the workflow anew where that workflow task was decided; returns the new execution's run id."""
        answer = await self._client.workflow_service.reset_workflow_execution(
            ResetWorkflowExecutionRequest(
                namespace=self._client.namespace,
                workflow_execution=self._execution,
                reason="a test",
                request_id=str(uuid4()),
                workflow_task_finish_event_id=task_completed,
                reset_reapply_type=ResetReapplyType.RESET_REAPPLY_TYPE_NONE,
            )
        )
        return answer.run_id

    async def between_attempts(self, tool: str, *, within_s: float = 15.0) -> None:
        """Wait until the tool's activity has lost an attempt and waits for its next, in backoff or paused."""

        async def waits() -> bool:
            return any(
                info.activity_type.name == tool and info.state in BETWEEN_ATTEMPTS and info.HasField("last_failure")
                for info in await self._pending()
            )

        await wait_until(waits, description=f"{tool} waiting for its next attempt", timeout=within_s)

    async def _pending(self) -> list[PendingActivityInfo]:
        return list((await self._handle.describe()).raw_description.pending_activities)

    @property
    def _execution(self) -> WorkflowExecution:
        return WorkflowExecution(workflow_id=self._handle.id)


def task_that_scheduled(history: WorkflowHistory, activity_type: str, *, nth: int = 0) -> int:
    """Name the completed workflow task that scheduled the activity; a reset to there goes to before it."""
    scheduled = [event for event in history.events if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED]
    attributes = [event.activity_task_scheduled_event_attributes for event in scheduled]
    return [one.workflow_task_completed_event_id for one in attributes if one.activity_type.name == activity_type][nth]
