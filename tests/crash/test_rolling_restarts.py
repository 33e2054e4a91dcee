"""Workers are replaced one after the other while runs go on, as a deployment does; CASEBOUND_SOAK=1: for long."""

from __future__ import annotations

import os
import signal

import pytest

from tests.crash.load import several_calls, under_load
from tests.crash.processes import STARTED_S, WorkerProcess
from tests.crash.stage import Stage

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
ROUNDS = 20 if SOAK else 1

GRACEFUL_S = 20.0
"""More than any tool takes, on a busy machine too."""

WORK_S = 0.4

BUSY_S = 60.0
"""Longest wait for a worker under load to start a tool."""

SHUT_OR_ASKED = (" cancelled worker_shutdown", " cancelled cancel_requested")
TAKEN_OVER = ("settle failed: StaleAttempt", "found it settled by another")

pytestmark = pytest.mark.timeout(150 * ROUNDS)


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST", "INV-NONE-PROJECTING")
async def test_a_rolling_restart_under_load_loses_and_cancels_nothing(stage: Stage) -> None:
    """SIGTERM to one worker after the other: each leaves with code 0, every tool's result is kept, every run proved."""
    workers: list[WorkerProcess] = []
    gone: list[WorkerProcess] = []

    async def add() -> None:
        workers.append(stage.process(several_calls(), graceful_shutdown_s=GRACEFUL_S, work_s=WORK_S))
        await workers[-1].serves()

    await add()
    await add()
    async with under_load(stage, width=10) as tally:
        for _ in range(2 * ROUNDS):
            leaving = workers.pop(0)
            await leaving.says_again("executed probe", within_s=BUSY_S)  # so that there is something to lose
            leaving.send(signal.SIGTERM)
            assert await leaving.ends(within_s=STARTED_S) == 0
            gone.append(leaving)
            await add()
    said = [text for process in (*gone, *workers) for text in process.said]
    assert not [text for text in said if text.endswith(SHUT_OR_ASKED)]
    assert SOAK or tally.late == 0, tally
    # A machine so busy that heartbeats are missed lets an attempt be taken over; the attempt then says so.
    taken = [text for text in said if " cancelled " in text or text in TAKEN_OVER]
    assert tally.begun - tally.calls <= len(taken), tally
    assert said.count("settled") == tally.calls
    assert tally.runs >= 10
    print(f"\nrolling restarts: {len(gone)} restarts, {tally}")
