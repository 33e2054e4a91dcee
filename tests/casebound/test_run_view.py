"""What is gathered of a run, whatever of it is left: a store in memory, turns and records made by hand."""

from __future__ import annotations

import pytest

from activities.contracts import (
    BudgetLeft,
    CallResult,
    FailedCall,
    PlanInput,
    PlannedTurn,
    PlannerRef,
    RunBudget,
    RunOutcome,
    RunResult,
    TurnMode,
    Usage,
)
from activities.stored import RunBrief, StoredTurn
from boundary.contracts import (
    AdmittedCall,
    CallError,
    EvidenceStatus,
    Grant,
    InvocationStatus,
    ReplacedText,
    ToolCall,
    call_error,
)
from boundary.errors import ErrorCode
from boundary.keys import ToolCallKeyFactory
from boundary.memory_backend import MemoryBackend
from boundary.record import Failed, Ready
from boundary.redaction import Redactor
from boundary.report import Verdict
from boundary.store import Owned
from casebound.run_view import KnownRun, RunView, view_run
from casebound.worker import Store, store_over

RUN = "0199-run"
BUDGET = BudgetLeft(tool_calls=9, turns=9, run_bytes=9)
DUPLICATE = call_error(ErrorCode.DUPLICATE_TOOL_CALL_ID, "another call of this run already has the id 'a'")


class Run:
    """Writes a run's index and records as the activities do."""

    def __init__(self, store: Store, now_ms: int) -> None:
        self.store = store
        self.now_ms = now_ms
        self.parent: str | None = None

    async def open(self) -> None:
        brief = RunBrief(
            run_id=RUN,
            workflow_id="casebound-0199",
            question="Why?",
            planner=PlannerRef(),
            deadline_ms=self.now_ms + 1000,
            expires_at_ms=self.now_ms + 600_000,
        )
        await self.store.runs.open(
            RUN, brief.model_dump_json().encode(), expires_at_ms=brief.expires_at_ms, now_ms=self.now_ms
        )

    async def turn(
        self,
        number: int,
        *calls: ToolCall,
        results: tuple[CallResult, ...] = (),
        excess: tuple[str | None, ...] = (),
        remarks: tuple[str, ...] | None = None,
    ) -> None:
        """Store a turn; with remarks, even none, it is a report."""
        key = f"{number}:plan:digest"
        asked = PlanInput(
            run_id=RUN,
            number=number,
            mode=TurnMode.PLAN,
            parent=self.parent,
            results=results,
            budget=BUDGET,
            deadline_ms=self.now_ms + 1000,
        )
        stored = StoredTurn(
            input=asked,
            turn=PlannedTurn(turn_key=key, calls=calls, excess=len(excess), reported=remarks is not None),
            excess_ids=excess,
            remarks=remarks or (),
        )
        await self.store.runs.put_turn(RUN, key, self.parent, stored.model_dump_json().encode(), now_ms=self.now_ms)
        self.parent = key

    async def record(
        self, call_id: str, turn: int, position: int, settlement: Ready | Failed | None, arguments: str = "{}"
    ) -> None:
        call = AdmittedCall(
            run_id=RUN,
            tool_call_id=call_id,
            tool_name="probe",
            arguments=arguments,
            turn=turn,
            position=position,
            call_index=1,
            grant=Grant(
                deadline_ms=self.now_ms + 1000,
                expires_at_ms=self.now_ms + 600_000,
                bytes=10_000,
                timeout_ms=1000,
                attempts=1,
            ),
        )
        begun = await self.store.invocations.begin(call, nonce="n", now_ms=self.now_ms)
        assert isinstance(begun, Owned)
        if settlement is not None:
            await self.store.invocations.settle(begun.held, settlement, now_ms=self.now_ms)


@pytest.fixture
async def run() -> Run:
    store = await store_over(MemoryBackend(), ToolCallKeyFactory().prefix)
    return Run(store, await store.backend.now_ms())


def call(call_id: str | None, name: str = "probe", arguments: str | ReplacedText = "{}") -> ToolCall:
    return ToolCall(tool_call_id=call_id, tool_name=name, arguments=arguments)


