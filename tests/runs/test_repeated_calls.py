"""A READY call is not made again: the first repetition is answered by naming it, later ones are refused."""

from __future__ import annotations

import pytest

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import Turn
from boundary.contracts import JsonObject, JsonValue, ToolBoundaryResult
from boundary.errors import ErrorCode
from boundary.report import Verdict
from boundary.tools import ToolContext, ToolFailure
from tests.support.runs import Finished, Harness, call, calls, cite, claim, report
from tests.support.tools import FakeTool

TEN_MINUTES_S = 600


def answers(done: Finished) -> list[tuple[str | None, ErrorCode | None]]:
    """Of each requested call, in order: the id its answer names, and its error's code."""
    return [
        (result.repeats, result.error.code if result.error else None)
        for turn in done.turns
        for result in turn.input.results
    ]


@pytest.mark.proves("INV-REPEATED-CALL", "INV-ONE-RESULT-EACH", "FIELD-LOOPS")
async def test_the_second_is_answered_by_the_first_and_the_third_is_refused(runs_on: Harness) -> None:
    """Neither has a record or is charged; a report that cites the first is proven, one that cites the second is not."""
    tool = FakeTool()
    script = [
        calls(call("one", arguments={"q": 1, "pad": "x"})),
        calls(call("two", arguments='{"pad": "x",  "q": 1}'), call("other", arguments={"q": 2, "pad": "x"})),
        calls(call("three", arguments={"pad": "x", "q": 1}), call("four", arguments={"q": 1, "pad": "x"})),
        report(
            claim("first", cite("one", pointer="/echo/q", quote="1")), claim("second", cite("two", pointer="/echo"))
        ),
    ]
    done = await runs_on.run([*script, script[-1]], [tool], repeat_window_s=TEN_MINUTES_S)
    repeated = ErrorCode.REPEATED_CALL
    assert answers(done) == [(None, None), ("one", None), (None, None), (None, repeated), (None, repeated)]
    assert len(tool.executed) == 2
    assert set(done.records) == {"one", "other"}
    assert done.result.budget.tool_calls.used == 2
    assert [str(claim.standing) for claim in done.result.claims] == ["proven", "unproven"]
    assert [failed.tool_call_id for failed in done.result.could_not_check] == ["three", "four"]
    assert done.result.could_not_check[0].error.message.startswith("the call 'one' asked the same")


async def test_the_planner_sees_the_first_calls_result(runs: Harness) -> None:
    """The view of the repetition names the call to cite and shows what it found."""
    seen: list[ToolBoundaryResult] = []

    def last(plan: PlanInput, results: list[list[ToolBoundaryResult]]) -> Turn:
        seen.extend(results[-1])
        return report(claim("q", cite("one", pointer="/echo/q", quote="1")))

    script = [calls(call("one", arguments={"q": 1})), calls(call("two", arguments={"q": 1})), last]
    done = await runs.run(script, [FakeTool()], repeat_window_s=TEN_MINUTES_S)
    assert [(one.tool_call_id, one.repeats, one.agent_result) for one in seen] == [("two", "one", {"echo": {"q": 1}})]
    assert done.result.verdict is Verdict.SUPPORTED


async def test_a_failed_call_may_be_made_again(runs: Harness) -> None:
    """An error is no answer: asking again may help."""
    fails = iter([True, False])

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        if next(fails):
            raise ToolFailure("not now")
        return {"echo": arguments}

    script = [calls(call("one")), calls(call("two")), report(claim("q", cite("two", pointer="/echo")))]
    done = await runs.run(script, [FakeTool(work=work)], repeat_window_s=TEN_MINUTES_S)
    assert answers(done) == [(None, ErrorCode.EXECUTION_ERROR), (None, None)]
    assert done.result.verdict is Verdict.SUPPORTED


async def test_calls_side_by_side_do_not_repeat_each_other(runs: Harness) -> None:
    """What has no answer yet cannot be answered by."""
    done = await runs.run(
        [calls(call("one"), call("two")), report()], [FakeTool()], max_parallel_calls=2, repeat_window_s=TEN_MINUTES_S
    )
    assert set(done.records) == {"one", "two"}


async def test_another_tool_with_the_same_arguments_is_another_call(runs: Harness) -> None:
    """So are other arguments, and a number that is written as a text."""
    script = [calls(call("one")), calls(call("two", "other")), report()]
    done = await runs.run(script, [FakeTool(), FakeTool("other")], repeat_window_s=TEN_MINUTES_S)
    assert set(done.records) == {"one", "two"}


async def test_a_window_of_no_time_is_none(runs: Harness) -> None:
    """Then a call may be made as often as the budget allows."""
    script = [calls(call("one")), calls(call("two")), calls(call("three")), report()]
    done = await runs.run(script, [FakeTool()], repeat_window_s=0)
    assert set(done.records) == {"one", "two", "three"}
    assert done.result.outcome is RunOutcome.REPORTED
