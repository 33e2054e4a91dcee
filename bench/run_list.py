"""How long a list of runs takes where there are many: `python -m bench.run_list`.

10,000 runs that nobody serves are started on a dev server in memory; then the latest 50 are listed, those
of one owner, and those with a word in their question, which is looked for among all of them.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence

from temporalio.client import Client

from activities.contracts import RunInput
from bench.setting import print_table, servers
from casebound.client import start_run
from casebound.run_list import Wanted, from_temporal

RUNS = 10_000
AT_ONCE = 20
ROUNDS = 5


async def start(client: Client, numbers: Sequence[int]) -> None:
    """Start runs of a hundred owners."""
    for number in numbers:
        request = RunInput(question=f"Why did host {number} stop?", owner=f"owner-{number % 100}")
        await start_run(client, request, task_queue="nobody", source="casebound.toml")


async def listed(client: Client, wanted: Wanted, limit: int) -> tuple[int, float]:
    """List up to a limit; how many there were, and the median of the rounds' seconds."""
    count, seconds = 0, list[float]()
    for _ in range(ROUNDS):
        count, begun = 0, time.perf_counter()
        async for _run in from_temporal(client, wanted):
            count += 1
            if count == limit:
                break
        seconds.append(time.perf_counter() - begun)
    return count, statistics.median(seconds)


async def measure() -> None:
    """Start the runs, list them and print how long it took."""
    async with servers() as setting:
        await asyncio.gather(*[start(setting.client, range(first, RUNS, AT_ONCE)) for first in range(AT_ONCE)])
        rows = [
            [what, *await listed(setting.client, wanted, limit)]
            for what, wanted, limit in (
                ("the latest 50", Wanted(), 50),
                ("of one owner", Wanted(owner="owner-7"), 1000),
                ("with a word, among all", Wanted(text="host 42 "), 50),
                ("all", Wanted(), RUNS),
            )
        ]
    print_table(f"Lists of {RUNS} runs", ["what", "runs", "seconds"], rows)


if __name__ == "__main__":
    asyncio.run(measure())
