"""How a paused run waits: running calls end, nothing new starts, the deadline runs on."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from temporalio import workflow

from workflows.clock import now_ms
from workflows.run_state import RunState


async def while_paused(state: RunState) -> None:
    """Wait until someone resumes, stops or cancels the run, or the time for gathering is over."""
    while state.paused is not None and not state.interrupted and now_ms() < state.gather_ms:
        await _changed(state, state.gather_ms)


async def _changed(state: RunState, until_ms: int) -> None:
    with contextlib.suppress(TimeoutError):
        await workflow.wait_condition(
            lambda: state.paused is None or state.interrupted or state.gather_ms != until_ms,
            timeout=timedelta(milliseconds=until_ms - now_ms()),
            timeout_summary="paused: the run concludes then",
        )
