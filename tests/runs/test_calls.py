"""What a planner can ask for and a tool can do, through whole runs, over both kinds of store.

Each requested call gets exactly one result, in request order; each admitted one exactly one record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import RequestedCall, Turn
from boundary.backend import Created
from boundary.contracts import (
    EvidenceStatus,
    InvocationStatus,
    JsonObject,
    JsonValue,
    ReplacedText,
    ToolBoundaryResult,
)
from boundary.errors import ErrorCode
from boundary.keys import ToolCallKeyFactory
from boundary.record import encode, new_record, settled
from boundary.report import CitationStatus, Standing, Verdict
from boundary.tools import Projection, ToolContext, ToolFailure
from tests.support.calls import admitted, failed
from tests.support.histories import text_of
from tests.support.runs import BlockingPlanner, Harness, call, calls, cite, claim, report
from tests.support.tools import CANARY, FakeAsyncTool, FakeTool, show_nothing, show_raw

Results = list[list[ToolBoundaryResult]]


class Watcher:
    """The last turn of a script: keeps what the planner was given, then reports."""

    def __init__(self, *claims: dict[str, Any]) -> None:
        self.results: Results = []
        self._claims = claims

    def __call__(self, plan: PlanInput, results: Results) -> Turn:
        self.results = results
        return report(*self._claims)

    @property
    def codes(self) -> list[str | None]:
        """Code, or None for READY, of each call of the first turn."""
        return [result.error.code if result.error else None for result in self.results[0]]


def failing(code: ErrorCode, *, retryable: bool, times: int = 99) -> Callable[[JsonObject, ToolContext], JsonValue]:
    left = [times]

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        left[0] -= 1
        if left[0] >= 0:
            raise ToolFailure("no answer", code=code, retryable=retryable)
        return {"echo": arguments}

    return work


def answering(size: int) -> Callable[[JsonObject, ToolContext], JsonValue]:
    return lambda arguments, context: "x" * size


def cannot_show(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
    raise ZeroDivisionError


@pytest.mark.proves("INV-NAMED-AFTER-TOOL", "INV-ONE-RECORD")
async def test_a_run_calls_its_tools_and_reports_what_they_prove(runs_on: Harness) -> None:
    """Two turns of calls and a report: one record each, every citation checked, verdict SUPPORTED."""
    watcher = Watcher(
        claim("q was one", cite("call_1", pointer="/echo/q", quote="1")),
        claim("nothing else", cite("call_2"), kind="absence"),
    )
    nothing = FakeTool("search", show=show_nothing)
    script = [calls(call("call_1", arguments={"q": 1})), calls(call("call_2", "search")), watcher]
    done = await runs_on.run(script, [FakeTool(), nothing])
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    assert [claim.standing for claim in done.result.claims] == [Standing.PROVEN, Standing.PROVEN]
    assert {call_id: stored.record.status for call_id, stored in done.records.items()} == {
        "call_1": InvocationStatus.READY,
        "call_2": InvocationStatus.READY,
    }
    assert done.records["call_2"].record.evidence_status is EvidenceStatus.NO_EVIDENCE
    assert [name for name in done.activity_types if not name.startswith("casebound.")] == ["probe", "search"]
    assert done.result.budget.tool_calls.used == 2


BAD_CALLS: list[tuple[str, RequestedCall, ErrorCode, bool]] = [
    ("no id", call(None), ErrorCode.MISSING_TOOL_CALL_ID, False),
    ("empty id", call(""), ErrorCode.MISSING_TOOL_CALL_ID, False),
    ("blank in id", call("a b"), ErrorCode.INVALID_TOOL_CALL_ID, False),
    ("3 MB id", call("x" * 3_000_000), ErrorCode.INVALID_TOOL_CALL_ID, False),
    ("unknown tool", call("bad", "no_such_tool"), ErrorCode.UNKNOWN_TOOL, False),
    ("3 MB tool name", call("bad", "x" * 3_000_000), ErrorCode.UNKNOWN_TOOL, False),
    ("bad json", call("bad", arguments='{"q": '), ErrorCode.INVALID_ARGUMENTS, True),
    ("repeated key", call("bad", arguments='{"q": 1, "q": 1}'), ErrorCode.INVALID_ARGUMENTS, True),
    ("not an object", call("bad", arguments="7"), ErrorCode.INVALID_ARGUMENTS, True),
    ("3 MB arguments", call("bad", arguments='{"pad": "%s"}' % ("x" * 3_000_000)), ErrorCode.INVALID_ARGUMENTS, True),
    ("lone surrogate", call("bad", arguments='{"pad": "\ud800"}'), ErrorCode.INVALID_ARGUMENTS, True),
    ("wrong type", call("bad", arguments={"q": "one"}), ErrorCode.SCHEMA_VIOLATION, True),
    ("may write", call("bad", "writer"), ErrorCode.NOT_READ_ONLY, True),
    ("duplicate", call("first"), ErrorCode.DUPLICATE_TOOL_CALL_ID, False),
]


@pytest.mark.proves("INV-ONE-RESULT-EACH", "INV-REFUSED-HAS-NO-RECORD", "INV-NO-INPUT-KILLS-A-RUN")
@pytest.mark.parametrize(("bad", "code", "recorded"), [case[1:] for case in BAD_CALLS], ids=[c[0] for c in BAD_CALLS])
async def test_a_bad_call_is_one_value_in_its_place(
    runs_on: Harness, bad: RequestedCall, code: ErrorCode, recorded: bool
) -> None:
    """Between two good calls the bad one gets its code; a refused one has no record, an admitted one has."""
    watcher = Watcher()
    tools = [FakeTool(), FakeTool("writer", read_only=False)]
    done = await runs_on.run([calls(call("first"), bad, call("last")), watcher], tools)
    assert done.result.outcome is RunOutcome.REPORTED
    assert watcher.codes == [None, code, None]
    assert set(done.records) == ({"first", "bad", "last"} if recorded else {"first", "last"})
    if recorded:
        assert done.records["bad"].record.status is InvocationStatus.ERROR
    assert [failed.error.code for failed in done.result.could_not_check] == [code]


@pytest.mark.proves("INV-REFUSED-HAS-NO-RECORD", "FIELD-REPEATED-IDS")
async def test_an_id_used_in_an_earlier_turn_is_refused_and_its_record_kept(runs_on: Harness) -> None:
    """A duplicate in a later turn: DUPLICATE_TOOL_CALL_ID, the first call's evidence is untouched."""
    watcher = Watcher()
    tool = FakeTool()
    script = [calls(call("one", arguments={"q": 1})), calls(call("one", arguments={"q": 2})), watcher]
    done = await runs_on.run(script, [tool])
    [second] = watcher.results[1]
    assert second.error is not None
    assert second.error.code is ErrorCode.DUPLICATE_TOOL_CALL_ID
    assert tool.executed == [{"q": 1}]
    assert done.activity_types.count("probe") == 1
    assert done.records["one"].agent_result == b'{"echo":{"q":1}}'


