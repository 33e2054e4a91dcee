"""A worker to be killed: `python -m bench.worker_process ADDRESS REDIS_URL PREFIX TASK_QUEUE`.

Its tool counts up a key and never answers. It is gone when its stdin closes, so it never outlives
`bench.crash_recovery`, which starts it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading

from redis.asyncio import Redis
from temporalio.client import Client

from activities.planners.scripted import ScriptedPlanner
from boundary.contracts import JsonObject, JsonValue
from boundary.redis_backend import RedisBackend, connect
from boundary.tools import ToolContext
from casebound.converter import casebound_data_converter
from casebound.worker import store_over
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool

SCRIPT = (
    calls(call("one", arguments={"q": 1})),
    report(claim("q was one", cite("one", pointer="/echo/q", quote="1"))),
)
"""What every worker's planner follows."""


def entered_key(task_queue: str) -> str:
    """Name the key that counts the calls inside the tool."""
    return f"entered:{task_queue}"


async def serve(address: str, redis_url: str, prefix: str, task_queue: str) -> None:
    """Serve until killed."""
    client = await Client.connect(address, data_converter=casebound_data_converter, identity="cb-doomed")
    counter = Redis.from_url(redis_url)

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        await counter.incr(entered_key(task_queue))
        return await asyncio.Event().wait()

    store = await store_over(RedisBackend(connect(redis_url)), prefix)
    async with Harness(client, store, task_queue).worker(ScriptedPlanner(SCRIPT), [FakeAsyncTool(work_async=work)]):
        await asyncio.Event().wait()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    asyncio.run(serve(*sys.argv[1:]))
