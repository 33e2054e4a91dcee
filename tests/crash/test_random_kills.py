"""Workers are killed, stopped and frozen at random moments under load: whatever the moment, every run holds.

By default a few seconds with a fixed seed; with CASEBOUND_SOAK=1 a random seed, told on stdout, for
CASEBOUND_CHAOS_MINUTES (10). CASEBOUND_CHAOS_SEED repeats a seed; the moments it meets are its own each time.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest

from tests.crash.load import Tally, several_calls, under_load
from tests.crash.processes import STARTED_S, WorkerProcess
from tests.crash.stage import Stage

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
MINUTES = float(os.environ.get("CASEBOUND_CHAOS_MINUTES", "10")) if SOAK else 0.1
SEED = int(os.environ.get("CASEBOUND_CHAOS_SEED", str(Random().randrange(10**6)) if SOAK else "1"))

WIDTH, PARALLEL = 8, 3
"""Runs at a time, and calls of one at a time."""
WORK_S = 0.4
GRACEFUL_S = 0.1
"""Less than a tool takes: SIGTERM takes attempts away, too."""

FATES = ("SIGKILL", "SIGTERM", "freeze")
FREEZE_S = (0.5, 9.0)
"""From a hiccup to more than the heartbeat time-out: the worker that is thawed is a zombie then."""

AIMED = 0.5
"""How often a worker is struck while a tool of it runs, for the rest at any moment."""

AIM_S = 60.0

pytestmark = pytest.mark.timeout(60 * MINUTES + 300)


@dataclass
class Chaos:
    """Two workers, what happens to them, and what they and their predecessors said."""

    stage: Stage
    random: Random
    workers: list[WorkerProcess] = field(default_factory=list)
    gone: list[WorkerProcess] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter[str])

    async def add(self) -> None:
        """Start one more worker."""
        self.workers.append(self.stage.process(several_calls(), graceful_shutdown_s=GRACEFUL_S, work_s=WORK_S))
        await self.workers[-1].serves()

    async def strike(self, fate: str) -> None:
        """Do it to one of the workers; at the end there are two that serve."""
        struck = self.workers.pop(self.random.randrange(len(self.workers)))
        if not SOAK or self.random.random() < AIMED:
            await struck.says_again("executed probe", within_s=AIM_S)
        self.done[fate] += 1
        if fate == "freeze":
            struck.send(signal.SIGSTOP)
            await asyncio.sleep(self.random.uniform(*FREEZE_S) if SOAK else FREEZE_S[0])
            struck.send(signal.SIGCONT)
            self.workers.append(struck)
            return
        struck.send(signal.Signals[fate])
        expected = -signal.SIGKILL if fate == "SIGKILL" else 0
        assert await struck.ends(within_s=STARTED_S) == expected
        self.gone.append(struck)
        await self.add()

    def count(self, text: str) -> int:
        """How often a worker said it."""
        return sum(process.said.count(text) for process in (*self.gone, *self.workers))


@pytest.mark.proves("INV-LAST-BEGIN-WINS", "INV-ONE-RECORD", "INV-SETTLED-NEVER-CHANGES", "INV-NONE-PROJECTING")
async def test_random_kills(stage: Stage) -> None:
    """Each run reports; each call has one record that one owner settled, begun before each execution, charged once."""
    print(f"\nrandom kills: CASEBOUND_CHAOS_SEED={SEED}, {MINUTES:g} minutes")
    chaos = Chaos(stage, Random(SEED))
    await chaos.add()
    await chaos.add()
    end = time.monotonic() + 60 * MINUTES
    async with under_load(stage, WIDTH) as tally:
        while time.monotonic() < end or len(chaos.done) < len(FATES):
            await asyncio.sleep(chaos.random.uniform(0.1, 1.5))  # the moment is the point
            missing = [fate for fate in FATES if fate not in chaos.done]
            await chaos.strike(chaos.random.choice(missing or FATES))
    judge(chaos, tally)
    print(f"random kills: {dict(chaos.done)}, {tally}, stale settles {chaos.count('settle failed: StaleAttempt')}")


def judge(chaos: Chaos, tally: Tally) -> None:
    """Hold what the workers said against what the records say."""
    assert tally.runs >= WIDTH
    assert tally.begun > tally.calls, "no call was taken over: nothing was tried"
    executed = chaos.count("executed probe") + chaos.count("executed probe_async")
    assert executed <= tally.begun, "an execution without a begin"
    assert chaos.count("settled") <= tally.calls, "a record was settled twice"
    assert tally.begun - executed <= chaos.done.total() * WIDTH * PARALLEL, "more begins than lost workers explain"