OUTCOMES: list[tuple[str, FakeTool, ErrorCode, int]] = [
    ("projection", FakeTool(show=cannot_show), ErrorCode.PROJECTION_ERROR, 1),
    ("execution", FakeTool(work=failing(ErrorCode.EXECUTION_ERROR, retryable=False)), ErrorCode.EXECUTION_ERROR, 1),
    (
        "retryable",
        FakeTool(work=failing(ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True), max_attempts=2),
        ErrorCode.UPSTREAM_UNAVAILABLE,
        2,
    ),
    ("9 MB raw", FakeTool(work=answering(9_000_000), show=show_nothing), ErrorCode.RESULT_TOO_LARGE, 1),
    ("3 MB agent result", FakeTool(work=answering(3_000_000), show=show_raw), ErrorCode.RESULT_TOO_LARGE, 1),
]


@pytest.mark.parametrize(("tool", "code", "executions"), [c[1:] for c in OUTCOMES], ids=[c[0] for c in OUTCOMES])
async def test_a_tool_that_cannot_answer_is_an_error_the_run_goes_on_with(
    runs_on: Harness, tool: FakeTool, code: ErrorCode, executions: int
) -> None:
    """The call is settled ERROR with its code, after as many executions as allowed; the run reports."""
    tool.executed.clear()
    watcher = Watcher()
    done = await runs_on.run([calls(call("bad"), call("good", "other")), watcher], [tool, FakeTool("other")])
    assert watcher.codes == [code, None]
    record = done.records["bad"].record
    assert (record.status, record.executions, len(tool.executed)) == (InvocationStatus.ERROR, executions, executions)
    assert done.result.outcome is RunOutcome.REPORTED


