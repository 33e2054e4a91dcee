"""Hears what workflow code asks for while it is replayed: every command, as it would go to the server.

Above: `casebound.replay`. Below: the SDK's workflow runners, of which one is wrapped. Commands are kept as
Temporal's own messages, before any codec, so that nothing of an argument, a time-out or a summary is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import Message
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.workflow import Info


@dataclass(frozen=True)
class Asked:
    """One thing the code asked for."""

    kind: str
    """Of the command, as the SDK names it: `schedule_activity`, `start_timer`, ..."""
    message: Any
    """The command's own message."""
    command: WorkflowCommand

    @property
    def words(self) -> str:
        """Name it for people."""
        return _words(self.kind, self.message)


@dataclass(frozen=True)
class Raised:
    """An exception that ended a step of the workflow."""

    type: str
    message: str
    length: int
    """Events of the history up to that step."""


@dataclass
class Heard:
    """All that one execution asked for, in order."""

    asked: list[Asked] = field(default_factory=list[Asked])
    raised: Raised | None = None
    own_queue: str = ""
    """What the replayer calls the workflow's own task queue."""

    def of(self, *kinds: str) -> Iterator[Asked]:
        """The commands of some kinds."""
        return (asked for asked in self.asked if asked.kind in kinds)

    def add(self, activation: WorkflowActivation, completion: WorkflowActivationCompletion) -> None:
        """Keep the answer to one activation; the SDK changes it afterwards, where there is a codec."""
        kept = WorkflowActivationCompletion()
        kept.CopyFrom(completion)
        for command in kept.successful.commands:
            kind = command.WhichOneof("variant")
            if kind is not None:
                self.asked.append(Asked(kind, getattr(command, kind), command))
        if kept.HasField("failed"):
            failure = kept.failed.failure
            self.raised = Raised(failure.application_failure_info.type, failure.message, activation.history_length)


class ListeningRunner(WorkflowRunner):
    """Runs workflows as another runner does, and keeps what they ask for; for one history.

    Args:
        runner: the other one.
        run_id: of the execution, as the workflow knew it. The SDK's replayer takes that of the execution which a
            reset one was made of.
    """

    def __init__(self, runner: WorkflowRunner, run_id: str) -> None:
        self.heard = Heard()
        self._runner = runner
        self._run_id = run_id

    def prepare_workflow(self, defn: Any) -> None:
        """See `WorkflowRunner.prepare_workflow`."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """See `WorkflowRunner.create_instance`."""
        self.heard.own_queue = det.info.task_queue
        det = replace(det, info=replace(det.info, run_id=self._run_id))
        return _Listening(self._runner.create_instance(det), self.heard)

    def set_worker_level_failure_exception_types(self, types: Sequence[type[BaseException]]) -> None:
        """See `WorkflowRunner.set_worker_level_failure_exception_types`."""
        self._runner.set_worker_level_failure_exception_types(types)


class _Listening(WorkflowInstance):
    def __init__(self, instance: WorkflowInstance, heard: Heard) -> None:
        self._instance = instance
        self._heard = heard

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        completion = self._instance.activate(act)
        self._heard.add(act, completion)
        return completion

    def get_serialization_context(self, command_info: Any) -> Any:
        return self._instance.get_serialization_context(command_info)

    def get_external_store_context(self, command_info: Any) -> Any:
        return self._instance.get_external_store_context(command_info)

    def get_info(self) -> Info:
        return self._instance.get_info()

    def get_thread_id(self) -> int | None:
        return self._instance.get_thread_id()


def seconds(duration: Any) -> str:
    """Write a protobuf duration for people."""
    return f"{duration.seconds + duration.nanos / 1e9:.10g} s"


_PLAIN = {
    "complete_workflow_execution": "the workflow's result",
    "fail_workflow_execution": "the workflow's failure",
    "cancel_workflow_execution": "the workflow's end as cancelled",
    "continue_as_new_workflow_execution": "to continue as new",
    "modify_workflow_properties": "a change of the memo",
    "upsert_workflow_search_attributes": "a change of search attributes",
    "update_response": "an answer to an update",
}


def _words(kind: str, message: Message) -> str:
    asked: Any = message
    match kind:
        case "schedule_activity":
            return f"the activity {asked.activity_type}"
        case "schedule_local_activity":
            return f"the local activity {asked.activity_type}"
        case "start_timer":
            return f"a timer of {seconds(asked.start_to_fire_timeout)}"
        case "start_child_workflow_execution":
            return f"the child workflow {asked.workflow_type}"
        case "set_patch_marker":
            return f"the patch {asked.patch_id!r}"
        case _:
            return _PLAIN.get(kind, kind.replace("_", " "))
