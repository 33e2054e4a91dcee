"""A run as a planner sees it, without Temporal and without a store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from activities.contracts import BudgetLeft, CallResult, CatalogEntry, PlanInput, PlannerRef, TurnMode
from activities.planners.port import PastTurn, Planner, Turn
from activities.stored import RunBrief, SourceStatus, StoredTurn
from activities.turns import bound_turn, turn_key
from boundary.contracts import (
    CallError,
    EvidenceStatus,
    InvocationStatus,
    ToolBoundaryResult,
    call_error,
)
from boundary.errors import ErrorCode

Answer = Callable[[str, Any], Any]
"""Tool name and arguments to the agent result; None: found nothing; a `CallError`: the call failed."""


def plan_input(
    number: int = 1,
    mode: TurnMode = TurnMode.PLAN,
    *,
    faults: Sequence[str] = (),
    notes: Sequence[str] = (),
    deadline_ms: int = 1_000,
) -> PlanInput:
    return PlanInput(
        run_id="run-1",
        number=number,
        mode=mode,
        faults=tuple(faults),
        notes=tuple(notes),
        budget=BudgetLeft(tool_calls=50, turns=40, run_bytes=1_000_000),
        deadline_ms=deadline_ms,
    )


def found_nothing() -> Any:
    return None


def failed(code: ErrorCode = ErrorCode.EXECUTION_TIMEOUT, message: str = "no answer in 60 s") -> CallError:
    return call_error(code, message)


@dataclass
class FakeRun:
    """Implements `port.RunView`; `settle` carries out a turn's calls at once."""

    runbook: str | None = None
    question: str = "What is wrong?"
    catalog: tuple[CatalogEntry, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    past: list[PastTurn] = field(default_factory=list[PastTurn])
    records: dict[str, ToolBoundaryResult] = field(default_factory=dict[str, ToolBoundaryResult])
    read: list[str] = field(default_factory=list[str])
    """Every id whose result was asked for."""

    @property
    def brief(self) -> RunBrief:
        return RunBrief(
            run_id="run-1",
            workflow_id="casebound-1",
            question=self.question,
            planner=PlannerRef(kind="runbook", name="incident.yaml"),
            runbook=self.runbook,
            catalog=self.catalog,
            sources=self.sources,
            deadline_ms=1_000,
            expires_at_ms=2_000,
        )

    async def past_turns(self) -> Sequence[PastTurn]:
        return list(self.past)

    async def results(self, tool_call_ids: Sequence[str]) -> dict[str, ToolBoundaryResult]:
        self.read += tool_call_ids
        return {call_id: self.records[call_id] for call_id in tool_call_ids if call_id in self.records}

    def settle(self, stored: StoredTurn, answer: Answer) -> None:
        """Carry out a stored turn's calls and remember the turn as past."""
        results: list[CallResult] = []
        for call in stored.turn.calls:
            assert isinstance(call.tool_call_id, str)
            assert isinstance(call.tool_name, str)
            assert isinstance(call.arguments, str)
            record = record_of(call.tool_call_id, call.tool_name, answer(call.tool_name, json.loads(call.arguments)))
            self.records[call.tool_call_id] = record
            results.append(
                CallResult(
                    status=record.status,
                    evidence_status=record.evidence_status,
                    error=record.error,
                )
            )
        self.past.append(
            PastTurn(
                number=stored.input.number,
                mode=stored.input.mode,
                calls=stored.turn.calls,
                results=tuple(results),
                excess_ids=stored.excess_ids,
            )
        )


def record_of(call_id: str, tool: str, answer: Any) -> ToolBoundaryResult:
    if isinstance(answer, CallError):
        return ToolBoundaryResult(
            tool_call_id=call_id,
            tool_name=tool,
            status=InvocationStatus.ERROR,
            evidence_status=EvidenceStatus.ERROR,
            error=answer,
        )
    found = EvidenceStatus.NO_EVIDENCE if answer is None else EvidenceStatus.EVIDENCE_FOUND
    return ToolBoundaryResult(
        tool_call_id=call_id,
        tool_name=tool,
        status=InvocationStatus.READY,
        evidence_status=found,
        agent_result={} if answer is None else answer,
    )


async def take_turn(planner: Planner, run: FakeRun, mode: TurnMode = TurnMode.PLAN, faults: Sequence[str] = ()) -> Turn:
    """Ask for the next turn without carrying it out."""
    return await planner.next_turn(plan_input(len(run.past) + 1, mode, faults=faults), run)


async def follow(planner: Planner, run: FakeRun, answer: Answer, turns_max: int = 20) -> list[Turn]:
    """Ask for turns and carry them out until the report; return them all."""
    turns: list[Turn] = []
    while len(turns) < turns_max:
        plan = plan_input(len(run.past) + 1)
        turn = await planner.next_turn(plan, run)
        turns.append(turn)
        if turn.report is not None:
            return turns
        stored = bound_turn(turn, turn_key=turn_key(plan), plan=plan)
        assert not stored.turn.faults
        assert not stored.turn.excess
        run.settle(stored, answer)
    raise AssertionError(f"no report after {turns_max} turns")


def ids(turn: Turn) -> list[str | None]:
    return [call.tool_call_id for call in turn.calls]


def texts(turn: Turn) -> list[str]:
    return [claim["text"] for claim in turn.report["claims"]]
