"""Replays outside the sandbox: of a workflow a test has changed, or with an ear on what it asks for.

Not for product code, which is replayed in the sandbox: `tests.support.runs.replay`.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from temporalio.client import WorkflowHistory
from temporalio.worker import (
    Interceptor,
    Replayer,
    StartActivityInput,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

from casebound.converter import casebound_data_converter
from tests.support.histories import payloads
from tests.support.runs import REPLAY_LIMIT_S
from workflows.agent_run import AgentRun


class Asked(NamedTuple):
    """An activity a workflow started: its type, and its arguments as the history has them."""

    activity: str
    arguments: tuple[bytes, ...]


def recorded(history: WorkflowHistory) -> list[Asked]:
    """What the workflow asked for when the history was made, in order."""
    scheduled = [
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    return [Asked(one.activity_type.name, tuple(payload.data for payload in payloads(one.input))) for one in scheduled]


async def replay_here(history: WorkflowHistory, *interceptors: Interceptor) -> None:
    """Replay the history with `AgentRun` as this process has it."""
    replayer = Replayer(
        workflows=[AgentRun],
        data_converter=casebound_data_converter,
        workflow_runner=UnsandboxedWorkflowRunner(),
        interceptors=interceptors,
    )
    await asyncio.wait_for(replayer.replay_workflow(history), REPLAY_LIMIT_S)


async def asked_in_replay(history: WorkflowHistory) -> list[Asked]:
    """What today's code asks for where the history's answers are given to it."""
    listener = _Listener()
    await replay_here(history, listener)
    return listener.asked


class _Listener(Interceptor):
    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        asked = self.asked

        class Outbound(WorkflowOutboundInterceptor):
            def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:
                converter = casebound_data_converter.payload_converter
                asked.append(Asked(input.activity, tuple(part.data for part in converter.to_payloads(input.args))))
                return super().start_activity(input)

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

        return Inbound
