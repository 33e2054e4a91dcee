"""At the deadline a run concludes: between calls, during a call, and where the planner does not answer."""

from __future__ import annotations

import asyncio

import pytest
from temporalio.testing import WorkflowEnvironment

from activities.contracts import PlanInput, RunOutcome, TurnMode
from activities.planners.port import RunView, Turn
from boundary.contracts import InvocationStatus, JsonObject, JsonValue, ToolBoundaryResult
from boundary.errors import ErrorCode
from boundary.report import Standing, Verdict
from boundary.tools import ToolContext, ToolFailure
from casebound.worker import Store
from tests.support.runs import BlockingPlanner, Finished, Harness, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool
from workflows.conclusion import LAST_MOMENT_MS

Results = list[list[ToolBoundaryResult]]

MANY = 500
"""Turns of a script that is longer than any run here."""


def unavailable(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Fail in a way that may pass."""
    raise ToolFailure("no answer", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)


async def never(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer never."""
    return await asyncio.Event().wait()


def ask_until_told(plan: PlanInput, results: Results) -> Turn:
    """Ask for the same tool again as long as there are tools; then report on the first call."""
    if plan.mode is TurnMode.PLAN:
        return calls(call(f"turn-{plan.number}", "stuck"))
    return report(claim("q was seen", cite("first", pointer="/echo")))


def lasted_ms(done: Finished) -> int:
    """How long the run took by its own clock."""
    return done.result.ended_at_ms - done.result.started_at_ms


def errors_of(done: Finished, tool: str) -> set[ErrorCode]:
    """What the records of a tool's calls say went wrong."""
    records = [stored.record for stored in done.records.values() if stored.record.tool_name == tool]
    assert records
    return {record.error.code for record in records if record.error is not None}


@pytest.mark.proves("INV-CONCLUDES", "INV-NONE-PROJECTING")
async def test_a_deadline_between_two_attempts_of_a_tool_concludes_the_run(virtual_runs: Harness) -> None:
    """No retry fits into the time left: the call is settled, the planner is asked for the report, it is checked."""
    stuck = FakeTool("stuck", work=unavailable, max_attempts=1000)
    script = [calls(call("first")), *[ask_until_told] * MANY]
    done = await virtual_runs.run(script, [FakeTool(), stuck], deadline_s=60, max_turns=MANY, max_tool_calls=MANY)
    assert done.result.outcome is RunOutcome.DEADLINE_EXCEEDED
    assert [checked.standing for checked in done.result.claims] == [Standing.PROVEN]
    assert [turn.input.mode for turn in done.turns][-1] is TurnMode.CONCLUDE
    assert {stored.record.status for stored in done.records.values()} == {
        InvocationStatus.READY,
        InvocationStatus.ERROR,
    }
    assert errors_of(done, "stuck") <= {ErrorCode.UPSTREAM_UNAVAILABLE, ErrorCode.DEADLINE_EXCEEDED}
    assert done.result.unsettled == 0
    assert 30_000 - LAST_MOMENT_MS <= lasted_ms(done) <= 60_000


async def test_long_backoffs_pass_virtually(virtual_runs: Harness) -> None:
    """Nineteen failures and an answer: minutes of backoff, one call, one charge."""
    left = [19]

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        left[0] -= 1
        return {"echo": arguments} if left[0] < 0 else unavailable(arguments, context)

    tool = FakeTool(work=work, max_attempts=100)
    script = [calls(call("first")), report(claim("seen", cite("first", pointer="/echo")))]
    done = await virtual_runs.run(script, [tool], deadline_s=3600)
    record = done.records["first"].record
    assert (record.status, record.executions, record.failures) == (InvocationStatus.READY, 20, 19)
    assert lasted_ms(done) >= 2 * 60_000
    assert done.result.verdict is Verdict.SUPPORTED
    assert done.result.budget.tool_calls.used == 1


@pytest.mark.proves("INV-CONCLUDES")
async def test_a_tool_that_runs_at_the_deadline_is_cut_off(runs: Harness) -> None:
    """Its record says DEADLINE_EXCEEDED, whatever its time-out is; the concluding turn reports."""
    stuck = FakeAsyncTool("stuck", work_async=never)
    script = [calls(call("first")), *[ask_until_told] * MANY]
    done = await runs.run(script, [FakeTool(), stuck], deadline_s=3, max_turns=MANY, max_tool_calls=MANY)
    assert done.result.outcome is RunOutcome.DEADLINE_EXCEEDED
    assert errors_of(done, "stuck") == {ErrorCode.DEADLINE_EXCEEDED}
    assert [checked.standing for checked in done.result.claims] == [Standing.PROVEN]


@pytest.mark.proves("FIELD-NEVER-ANSWERS")
async def test_a_thread_that_does_not_stop_at_the_deadline_is_left_behind(runs: Harness) -> None:
    """A synchronous tool that looks at nothing: cut off all the same, its late answer goes nowhere."""
    entered, release = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        loop.call_soon_threadsafe(entered.set)
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        return {"echo": "too late"}

    script = [calls(call("first")), *[ask_until_told] * MANY]
    try:
        done = await runs.run(
            script, [FakeTool(), FakeTool("stuck", work=work)], deadline_s=3, max_turns=MANY, max_tool_calls=MANY
        )
    finally:
        release.set()
    assert entered.is_set()
    assert done.result.outcome is RunOutcome.DEADLINE_EXCEEDED
    assert errors_of(done, "stuck") == {ErrorCode.DEADLINE_EXCEEDED}


@pytest.mark.proves("INV-CONCLUDES")
async def test_a_planner_that_never_answers_gets_the_run_an_inconclusive_report_at_the_deadline(runs: Harness) -> None:
    """Left at the end of gathering and again at the deadline; then the workflow itself publishes."""
    planner = BlockingPlanner()
    done = await runs.run(planner, [FakeTool()], deadline_s=2)
    assert planner.entered.is_set()
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.DEADLINE_EXCEEDED, Verdict.INCONCLUSIVE)
    assert done.activity_types == ["casebound.open_run", "casebound.plan", "casebound.plan"]
    assert done.turns == []
    assert "no report could be had" in done.result.detail
    assert lasted_ms(done) >= 2000


class HangsAfterOneCall(BlockingPlanner):
    """Asks for one call, then hangs."""

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """See `Planner.next_turn`."""
        if plan.number == 1:
            return calls(call("first"))
        return await super().next_turn(plan, run)


async def test_what_was_gathered_is_listed_where_no_report_could_be_had(runs: Harness) -> None:
    """The planner hangs after its first call: the workflow's own report names the call and its record stands."""
    done = await runs.run(HangsAfterOneCall(), [FakeTool()], deadline_s=3)
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.DEADLINE_EXCEEDED, Verdict.INCONCLUSIVE)
    assert [(listed.tool_call_id, listed.status) for listed in done.result.calls] == [("first", InvocationStatus.READY)]


async def test_a_run_completes_on_the_java_server_its_backoff_skipped(
    java_time_skipping: WorkflowEnvironment, valkey_store: Store, task_queue: str
) -> None:
    """The older server, too: a retry after a virtual second, one record, one report."""
    left = [1]

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        left[0] -= 1
        return {"echo": arguments} if left[0] < 0 else unavailable(arguments, context)

    runs = Harness(java_time_skipping.client, valkey_store, task_queue)
    script = [calls(call("first")), report(claim("seen", cite("first", pointer="/echo")))]
    done = await runs.run(script, [FakeTool(work=work)])
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    assert (done.records["first"].record.executions, done.records["first"].record.failures) == (2, 1)
    assert lasted_ms(done) >= 1000
