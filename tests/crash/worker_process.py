"""A worker in a process of its own, run as `python -m tests.crash.worker_process ORDERS`.

It says on stdout, one line each, what it does; any line on stdin lets it go on from where it waits;
SIGTERM shuts it down; when stdin closes it is gone, so it never outlives its test. Of several orders
each gets a process of its own, forked when everything is imported; a number before each line tells whose it is.

Above: `tests.crash.processes` starts it. Below: `tests.crash.watched`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import sys
import threading
import time

from pydantic import BaseModel, TypeAdapter
from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.converter import casebound_data_converter
from casebound.settings import Settings, WorkerSettings
from casebound.worker import open_worker
from tests.crash.watched import SCRIPT, Point, Points, WatchedPlanner, watched_client, watched_store, watched_tools


class Order(BaseModel):
    """What a worker's process is told."""

    temporal: str
    redis_url: str
    prefix: str
    task_queue: str
    script: str
    """The planner's turns, written by `SCRIPT`."""
    graceful_shutdown_s: float = 0
    die_at: Point | None = None
    hold_at: Point | None = None
    only: str | None = None
    work_s: float = 0


ORDERS: TypeAdapter[list[Order]] = TypeAdapter(list[Order])


async def serve(order: Order, prefix: str = "") -> None:
    """Serve until SIGTERM."""
    points = Points(order.die_at, order.hold_at, order.only, order.work_s, show=lambda text: _say(prefix + text))
    threading.Thread(target=_obey_stdin, args=(points,), daemon=True).start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    client = await Client.connect(order.temporal, data_converter=casebound_data_converter, identity="child")
    redis = connect(order.redis_url)
    async with contextlib.aclosing(redis):
        settings = Settings(worker=WorkerSettings(graceful_shutdown_s=order.graceful_shutdown_s))
        store = await watched_store(RedisBackend(redis), order.prefix, points)
        async with open_worker(
            settings,
            watched_client(client, points),
            store,
            task_queue=order.task_queue,
            tools=watched_tools(points),
            planners={"scripted": WatchedPlanner(SCRIPT.validate_json(order.script), points)},
        ):
            points.say("serving")
            await stop.wait()
            points.say("shutting down")
        await store.arrived()


def serve_each(orders: list[Order]) -> None:
    """Serve each order in a process of its own, and say how each ended."""
    children: dict[int, int] = {}
    for number, order in enumerate(orders):
        pid = os.fork()
        if pid == 0:
            asyncio.run(serve(order, f"{number} "))
            os._exit(0)
        children[pid] = number
    while children:
        pid, status = os.wait()
        _say(f"{children.pop(pid)} ended {os.waitstatus_to_exitcode(status)}")


def _say(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # whole, whoever else writes to the same pipe


def _obey_stdin(points: Points) -> None:
    for _ in sys.stdin:
        points.release()
    os._exit(1)


if __name__ == "__main__":
    # The SDK aborts an interpreter that exits while one of its threads still releases an object.
    atexit.register(time.sleep, 0.1)
    ordered = ORDERS.validate_json(sys.argv[1])
    if len(ordered) > 1:
        serve_each(ordered)
    else:
        asyncio.run(serve(ordered[0]))
