"""A worker of another version, run as `python -P -m tests.replay.deployed_worker ORDER`; it serves until it is killed.

What version it is, is for `PYTHONPATH` to say: the first `workflows` there is the one it serves.
"""

from __future__ import annotations

import asyncio
import sys

from pydantic import BaseModel
from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.converter import casebound_data_converter
from casebound.settings import Settings, WorkerSettings
from casebound.worker import open_worker, store_over
from tests.replay.deployed import SCRIPT
from tests.support.runs import ScriptedPlanner
from tests.support.tools import FakeTool


class Order(BaseModel):
    """What a worker's process is told."""

    temporal: str
    redis_url: str
    prefix: str
    task_queue: str
    deployment: str | None = None
    build_id: str = ""
    versioning: str = "auto-upgrade"


async def serve(order: Order) -> None:
    """Serve for ever."""
    client = await Client.connect(order.temporal, data_converter=casebound_data_converter, identity="child")
    store = await store_over(RedisBackend(connect(order.redis_url)), order.prefix)
    settings = Settings(worker=WorkerSettings(graceful_shutdown_s=0))
    planners = {"scripted": ScriptedPlanner(SCRIPT)}
    async with open_worker(settings, client, store, task_queue=order.task_queue, tools=[FakeTool()], planners=planners):
        print("serving", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Order.model_validate_json(sys.argv[1])))
