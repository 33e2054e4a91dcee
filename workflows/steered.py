"""The part of the run that people reach: the progress query and the updates that steer it.

Above: clients, through Temporal. Below: `steering` says what makes no sense; `agent_run`, which
tells the run's story, looks at the state these handlers change. No handler waits for anything.
"""

from __future__ import annotations

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from activities.contracts import (
    ExtendInput,
    ExtendResult,
    NoteInput,
    NoteResult,
    Pause,
    PauseInput,
    PauseResult,
    ResumeInput,
    ResumeResult,
    RunProgress,
    StopInput,
    StopResult,
)
from boundary.contracts import valid_unicode
from workflows import steering
from workflows.clock import now_ms
from workflows.run_state import Phase, RunState
from workflows.summaries import current_details


class SteeredRun:
    """A run that people look at and steer."""

    _state: RunState

    @workflow.query
    def progress(self) -> RunProgress:
        """Say what the run is doing, its latest calls and what is left of its budget."""
        return self._state.progress()

    @workflow.update
    def stop(self, request: StopInput) -> StopResult:
        """Conclude now, with the evidence at hand."""
        before = self._state.phase
        self._state.stopped = request.reason or "someone asked the run to conclude"
        self._show()
        return StopResult(state=before)

    @stop.validator
    def _stop_makes_sense(self, request: StopInput) -> None:
        _refuse(steering.stop_refusal(self._state))

    @workflow.update
    def pause(self, request: PauseInput) -> PauseResult:
        """Let running calls end and start no new ones; the deadline runs on."""
        state = self._state
        state.paused = Pause(since_ms=now_ms(), by=valid_unicode(request.by), reason=valid_unicode(request.reason))
        self._show()
        return PauseResult(calls_running=state.ledger.running, gather_until_ms=state.gather_ms)

    @pause.validator
    def _pause_makes_sense(self, request: PauseInput) -> None:
        _refuse(steering.pause_refusal(self._state, now_ms()))

    @workflow.update
    def resume(self, request: ResumeInput) -> ResumeResult:
        """Let a paused run go on."""
        state = self._state
        since_ms = state.paused.since_ms if state.paused is not None else now_ms()
        state.paused = None
        self._show()
        return ResumeResult(paused_ms=now_ms() - since_ms, gather_until_ms=state.gather_ms)

    @resume.validator
    def _resume_makes_sense(self, request: ResumeInput) -> None:
        _refuse(steering.resume_refusal(self._state))

    @workflow.update
    def extend(self, request: ExtendInput) -> ExtendResult:
        """Move the deadline; the evidence's expiry stays."""
        state = self._state
        state.extended_ms += _ms(request.seconds)
        self._show()
        return ExtendResult(deadline_ms=state.deadline_ms, gather_until_ms=state.gather_ms, latest_ms=state.latest_ms)

    @extend.validator
    def _extend_makes_sense(self, request: ExtendInput) -> None:
        _refuse(steering.extend_refusal(self._state, now_ms(), _ms(request.seconds)))

    @workflow.update
    def note(self, request: NoteInput) -> NoteResult:
        """Give the planner a hint with its next turn."""
        state = self._state
        state.notes.append(valid_unicode(request.text.strip()))
        self._show()
        return NoteResult(notes_pending=len(state.notes), turn=state.turn + 1)

    @note.validator
    def _note_makes_sense(self, request: NoteInput) -> None:
        _refuse(steering.note_refusal(self._state, now_ms(), request.text))

    def _show(self, phase: Phase | None = None) -> None:
        """Tell what the run is doing, where people look for it in the Temporal UI."""
        self._state.phase = phase or self._state.phase
        asked = self._state.input
        details = current_details(self._state.progress(), asked.question, asked.owner)
        workflow.set_current_details(details)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _refuse(why: str | None) -> None:
    if why is not None:
        raise ApplicationError(why)