async def test_a_failure_the_tool_calls_retryable_may_end_well(runs_on: Harness) -> None:
    """One retryable failure, then an answer: READY, two executions, one failure, one charge."""
    tool = FakeTool(work=failing(ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True, times=1))
    done = await runs_on.run([calls(call("one")), Watcher()], [tool])
    record = done.records["one"].record
    assert (record.status, record.executions, record.failures) == (InvocationStatus.READY, 2, 1)
    assert done.result.budget.tool_calls.used == 1


async def test_a_tool_the_worker_lacks_is_unavailable_and_recorded(runs_on: Harness) -> None:
    """The catalog had it, the worker that got the call lacks it: TOOL_UNAVAILABLE, never a hang."""
    watcher = Watcher()

    blocking = BlockingPlanner()
    async with runs_on.worker(blocking, [FakeTool("gone"), FakeTool()]):
        handle = await runs_on.start()
        await blocking.entered.wait()
    async with runs_on.worker([calls(call("one", "gone")), watcher], [FakeTool()]):
        done = await runs_on.finished(handle, await handle.result())
    assert watcher.codes == [ErrorCode.TOOL_UNAVAILABLE]
    assert done.records["one"].record.status is InvocationStatus.ERROR


@pytest.mark.proves("INV-CONCLUDES")
async def test_calls_beyond_the_budget_are_refused_and_the_run_concludes(runs_on: Harness) -> None:
    """At the call limit the rest of the turn is refused, one concluding turn reports, outcome BUDGET_EXHAUSTED."""
    watcher = Watcher(claim("seen", cite("c1", pointer="/echo")))
    turn = calls(*[call(f"c{n}") for n in range(1, 5)])
    done = await runs_on.run([turn, watcher], [FakeTool()], max_tool_calls=2)
    assert watcher.codes == [None, None, ErrorCode.BUDGET_EXCEEDED, ErrorCode.BUDGET_EXCEEDED]
    assert set(done.records) == {"c1", "c2"}
    assert done.result.outcome is RunOutcome.BUDGET_EXHAUSTED
    assert done.result.claims[0].standing is Standing.PROVEN
    assert [turn.input.mode for turn in done.turns] == ["plan", "conclude"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [("another run", ErrorCode.RUN_MISMATCH), ("expired", ErrorCode.RECORD_EXPIRED)],
    ids=["of another run", "expired"],
)
async def test_a_foreign_or_expired_record_under_the_key_is_a_value_and_left_alone(
    runs_on: Harness, kind: str, code: ErrorCode
) -> None:
    """The call gets the code, its tool does not run, the run reports; what was there is still there."""
    blocking, watcher, tool = BlockingPlanner(), Watcher(), FakeTool()
    async with runs_on.worker(blocking, [tool]):
        handle = await runs_on.start()
        await blocking.entered.wait()
    run_id = (await handle.describe()).run_id
    now_ms = await runs_on.store.backend.now_ms()
    key = ToolCallKeyFactory(runs_on.prefix).record(run_id, "one")
    theirs = new_record(admitted("one", run_id="run-b"), nonce="x", now_ms=now_ms, max_request_bytes=999)
    foreign = encode(settled(theirs, failed(), now_ms=now_ms))
    expires_ms = now_ms + (1 if kind == "expired" else 600_000)
    planted = await runs_on.store.backend.create(
        key, {"record": foreign}, identity="record", expires_at_ms=expires_ms, now_ms=now_ms - 60_000
    )
    assert planted == Created()
    async with runs_on.worker([calls(call("one")), watcher], [tool]):
        done = await runs_on.finished(handle, await handle.result())
    assert (watcher.codes, tool.executed) == ([code], [])
    assert done.result.outcome is RunOutcome.REPORTED
    [row] = await runs_on.store.backend.read([key], ["record"], now_ms=now_ms - 60_000)
    assert row is not None
    assert row["record"] == foreign


