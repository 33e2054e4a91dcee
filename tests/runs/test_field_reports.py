"""Public reports of what went wrong with agents' runs, each as a run of ours; reports by repository and number."""

from __future__ import annotations

import threading

import pytest
from temporalio.api.enums.v1 import EventType

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import PlannerError, Turn
from boundary.contracts import EvidenceStatus, InvocationStatus, JsonObject, JsonValue, ToolBoundaryResult
from boundary.errors import ErrorCode
from boundary.report import CitationStatus, Standing, Verdict
from boundary.tools import ToolContext, ToolFailure
from tests.support.runs import Harness, RunHandle, call, calls, cite, claim, report
from tests.support.tools import Execute, FakeTool, echo, show_nothing
from tests.support.waiting import wait_until

Results = list[list[ToolBoundaryResult]]


def failing(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Fail like a source that is away."""
    raise ToolFailure("connection refused")


@pytest.mark.proves("FIELD-HUGE-PAYLOAD")
async def test_a_result_of_megabytes_passes_once_and_beside_temporal(runs_on: Harness) -> None:
    """pydantic/pydantic-ai 7157: 4.2 MB, over a payload's 2 MB; there the activity is tried again for ever."""
    tool = FakeTool(work=lambda arguments, context: {"rows": "x" * 4_200_000}, show=show_nothing)
    seen: list[ToolBoundaryResult] = []

    def last(plan: PlanInput, results: Results) -> Turn:
        seen.extend(results[0])
        return report()

    done = await runs_on.run([calls(call("one")), last], [tool])
    assert (done.result.outcome, len(tool.executed), len(seen)) == (RunOutcome.REPORTED, 1, 1)
    assert done.records["one"].raw is not None
    assert len(done.records["one"].raw) > 4_200_000
    assert len(done.history.to_json()) < 200_000


@pytest.mark.proves("FIELD-HUGE-TEXT")
async def test_a_text_of_ten_megabytes_never_reaches_the_planner(runs_on: Harness) -> None:
    """Shopify/roast 52, agent0ai/agent-zero 833: 10,605,342 characters are refused where they pass the limit."""
    tool = FakeTool(work=lambda arguments, context: {"text": "x" * 10_605_342})
    seen: list[ToolBoundaryResult] = []

    def last(plan: PlanInput, results: Results) -> Turn:
        seen.extend(results[0])
        return report()

    done = await runs_on.run([calls(call("one")), last], [tool])
    assert done.result.outcome is RunOutcome.REPORTED
    [result] = seen
    assert result.error is not None
    assert result.error.code is ErrorCode.RESULT_TOO_LARGE
    assert len(result.model_dump_json()) < 2_000


@pytest.mark.proves("FIELD-RUN-RETRY")
async def test_a_planner_refused_after_tools_ran_ends_the_run_and_runs_no_tool_again(runs_on: Harness) -> None:
    """agentarea/agentarea 320: HTTP 400 after the tools; there the whole run, and each query, is made again."""

    def refused(plan: PlanInput, results: Results) -> Turn:
        raise PlannerError("400 invalid request")

    tool = FakeTool()
    done = await runs_on.run([calls(call("one")), refused], [tool])
    assert (done.result.outcome, len(tool.executed)) == (RunOutcome.PLANNER_FAILED, 1)
    [begun] = done.events(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
    assert begun.workflow_execution_started_event_attributes.attempt == 1
    assert done.records["one"].record.status is InvocationStatus.READY


@pytest.mark.proves("FIELD-LOOPS")
@pytest.mark.parametrize("work", [failing, echo], ids=["fails", "finds"])
async def test_a_planner_that_asks_nearly_the_same_for_ever_is_ended_by_its_budget(
    runs_on: Harness, work: Execute
) -> None:
    """HolmesGPT/holmesgpt 2433, rwlove/home-ops 11904, NousResearch/hermes-agent 67829: limit 100, 101, 102 ..."""
    tool = FakeTool(work=work)

    def again(plan: PlanInput, results: Results) -> Turn:
        if plan.mode == "plan":
            return calls(call(f"c{len(results)}", arguments={"q": 100 + len(results)}))
        return report()

    done = await runs_on.run([again], [tool], max_tool_calls=5)
    assert done.result.outcome is RunOutcome.BUDGET_EXHAUSTED
    assert len(tool.executed) == 5


@pytest.mark.proves("FIELD-CONFIDENT-WITHOUT-DATA")
async def test_nothing_is_concluded_from_calls_that_all_failed(runs_on: Harness) -> None:
    """codeready-toolchain/tarsy 106, Arvo-AI/aurora 550: no "no errors found" from an ERROR; what failed is listed."""
    sure = report(claim("there are no errors", cite("one"), kind="absence"))
    done = await runs_on.run([calls(call("one"), call("two")), sure, sure], [FakeTool(work=failing)])
    assert done.result.verdict is Verdict.INCONCLUSIVE
    assert [(claim.standing, claim.citations[0].status) for claim in done.result.claims] == [
        (Standing.UNPROVEN, CitationStatus.NOT_READY)
    ]
    assert {failed.tool_call_id for failed in done.result.could_not_check} == {"one", "two"}
    assert {stored.record.evidence_status for stored in done.records.values()} == {EvidenceStatus.ERROR}


@pytest.mark.proves("FIELD-HEARTBEATS")
async def test_a_tool_that_says_nothing_is_alive_from_its_first_moment(runs: Harness) -> None:
    """dust-tt/dust 28780, pydantic/pydantic-ai 6914: set-up outlasts the heartbeat time-out; ours beats meanwhile."""
    beats: set[float] = set()
    seen = threading.Event()

    def silent(arguments: JsonObject, context: ToolContext) -> JsonValue:
        assert seen.wait(60)
        return {"echo": 1}

    tool = FakeTool(work=silent)
    async with runs.worker([calls(call("one")), report()], [tool]):
        handle: RunHandle = await runs.start()

        async def beaten() -> bool:
            for pending in (await handle.describe()).raw_description.pending_activities:
                beats.add(pending.last_heartbeat_time.ToMilliseconds())
            return len(beats) > 3

        await wait_until(beaten, description="four heartbeats", timeout=60)
        seen.set()
        await handle.result()
    assert len(tool.executed) == 1
