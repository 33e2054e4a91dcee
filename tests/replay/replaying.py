"""Replays of a workflow that a test has changed, in this process: outside the sandbox, which would load it anew.

Not for product code, which is replayed in the sandbox: `tests.support.runs.replay`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from temporalio.client import WorkflowHistory
from temporalio.worker import UnsandboxedWorkflowRunner

from casebound.replay import replay
from casebound.replay_text import verdict_lines
from casebound.replay_verdict import Verdict


async def replay_here(history: WorkflowHistory, **options: Any) -> Verdict:
    """Replay the history with `AgentRun` as this process has it; options are those of `replay`."""
    return await replay(history, runner=UnsandboxedWorkflowRunner(), **options)


def told(verdict: Verdict) -> str:
    """The verdict as it is printed."""
    return "\n".join(verdict_lines("x.json", verdict))


def edited(history: WorkflowHistory, edit: Callable[[list[dict[str, Any]]], None]) -> WorkflowHistory:
    """Change a history's events, in their JSON form."""
    document = history.to_json_dict()
    edit(document["events"])
    return WorkflowHistory.from_json(history.workflow_id, document)


def first(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Find the attributes of the first event that has these."""
    return next(event[kind] for event in events if kind in event)
