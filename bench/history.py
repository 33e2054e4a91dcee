"""History of a run of ten sequential calls of 100 KB: `python -m bench.history`.

Prints the server's `history_size_bytes`, the number of events and the bytes per event type. The
run has a planner turn before each call, a 2 KB runbook text in its input, three claims with
citations, and the checked report as its result.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from temporalio.api.enums.v1 import EventType

from boundary.memory_backend import MemoryBackend
from casebound.converter import casebound_data_converter
from casebound.worker import store_over
from tests.support import temporal
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import ANY_OBJECT, FakeTool, show_raw

CALLS = 10
RESULT_BYTES = 100_000
RUNBOOK_BYTES = 2_048


async def measure() -> None:
    """Carry out the run and print what its history holds."""
    async with await temporal.start_dev_server() as env:
        client = await env.connect_client(data_converter=casebound_data_converter, identity="cb-12345")
        harness = Harness(client, await store_over(MemoryBackend(), "casebound"), "casebound")
        raw = {"matched": 286, "text": "x" * RESULT_BYTES}
        tool = FakeTool("search_logs", work=lambda arguments, context: raw, show=show_raw, schema=ANY_OBJECT)
        wanted = {"source": "app", "pattern": "error [0-9]+", "limit": 50}
        script = [calls(call(f"step-{n}", "search_logs", wanted)) for n in range(CALLS)]
        claims = [claim(f"Finding {n} of the run.", cite(f"step-{n}", pointer="/matched")) for n in range(3)]
        async with harness.worker([*script, report(*claims)], [tool]):
            handle = await harness.start(runbook="#" * RUNBOOK_BYTES)
            result = await handle.result()
        info = (await handle.describe()).raw_description.workflow_execution_info
        print(f"{result.outcome} {result.verdict}: {info.history_size_bytes} bytes in {info.history_length} events")
        size, count = Counter[str](), Counter[str]()
        for event in (await handle.fetch_history()).events:
            kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_")
            size[kind] += event.ByteSize()
            count[kind] += 1
        for kind, total in size.most_common():
            print(f"{kind:32} {count[kind]:4} events {total:6} bytes {total // count[kind]:5} each")


if __name__ == "__main__":
    asyncio.run(measure())