def result(**changes: object) -> RunResult:
    return RunResult.model_validate(
        {
            "run_id": RUN,
            "question": "Why?",
            "outcome": RunOutcome.REPORTED,
            "verdict": Verdict.INCONCLUSIVE,
            "budget": RunBudget(
                tool_calls=Usage(used=1), turns=Usage(used=1), run_bytes=Usage(used=1), tokens=Usage(used=0)
            ),
            "started_at_ms": 1_700_000_000_000,
            "ended_at_ms": 1_700_000_001_000,
            **changes,
        }
    )


async def view(run: Run, known: KnownRun | None = None) -> RunView:
    known = known or KnownRun(run_id=RUN, workflow_id="casebound-0199")
    return await view_run(known, run.store, Redactor(["hunter2hunter2"]))


async def test_every_requested_call_is_listed_once_in_request_order(run: Run) -> None:
    """Recorded, refused, failed, unfinished and excess ones, each with what is known of it."""
    await run.open()
    await run.turn(1, call("a"), call("a"), call(None, "search_logs"), excess=("late", None))
    await run.record("a", 1, 0, Ready(b'{"all": 1}', b'{"n": 18446744073709551617}', EvidenceStatus.EVIDENCE_FOUND))
    missing = call_error(ErrorCode.MISSING_TOOL_CALL_ID, "the call has no id")
    answers = (CallResult(), CallResult.refused(DUPLICATE), CallResult.refused(missing))
    await run.turn(2, call("b"), call("c"), call("d"), results=answers)
    await run.record("b", 2, 0, Failed(call_error(ErrorCode.EXECUTION_ERROR, "boom")))
    await run.record("c", 2, 1, None)
    shown = await view(run)
    assert [(c.tool_call_id, c.status, c.error.code if c.error else None) for c in shown.calls] == [
        ("a", InvocationStatus.READY, None),
        ("a", InvocationStatus.ERROR, ErrorCode.DUPLICATE_TOOL_CALL_ID),
        (None, InvocationStatus.ERROR, ErrorCode.MISSING_TOOL_CALL_ID),
        ("late", InvocationStatus.ERROR, ErrorCode.BUDGET_EXCEEDED),
        (None, InvocationStatus.ERROR, ErrorCode.BUDGET_EXCEEDED),
        ("b", InvocationStatus.ERROR, ErrorCode.EXECUTION_ERROR),
        ("c", InvocationStatus.PROJECTING, None),
        ("d", InvocationStatus.PROJECTING, None),
    ]
    assert shown.calls[0].agent_result == {"n": 2**64 + 1}
    assert (shown.calls[0].executions, shown.calls[0].raw_bytes, shown.calls[0].agent_result_bytes) == (1, 10, 27)
    assert [c.executions for c in shown.calls[1:5]] == [0, 0, 0, 0]
    assert shown.calls[2].tool_name == "search_logs"


async def test_a_turn_beside_the_chain_is_not_shown(run: Run) -> None:
    """A planner that was asked anew after a note leaves a turn nobody acted on."""
    await run.open()
    await run.turn(1, call("a"))
    first, run.parent = run.parent, None
    other = StoredTurn(
        input=PlanInput(run_id=RUN, number=1, notes=("look",), budget=BUDGET, deadline_ms=1),
        turn=PlannedTurn(turn_key="1:plan:other", calls=(call("never"),)),
    )
    await run.store.runs.put_turn(RUN, "1:plan:other", None, other.model_dump_json().encode(), now_ms=run.now_ms)
    run.parent = first
    await run.turn(2, call("b"), results=(CallResult(),))
    assert [c.tool_call_id for c in (await view(run)).calls] == ["a", "b"]


async def test_the_workflows_result_is_shown_even_when_the_store_has_forgotten_the_run(run: Run) -> None:
    """The report outlives its evidence."""
    failed = FailedCall(tool_name="x", error=CallError(code=ErrorCode.CANCELLED, message="m"))
    known = KnownRun(run_id=RUN, workflow_id="w", result=result(could_not_check=(failed,), unsettled=2))
    shown = await view(run, known)
    assert (shown.outcome, shown.calls, shown.evidence_expires_at) == (RunOutcome.REPORTED, (), None)
    assert (shown.could_not_check, shown.unsettled) == ((failed,), 2)
    assert shown.started_at is not None
    assert shown.started_at.isoformat() == "2023-11-14T22:13:20+00:00"