async def test_a_request_that_leaves_no_room_in_its_grant_is_too_large(runs_on: Harness) -> None:
    """16 KB of quotes are 32 KB as JSON, more than the grant: RESULT_TOO_LARGE, recorded without the text."""
    watcher = Watcher()
    done = await runs_on.run([calls(call("one", arguments='"' * 16_000)), watcher], [FakeTool()], max_run_bytes=20_000)
    assert watcher.codes == [ErrorCode.RESULT_TOO_LARGE]
    assert isinstance(done.records["one"].record.request.arguments, ReplacedText)


async def test_a_result_over_what_is_left_of_the_runs_bytes_is_too_large(runs_on: Harness) -> None:
    """The last grant is what the calls before left: a larger result is RESULT_TOO_LARGE, its digest is kept."""
    watcher = Watcher()
    tool = FakeTool(work=answering(30_000), show=show_nothing)
    turn = calls(*[call(f"c{n}") for n in range(3)])
    done = await runs_on.run([turn, watcher], [tool], max_run_bytes=80_000)
    assert watcher.codes == [None, None, ErrorCode.RESULT_TOO_LARGE]
    last = done.records["c2"].record
    assert (last.sizes.raw, last.sizes.kept) == (30_002, 0)
    assert last.error is not None
    assert "byte grant" in last.error.message


@pytest.mark.proves("INV-CAPACITY")
async def test_bytes_are_granted_reserved_and_never_exceeded(runs_on: Harness) -> None:
    """Calls reserve what they may write; when too little is left for a record, calls are refused."""
    watcher = Watcher()
    tool = FakeTool(work=answering(30_000), show=show_nothing)
    turn = calls(*[call(f"c{n}") for n in range(6)])
    done = await runs_on.run([turn, watcher], [tool], max_run_bytes=100_000, max_record_bytes=60_000)
    assert watcher.codes[:2] == [None, None]
    assert ErrorCode.BUDGET_EXCEEDED in watcher.codes
    assert sum(stored.bytes for stored in done.records.values()) == done.result.budget.run_bytes.used <= 100_000


async def test_ten_thousand_calls_in_one_turn_get_ten_thousand_results(runs_on: Harness) -> None:
    """A turn takes 64 calls; the excess is refused, each with its own result, in request order."""
    watcher = Watcher()
    turn = calls(*[call(f"c{n}") for n in range(10_000)])
    done = await runs_on.run([turn, watcher], [FakeTool()], max_tool_calls=100, max_parallel_calls=16)
    [results] = watcher.results
    assert [result.tool_call_id for result in results] == [f"c{n}" for n in range(10_000)]
    assert watcher.codes == [None] * 64 + [ErrorCode.BUDGET_EXCEEDED] * 9_936
    assert len(done.records) == 64
    assert done.result.outcome is RunOutcome.REPORTED


async def test_a_report_of_five_megabytes_is_repaired_once(runs_on: Harness) -> None:
    """An oversized report becomes a fault; the repair turn is told so and reports again."""
    told: list[tuple[str, ...]] = []

    def repair(plan: PlanInput, results: Results) -> Turn:
        told.append(plan.faults)
        return report(claim("short", cite("one", pointer="/echo")))

    script = [calls(call("one")), report(claim("x" * 5_000_000)), repair]
    done = await runs_on.run(script, [FakeTool()])
    assert [turn.input.mode for turn in done.turns] == ["plan", "plan", "repair"]
    assert told
    assert told[0]
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)


