"""The state of one run, and what people are shown of it. Everything the workflow decides is decided from here."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from activities.contracts import (
    RECORD_TTL_MARGIN_S,
    CallProgress,
    CallResult,
    FailedCall,
    ListedCall,
    Pause,
    RecentCall,
    RunInput,
    RunProgress,
    ToolLimits,
    TurnMode,
)
from boundary.contracts import CallError, EvidenceStatus, InvocationStatus, ToolCall, ToolCallOutcome
from boundary.errors import ErrorCode
from workflows.admission import Gate, Repetition, legal_id, tool_label
from workflows.budget import Ledger
from workflows.conclusion import LISTED_MAX, gather_until_ms
from workflows.marks import call_mark, id_mark
from workflows.recent_calls import RecentCalls
from workflows.summaries import short_arguments

SHOWN_CALLS = 20
"""Latest calls in progress and current details."""

Phase = Literal["opening", "planning", "calling", "checking", "closing", "closed"]


@dataclass
class RunState:
    """One run's state. Times are Unix milliseconds of workflow time."""

    input: RunInput
    run_id: str
    named_run_id: str
    """Given to activities; empty in the chain's first execution, whose own run id says it."""
    started_ms: int
    ledger: Ledger
    tools: dict[str, ToolLimits] = field(default_factory=dict)
    store_id: str = ""
    index_expires_ms: int | None = None
    """When the run's index, which a reset found in place, expires."""
    phase: Phase = "opening"
    mode: TurnMode = TurnMode.PLAN
    turn: int = 0
    """Number of the latest turn."""
    parent: str | None = None
    """Key of the latest turn."""
    results: tuple[CallResult, ...] = ()
    """Of the latest turn's calls."""
    stopped: str | None = None
    """Reason of a `stop`, once someone asked for it."""
    cancelled: bool = False
    cut_off: bool = False
    """The end of the gathering came while a call ran, or before it could do anything."""
    spent: str | None = None
    """The limit of the run that a call was refused for."""
    paused: Pause | None = None
    extended_ms: int = 0
    """By how much people moved the deadline."""
    notes: list[str] = field(default_factory=list)
    """Hints of people that the planner was not given yet."""
    seen: set[str] = field(default_factory=set)
    """Marks of the legal ids requested in this run, refused ones among them."""
    digests: dict[str, str | None] = field(default_factory=dict)
    """Record digest of each admitted call, by its id's mark; None while it is not settled for sure."""
    recent: RecentCalls = field(default_factory=RecentCalls)
    """READY calls by their mark: what would be a repetition."""
    listed: list[ListedCall] = field(default_factory=list)
    failed: list[FailedCall] = field(default_factory=list)
    failed_more: int = 0
    unsettled: int = 0
    shown: deque[CallProgress] = field(default_factory=lambda: deque(maxlen=SHOWN_CALLS))

    @property
    def deadline_ms(self) -> int:
        """When the run must be over: as asked for, and with its evidence still there."""
        asked = self.started_ms + round(self.input.deadline_s * 1000) + self.extended_ms
        return min(asked, self.latest_ms)

    @property
    def latest_ms(self) -> int:
        """The latest deadline that its evidence outlives."""
        return self.expires_ms - RECORD_TTL_MARGIN_S * 1000

    @property
    def gather_ms(self) -> int:
        """Until when evidence is gathered."""
        return gather_until_ms(self.started_ms, self.deadline_ms)

    @property
    def expires_ms(self) -> int:
        """When the run's records expire."""
        return self.index_expires_ms or self.started_ms + round(self.input.ttl_s * 1000)

    @property
    def repeat_window_ms(self) -> int:
        """For so long a READY call is not made again; 0: repetitions are calls like any other."""
        return round(self.input.limits.repeat_window_s * 1000)

    @property
    def interrupted(self) -> bool:
        """Tell whether running calls and planning turns are to be left."""
        return self.cancelled or self.stopped is not None

    def gate(self, now_ms: int) -> Gate:
        """What admission looks at now."""
        return Gate(
            ledger=self.ledger,
            tools=self.tools,
            seen=self.seen,
            recent=self.recent.calls,
            repeat_window_ms=self.repeat_window_ms,
            now_ms=now_ms,
            deadline_ms=self.gather_ms,
            active=self.stopped is None,
            cancelled=self.cancelled,
        )

    def refuse(self, call: ToolCall, error: CallError) -> CallResult:
        """Note a refused call; returns its one result."""
        call_id = legal_id(call)
        if error.code is ErrorCode.BUDGET_EXCEEDED and self.spent is None:
            self.spent = self.ledger.exhausted()
        self._fail(call_id, tool_label(call), error)
        self._show(call, state="refused", error=error)
        return CallResult.refused(error)

    def refuse_excess(self, count: int, error: CallError) -> None:
        """Note the calls a turn had beyond its limits, as one line."""
        self._fail(None, f"({count} calls)", error)

    def begin(self, call: ToolCall, call_id: str, call_index: int) -> None:
        """Note an admitted call."""
        self.digests[id_mark(call_id)] = None
        self._show(call, state="running", call_index=call_index)

    def repeat(self, call: ToolCall, first: Repetition) -> CallResult:
        """Note a call that repeats one; its result names the first call, which is what may be cited."""
        self.recent.repeated(first.mark)
        self._show(call, state="repeated", evidence_status=first.call.evidence_status)
        return CallResult(evidence_status=first.call.evidence_status, stored=False, repeats=first.call.tool_call_id)

    def settle(self, call: ToolCall, call_index: int, outcome: ToolCallOutcome, now_ms: int) -> CallResult:
        """Note the outcome of an admitted call; returns its one result."""
        call_id, name = legal_id(call) or "", tool_label(call)
        if outcome.record_sha256 is not None:
            self.digests[id_mark(call_id)] = outcome.record_sha256
        if len(self.listed) < LISTED_MAX:
            self.listed.append(
                ListedCall(
                    tool_call_id=call_id,
                    tool_name=name,
                    status=outcome.status,
                    evidence_status=outcome.evidence_status,
                )
            )
        if outcome.error is not None:
            self._fail(call_id, name, outcome.error)
            self.cut_off = self.cut_off or outcome.error.code is ErrorCode.DEADLINE_EXCEEDED
        self._remember(call, call_id, outcome, now_ms)
        self._show_outcome(call_index, outcome)
        return CallResult(
            status=outcome.status,
            evidence_status=outcome.evidence_status,
            error=outcome.error,
            stored=outcome.record_sha256 is not None,
        )

    def _remember(self, call: ToolCall, call_id: str, outcome: ToolCallOutcome, now_ms: int) -> None:
        """Keep what would be repeated; what is older than the window may be asked again."""
        self.recent.forget_before(now_ms - self.repeat_window_ms)
        mark = call_mark(tool_label(call), call.arguments)
        if mark is not None and self.repeat_window_ms and outcome.status is InvocationStatus.READY:
            kept = RecentCall(tool_call_id=call_id, ready_ms=now_ms, evidence_status=outcome.evidence_status)
            self.recent.remember(mark, kept)

    def progress(self) -> RunProgress:
        """Answer the `progress` query."""
        return RunProgress(
            run_id=self.run_id,
            state=self.phase,
            mode=self.mode,
            turn=self.turn,
            calls=tuple(self.shown),
            calls_total=self.ledger.tool_calls,
            calls_running=self.ledger.running,
            budget=self.ledger.used(),
            deadline_ms=self.deadline_ms,
            paused=None if self.interrupted or self.mode is not TurnMode.PLAN else self.paused,
            notes_pending=len(self.notes),
        )

    def _fail(self, call_id: str | None, tool_name: str, error: CallError) -> None:
        if len(self.failed) < LISTED_MAX:
            self.failed.append(FailedCall(tool_call_id=call_id, tool_name=tool_name, error=error))
        else:
            self.failed_more += 1

    def _show(
        self,
        call: ToolCall,
        *,
        state: Literal["running", "refused", "repeated"],
        call_index: int | None = None,
        error: CallError | None = None,
        evidence_status: EvidenceStatus | None = None,
    ) -> None:
        self.shown.append(
            CallProgress(
                call_index=call_index,
                tool_call_id=legal_id(call),
                tool_name=tool_label(call),
                arguments=short_arguments(call.arguments),
                state=state,
                evidence_status=evidence_status,
                error=error,
            )
        )

    def _show_outcome(self, call_index: int, outcome: ToolCallOutcome) -> None:
        for place, line in enumerate(self.shown):
            if line.call_index == call_index:
                self.shown[place] = line.model_copy(
                    update={
                        "state": "ERROR" if outcome.error is not None else "READY",
                        "evidence_status": outcome.evidence_status,
                        "error": outcome.error,
                        "preview": outcome.preview,
                    }
                )
