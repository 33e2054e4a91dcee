"""How soon a cancelled run is cancelled: `python -m bench.cancel_latency [ROUNDS]`.

A run is cancelled 0.4 to 0.7 s after its tool began to work, so that the cancellation falls anywhere
between two heartbeats. Measured from the cancel request: until the tool is told to stop, until the
record says CANCELLED (looked at every 2 ms), and until the run has ended with its summary stored.
Three tools: one on the event loop, one in a thread that looks at its stop flag, and one in a thread
that looks at nothing and goes on for 3 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
import threading
import time
from dataclasses import dataclass, field

from temporalio.client import WorkflowFailureError

from bench.setting import Rounds, Setting, median, print_table, servers
from boundary.contracts import JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import ToolContext
from tests.support.runs import Harness, RunHandle, call, calls
from tests.support.tools import FakeAsyncTool, FakeTool

DEAF_S = 3.0


@dataclass
class Watched:
    """When a tool began, and when it was told to stop."""

    began: threading.Event = field(default_factory=threading.Event)
    told: float | None = None

    async def on_the_loop(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Wait until cancelled."""
        self.began.set()
        try:
            return await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.told = time.perf_counter()
            raise

    def in_a_thread(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Wait until told to stop."""
        self.began.set()
        while not context.stop.is_set():
            time.sleep(0.002)
        self.told = time.perf_counter()
        return None

    def deaf(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """Work on whatever happens."""
        self.began.set()
        time.sleep(DEAF_S)
        return None

    def tool(self, kind: str) -> FakeTool:
        """Make the tool of that kind."""
        if kind == "async":
            return FakeAsyncTool(work_async=self.on_the_loop)
        return FakeTool(work=self.in_a_thread if kind == "thread" else self.deaf)


@dataclass(frozen=True)
class Cancelled:
    """Seconds after the cancel request."""

    told: float | None
    recorded: float
    ended: float


async def cancel_one(setting: Setting, kind: str, number: int) -> Cancelled:
    """Cancel a run while its tool works."""
    watched = Watched()
    harness = Harness(setting.client, setting.store, f"bench-cancel-{kind}-{number}")
    async with harness.worker([calls(call("one"))], [watched.tool(kind)]):
        handle = await harness.start()
        while not watched.began.is_set():
            await asyncio.sleep(0.002)
        await asyncio.sleep(random.uniform(0.4, 0.7))
        start = time.perf_counter()
        recording = asyncio.create_task(_recorded(setting, handle))
        await handle.cancel()
        with contextlib.suppress(WorkflowFailureError):
            await handle.result()
        ended = time.perf_counter() - start
        return Cancelled(None if watched.told is None else watched.told - start, await recording - start, ended)


async def _recorded(setting: Setting, handle: RunHandle) -> float:
    run_id = handle.first_execution_run_id
    assert run_id is not None
    while True:
        now_ms = await setting.store.backend.now_ms()
        stored = (await setting.store.invocations.read(run_id, ["one"], now_ms=now_ms, agent=False)).get("one")
        if stored is not None and stored.record.error is not None:
            assert stored.record.error.code is ErrorCode.CANCELLED, stored.record
            return time.perf_counter()
        await asyncio.sleep(0.002)


async def measure(rounds: int) -> None:
    """Cancel and print."""
    done: dict[str, list[Cancelled]] = {"async": [], "thread": [], "deaf thread": []}
    async with servers() as setting:
        for number in Rounds(rounds):
            for kind in random.sample(list(done), len(done)):
                done[kind].append(await cancel_one(setting, kind, number))
    rows: list[list[str | float]] = []
    for kind, measured in done.items():
        told = [one.told for one in measured if one.told is not None]
        recorded, ended = [one.recorded for one in measured], [one.ended for one in measured]
        rows.append(
            [
                kind,
                median(told) if told else "never",
                median(recorded),
                max(recorded),
                median(ended),
                max(ended),
            ]
        )
    head = ["tool", "told, s", "CANCELLED recorded, s", "longest", "run ended, s", "longest"]
    print_table(f"From the cancel request, {len(done['async'])} runs each", head, rows)


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
