"""A workflow that puts time between a call and the check of the report that cites it."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

from activities.contracts import (
    CHECK_REPORT,
    OPEN_RUN,
    PLAN,
    BudgetLeft,
    CheckedReport,
    CheckReportInput,
    OpenedRun,
    OpenRunInput,
    PlanInput,
    PlannedTurn,
    PlannerRef,
    ToolCallInput,
)
from boundary.contracts import Frozen, Grant, ToolCallOutcome

TOOL = "probe"
CALL_ID = "one"
DAY_S = 24 * 3600


class WaitInput(Frozen):
    """How long the record lives, and how long nothing happens."""

    activities: str
    """Task queue of casebound's own worker."""
    ttl_s: int
    wait_s: int


class Waited(Frozen):
    """What the check said after the wait, and what was granted."""

    outcome: ToolCallOutcome
    checked: CheckedReport
    expires_at_ms: int


@workflow.defn
class CallWaitCheck:
    """Calls a tool, plans a report that cites it, waits, and lets the report be checked."""

    @workflow.run
    async def run(self, request: WaitInput) -> Waited:
        """Use the activities of an ordinary run; the index outlives the record here, which no run allows."""
        now_ms = round(workflow.now().timestamp() * 1000)
        expires_at_ms = now_ms + request.ttl_s * 1000
        opened = await workflow.execute_activity(
            OPEN_RUN,
            OpenRunInput(
                question="What expires?",
                planner=PlannerRef(kind="scripted"),
                deadline_ms=expires_at_ms,
                expires_at_ms=now_ms + DAY_S * 1000,
            ),
            result_type=OpenedRun,
            task_queue=request.activities,
            start_to_close_timeout=timedelta(seconds=20),
        )
        outcome = await workflow.execute_activity(
            TOOL,
            ToolCallInput(
                store_id=opened.store_id,
                tool_call_id=CALL_ID,
                turn=1,
                call_index=1,
                grant=Grant(deadline_ms=now_ms + 600_000, expires_at_ms=expires_at_ms),
            ),
            result_type=ToolCallOutcome,
            task_queue=request.activities,
            start_to_close_timeout=timedelta(seconds=20),
        )
        turn = await workflow.execute_activity(
            PLAN,
            PlanInput(number=1, budget=BudgetLeft(tool_calls=0, turns=0, run_bytes=0), deadline_ms=expires_at_ms),
            result_type=PlannedTurn,
            task_queue=request.activities,
            start_to_close_timeout=timedelta(seconds=20),
        )
        await workflow.sleep(request.wait_s)
        checked = await workflow.execute_activity(
            CHECK_REPORT,
            CheckReportInput(turn_key=turn.turn_key, seen={CALL_ID: outcome.record_sha256}),
            result_type=CheckedReport,
            task_queue=request.activities,
            start_to_close_timeout=timedelta(seconds=20),
        )
        return Waited(outcome=outcome, checked=checked, expires_at_ms=expires_at_ms)