async def test_the_stored_summary_stands_in_for_a_cancelled_runs_result(run: Run) -> None:
    """A cancelled workflow has no result; it left its summary."""
    await run.open()
    summary = result(outcome=RunOutcome.CANCELLED).model_dump_json().encode()
    await run.store.runs.put_summary(RUN, summary, now_ms=run.now_ms)
    assert (await view(run)).outcome is RunOutcome.CANCELLED


async def test_a_run_cancelled_before_it_was_opened_is_cancelled_all_the_same(run: Run) -> None:
    """It left nothing in the store; Temporal knows."""
    shown = await view(run, KnownRun(run_id=RUN, workflow_id="w", question="Why?", cancelled=True))
    assert (shown.outcome, shown.detail) == (RunOutcome.CANCELLED, "the run was cancelled and left no summary")


async def test_a_running_run_has_no_outcome_yet(run: Run) -> None:
    """Its question and calls are there all the same."""
    await run.open()
    await run.turn(1, call("a"))
    shown = await view(run)
    assert (shown.question, shown.outcome, shown.verdict, len(shown.calls)) == ("Why?", None, None, 1)


async def test_a_name_that_was_replaced_is_described(run: Run) -> None:
    """What a planner sent instead of a tool name is nobody's terminal's business."""
    await run.open()
    await run.turn(1, ToolCall(tool_name=ReplacedText(reason="oversized", bytes=99_999, sha256="0" * 64)))
    [shown] = (await view(run)).calls
    assert (shown.tool_call_id, shown.tool_name) == (None, "(oversized, 99999 bytes)")


async def test_each_call_tells_its_turn_and_what_it_asked(run: Run) -> None:
    """The object, exact; else the text that is none, or what stands for one that was not kept."""
    replaced = ReplacedText(reason="oversized", bytes=99_999, sha256="0" * 64)
    await run.open()
    await run.turn(1, call("a", arguments='{"q": 18446744073709551617}'), excess=("late",))
    await run.record("a", 1, 0, Ready(b"{}", b"{}", EvidenceStatus.NO_EVIDENCE), '{"q": 18446744073709551617}')
    refused = [call("b", arguments=""), call("c", arguments='{"q": 1, "q": 2}'), call("d", arguments=replaced)]
    await run.turn(2, *refused, results=(CallResult(),))
    shown = (await view(run)).calls
    assert [(c.tool_call_id, c.turn, c.arguments) for c in shown] == [
        ("a", 1, {"q": 2**64 + 1}),
        ("late", 1, None),
        ("b", 2, {}),
        ("c", 2, '{"q": 1, "q": 2}'),
        ("d", 2, replaced),
    ]


async def test_secrets_in_arguments_and_remarks_are_masked(run: Run) -> None:
    """Those of the configuration, and what looks like one; in an object and in a text that is none."""
    await run.open()
    await run.turn(
        1, call("a", arguments='{"password": "x7Kq9", "q": "hunter2hunter2"}'), call("b", arguments="hunter2hunter2")
    )
    await run.turn(2, remarks=("step 'a' was skipped: 'hunter2hunter2' is no list",))
    shown = await view(run)
    assert [c.arguments for c in shown.calls] == [{"password": "[redacted]", "q": "[redacted]"}, "[redacted]"]
    assert shown.remarks == ("step 'a' was skipped: '[redacted]' is no list",)


async def test_remarks_are_those_of_the_last_report_each_once(run: Run) -> None:
    """A report tells of the whole run; the one it replaces counts no more, and a turn without one says nothing."""
    await run.open()
    await run.turn(1, call("a"))
    assert (await view(run)).remarks == ()
    await run.turn(2, remarks=("old",), results=(CallResult(),))
    await run.turn(3, remarks=("step 'b' was skipped", "claim 2 was left out", "step 'b' was skipped"))
    await run.turn(4)
    assert (await view(run)).remarks == ("step 'b' was skipped", "claim 2 was left out")