async def test_reports_that_never_become_usable_end_planner_failed(runs_on: Harness) -> None:
    """Two oversized reports: the workflow itself publishes an INCONCLUSIVE one that lists its calls."""
    big = report(claim("x" * 5_000_000))
    done = await runs_on.run([calls(call("one")), big, big], [FakeTool()])
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.PLANNER_FAILED, Verdict.INCONCLUSIVE)
    assert [listed.tool_call_id for listed in done.result.calls] == ["one"]


async def test_an_empty_turn_is_a_fault_not_a_loop(runs_on: Harness) -> None:
    """Neither calls nor a report: one repair turn, then PLANNER_FAILED."""
    done = await runs_on.run([Turn(), Turn()], [FakeTool()])
    assert done.result.outcome is RunOutcome.PLANNER_FAILED
    assert len(done.turns) == 2


@pytest.mark.proves("INV-ONLY-OWN-READY-EVIDENCE", "INV-PROVEN", "FIELD-INVENTED-SOURCES")
async def test_what_may_not_be_cited_is_published_unproven_never_silently(runs_on: Harness) -> None:
    """After the repair turn, claims on ERROR, refused, unknown or misquoted evidence stand as unproven."""
    tool = FakeTool(work=failing(ErrorCode.EXECUTION_ERROR, retryable=False))
    bad = report(
        claim("no errors found", cite("broken"), kind="absence"),
        claim("refused", cite("refused")),
        claim("invented", cite("never_was")),
        claim("misquoted", cite("good", quote="a quote that is not there")),
        claim("without citation"),
        claim("says where", cite("good", pointer="/echo")),
        claim("does not say where", cite("good")),
    )
    first = calls(call("broken"), call("refused", "nope"), call("good", "other"))
    done = await runs_on.run([first, bad, bad], [tool, FakeTool("other")])
    assert [claim.standing for claim in done.result.claims] == [
        *[Standing.UNPROVEN] * 5,
        Standing.PROVEN,
        Standing.CITED,
    ]
    statuses = [[citation.status for citation in claim.citations] for claim in done.result.claims]
    assert statuses[:4] == [
        [CitationStatus.NOT_READY],
        [CitationStatus.UNKNOWN_CALL],
        [CitationStatus.UNKNOWN_CALL],
        [CitationStatus.QUOTE_NOT_FOUND],
    ]
    assert done.result.verdict is Verdict.PARTIAL


@pytest.mark.proves("INV-NO-RAW-IN-HISTORY")
async def test_a_canary_in_raw_is_nowhere_in_the_history(runs_on: Harness) -> None:
    """What the projector drops does not reach history, turns or report; it is in the raw response."""
    done = await runs_on.run([calls(call("one")), Watcher(claim("x", cite("one", pointer="/echo")))], [FakeTool()])
    assert CANARY.encode() in (done.records["one"].raw or b"")
    history = text_of(done.history)
    assert "echo" in history
    assert CANARY not in history
    assert all(CANARY not in turn.model_dump_json() for turn in done.turns)
    assert CANARY.encode() not in (done.records["one"].agent_result or b"")


async def test_an_async_tool_runs_beside_others_and_results_keep_request_order(runs_on: Harness) -> None:
    """Calls of a turn run side by side; the slowest first one still comes first."""
    others = asyncio.Event()

    async def wait_for_other(arguments: JsonObject, context: ToolContext) -> JsonValue:
        await others.wait()
        return {"echo": "first"}

    async def release(arguments: JsonObject, context: ToolContext) -> JsonValue:
        others.set()
        return {"echo": "second"}

    watcher = Watcher()
    tools = [FakeAsyncTool("slow", work_async=wait_for_other), FakeAsyncTool("quick", work_async=release)]
    await runs_on.run([calls(call("a", "slow"), call("b", "quick")), watcher], tools, max_parallel_calls=2)
    assert [result.agent_result for result in watcher.results[0]] == [{"echo": "first"}, {"echo": "second"}]
