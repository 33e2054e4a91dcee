"""`casebound worker` serves runs on servers of your own; `casebound up` on the embedded stack."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from boundary.redaction import Redactor
from casebound.cli_errors import Exit, UsageError, say, tell
from casebound.commands.interrupts import interrupts
from casebound.commands.session import attaches, embedded_task_queue, open_checked_store
from casebound.commands.waiting import once_it_answers, unless_pressed
from casebound.logs import log_to
from casebound.settings import CONFIG_NAME, Settings, load_settings
from casebound.stack import open_stack
from casebound.temporal import RetriesInBrief, connect_configured, connect_local

if TYPE_CHECKING:
    from temporalio.client import Client

    from casebound.worker import Store


async def worker(config: Path | None) -> int:
    """Serve runs until SIGTERM or Ctrl-C; running tools then get the graceful time."""
    settings = load_settings(config)
    handler = logging.StreamHandler()
    handler.addFilter(RetriesInBrief())
    log_to(handler, logging.INFO, Redactor(settings.secret_values()))
    if not attaches(settings):
        raise UsageError("set TEMPORAL_ADDRESS and REDIS_URL to the servers to work for; `casebound up` needs neither")
    from casebound.worker import open_worker

    with interrupts() as pressed:
        async with AsyncExitStack() as opened:
            press = asyncio.create_task(pressed.get())
            servers = await unless_pressed(_servers(settings, opened), press)
            if servers is None:
                say("worker: stopped before its servers answered")
                return Exit.OK
            client, store = servers
            queue = settings.worker.task_queue
            await opened.enter_async_context(open_worker(settings, client, store, task_queue=queue))
            say(f"worker: task queue {queue!r}, namespace {client.namespace!r}, {_sources(settings)}")
            await press
            say("worker: stopping, running tools get their time")
    return Exit.OK


async def _servers(settings: Settings, opened: AsyncExitStack) -> tuple[Client, Store]:
    """Open both connections; a worker is often started together with its servers, and before they listen."""
    patience = settings.worker.wait_for_servers_s
    client = await once_it_answers(connect_configured, seconds=patience)
    return client, await once_it_answers(lambda: open_checked_store(settings, opened), seconds=patience)


async def up(config: Path | None) -> int:
    """Run the embedded stack and a worker until Ctrl-C."""
    settings = load_settings(config)
    log_to(logging.StreamHandler(), logging.WARNING, Redactor(settings.secret_values()))
    if attaches(settings):
        raise UsageError("`up` starts servers of its own: unset TEMPORAL_ADDRESS and REDIS_URL, and [store] url")
    from casebound.worker import open_worker

    with interrupts() as pressed:
        async with AsyncExitStack() as opened:
            stack = await opened.enter_async_context(open_stack(say=say))
            settings = settings.with_store(stack.redis_url).on_one_worker()
            client = await connect_local(stack.temporal_address)
            store = await open_checked_store(settings, opened)
            queues = dict.fromkeys((settings.worker.task_queue, embedded_task_queue(settings)))
            for queue in queues:
                await opened.enter_async_context(open_worker(settings, client, store, task_queue=queue))
            print(f"Temporal UI  {stack.ui_url}")
            print(f"attach with  TEMPORAL_ADDRESS={stack.temporal_address} REDIS_URL={stack.redis_url}")
            print(f"serving      {_sources(settings)}; Ctrl-C ends", flush=True)
            ended = await _pressed_or_lost(pressed, stack.lost())
            if ended:
                tell(f"the embedded stack was lost: {ended}")
                return Exit.FAILED
            say("stopping")
    return Exit.OK


async def _pressed_or_lost(pressed: asyncio.Queue[int], lost: asyncio.Future[str]) -> str:
    """Wait for an interrupt (empty answer) or the end of the stack (the reason)."""
    press = asyncio.create_task(pressed.get())
    await asyncio.wait({press, lost}, return_when=asyncio.FIRST_COMPLETED)
    reason = lost.result() if lost.done() else ""
    for task in (press, lost):
        task.cancel()
    return reason


def _sources(settings: Settings) -> str:
    counts = {"log": len(settings.logs), "SQL": len(settings.sql), "knowledge": len(settings.knowledge)}
    kinds = [f"{count} {kind}" for kind, count in counts.items() if count]
    if not kinds:
        return f"no sources ({settings.file or f'there is no {CONFIG_NAME} here'})"
    return f"sources of {settings.file}: {', '.join(kinds)}"
