"""Round trips to the store, counted by the server: `python -m bench.round_trips`.

A server answers what arrived together with one write, so its count of writes to clients
(`total_writes_processed` of INFO) is the number of round trips as long as answers are small. Beside
it stands by name what was carried out (`commandstats`; commands inside a script are among them, and
are no round trips; `eval` is the first use of a script). First the boundary alone, then a whole run.
"""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from redis.asyncio import Redis

from bench.peers.task import log_text
from bench.setting import Setting, print_table, servers
from boundary.preflight import RunScope
from boundary.registry import ToolRegistry
from boundary.tool_boundary import ToolBoundary
from tests.support.attempts import FakeAttempt
from tests.support.calls import admitted
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import ANY_OBJECT, FakeTool, show_raw

CALLS = 50
SIZES = (1_000, 100_000, 1_000_000)
TURNS = 10


@dataclass(frozen=True)
class Counts:
    """The server's own counts at one moment."""

    answered: int
    """Writes to clients."""
    commands: dict[str, int]
    """Commands by name, those inside scripts included."""


async def count(watcher: Redis) -> Counts:
    """Read the counts; the answer to this is counted after it."""
    told = await watcher.info("all")
    commands = {name.removeprefix("cmdstat_"): int(of["calls"]) for name, of in told.items() if name[:8] == "cmdstat_"}
    return Counts(int(told["total_writes_processed"]), commands)


async def since(watcher: Redis, before: Counts, units: int) -> list[str | float | int]:
    """Say what was answered since, in all and per unit, and what was carried out."""
    after = await count(watcher)
    answered = after.answered - before.answered - 1
    grown = {name: number - before.commands.get(name, 0) for name, number in after.commands.items()}
    names = ", ".join(f"{name} {more}" for name, more in sorted(grown.items()) if more and name != "info")
    return [answered, answered / units, names]


async def measure() -> None:
    """Count and print."""
    async with servers() as setting:
        watcher = Redis.from_url(setting.redis_url)
        async with contextlib.aclosing(watcher):
            await watcher.ping()
            calls_made = [[f"{size} bytes", *await _calls(setting, watcher, size)] for size in SIZES]
            whole = [["a run", *await _run(setting, watcher)]]
    head = ["", "round trips", "each", "carried out by name"]
    print_table(f"The boundary alone, {CALLS} calls of each size", head, calls_made)
    print_table(f"A whole run, {TURNS} turns of one call", head, whole)


async def _calls(setting: Setting, watcher: Redis, size: int) -> list[str | float | int]:
    tool = FakeTool(
        work=lambda arguments, context: {"text": log_text(size)},
        show=lambda arguments, raw, budget: show_raw(arguments, {"bytes": size}, budget),
    )
    with ThreadPoolExecutor(1) as pool:
        boundary = ToolBoundary(ToolRegistry([tool]), setting.store.invocations, pool)
        before = await count(watcher)
        for number in range(CALLS):
            asked = admitted(f"call_{number}", run_id=f"run-{size}", grant_bytes=4_000_000)
            outcome = await boundary.invoke(asked, RunScope(asked.run_id, cancelled=False), FakeAttempt())
            assert outcome.error is None, outcome
        return await since(watcher, before, CALLS)


async def _run(setting: Setting, watcher: Redis) -> list[str | float | int]:
    harness = Harness(setting.client, setting.store, "bench-round-trips")
    tool = FakeTool("search_logs", schema=ANY_OBJECT)
    script = [calls(call(f"step-{n}", "search_logs", {"q": n})) for n in range(TURNS)]
    async with harness.worker([*script, report(claim("Seen.", cite("step-0", pointer="/echo/q")))], [tool]):
        before = await count(watcher)
        await (await harness.start()).result()
        return await since(watcher, before, TURNS)


if __name__ == "__main__":
    asyncio.run(measure())
