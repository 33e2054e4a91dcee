"""The servers a command works with: those it is told of, or the embedded stack.

Above: every command that needs a run or its evidence. Below: `casebound.temporal`, `.stack` and
`.worker`. TEMPORAL_ADDRESS and the store's url come as a pair: one alone is a mistake that would
otherwise surface as a run without evidence, or evidence without a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import logging
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from boundary.contracts import shorten
from boundary.errors import StoreUnavailable
from boundary.redaction import Redactor
from casebound.cli_errors import UsageError, say
from casebound.client import RunNotFound, has_worker
from casebound.embedded_probe import UI_PORT
from casebound.logs import log_to
from casebound.paths import state_paths
from casebound.render import Place
from casebound.settings import Settings
from casebound.stack import Stack, open_stack
from casebound.temporal import connect_configured, connect_local

if TYPE_CHECKING:
    from temporalio.client import Client

    from casebound.worker import Store

STORE_CHECK_S = 8.0
"""A store that does not answer by then is reported before anything is started."""


EMBEDDED_GRACEFUL_S = 1.0
"""Running tools get no longer when a command on the embedded stack ends; they are run again later."""

LOG_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Session:
    """Open connections, and where runs go."""

    client: Client
    store: Store
    task_queue: str
    place: Place
    stack: Stack | None = None
    """None: the servers are others' and outlive the command."""

    def lost(self) -> asyncio.Future[str] | None:
        """Start a wait that ends, with the reason, when the embedded stack is gone."""
        return self.stack.lost() if self.stack else None

    def no_run(self, name: str) -> RunNotFound:
        """Make the error of a run that neither server knows: where was looked, and where it may be."""
        if self.stack is None:
            where = f"namespace {self.place.namespace!r} and its evidence store"
            other = "of the embedded stack is found without TEMPORAL_ADDRESS and REDIS_URL"
        else:
            where = str(state_paths().root)
            other = "of servers of your own is found with TEMPORAL_ADDRESS and REDIS_URL set"
        return RunNotFound(
            f"there is no run {shorten(name, 80)!r} here, in {where}\n"
            f"  fix: give a run id or a workflow id as `diagnose` printed it; a run {other}"
        )


def attaches(settings: Settings, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the command is told of servers (True) or uses the embedded stack.

    Raises:
        UsageError: only one of the two servers is named.
    """
    temporal, store = bool(environment.get("TEMPORAL_ADDRESS")), bool(settings.store.url)
    if temporal and not store:
        raise UsageError(
            "TEMPORAL_ADDRESS is set but REDIS_URL is not: set both to use servers of your own, "
            "or neither to use the embedded stack"
        )
    if store and not temporal:
        named = "REDIS_URL is set" if environment.get("REDIS_URL") else f"[store] url is set in {settings.file}"
        raise UsageError(
            f"{named} but TEMPORAL_ADDRESS is not: set both to use servers of your own, "
            "or neither to use the embedded stack"
        )
    return temporal


@asynccontextmanager
async def open_session(settings: Settings, *, serve: bool, workers_needed: bool = False) -> AsyncGenerator[Session]:
    """Connect to both servers, starting or joining the embedded stack unless others are named.

    Args:
        settings: where the store is, if it is named.
        serve: run a worker on the embedded stack, for runs of this configuration.
        workers_needed: when attached, insist on a worker.

    Raises:
        UsageError, StackFailed, TemporalUnavailable: nothing was started; the message says why.
    """
    async with AsyncExitStack() as opened:
        if attaches(settings):
            yield await _attached(settings, opened, workers_needed)
        else:
            yield await _embedded(settings, opened, serve)


async def _attached(settings: Settings, opened: AsyncExitStack, workers_needed: bool) -> Session:
    # What the SDK logs about servers that do not answer is told by the command in its own words.
    logging.getLogger().addHandler(logging.NullHandler())
    client = await connect_configured()
    store = await open_checked_store(settings, opened)
    for warning in store.warnings:
        say(f"warning: {warning}")
    queue = settings.worker.task_queue
    if workers_needed and not await has_worker(client, queue):
        raise UsageError(
            f"no worker polls the task queue {queue!r} of namespace {client.namespace!r}: start one with "
            "`casebound worker --config casebound.toml` where the sources are"
        )
    return Session(client, store, queue, Place(namespace=client.namespace))


async def _embedded(settings: Settings, opened: AsyncExitStack, serve: bool) -> Session:
    loading = asyncio.create_task(asyncio.to_thread(importlib.import_module, "casebound.worker"))
    try:
        stack = await opened.enter_async_context(open_stack(say=say, announce=serve))
    finally:
        await loading
    from casebound.worker import open_worker

    log_to_file(state_paths().worker_log, Redactor(settings.secret_values()))
    settings = settings.with_store(stack.redis_url).on_one_worker()
    client = await connect_local(stack.temporal_address)
    store = await open_checked_store(settings, opened)
    queue = embedded_task_queue(settings)
    if serve:
        await opened.enter_async_context(open_worker(hurried(settings), client, store, task_queue=queue))
    return Session(client, store, queue, place_of(stack), stack)


def hurried(settings: Settings) -> Settings:
    """Let no tool of another run, which is gone on with beside the command's own, hold the command at its end."""
    graceful = min(settings.worker.graceful_shutdown_s, EMBEDDED_GRACEFUL_S)
    worker = settings.worker.model_copy(update={"graceful_shutdown_s": graceful})
    return settings.model_copy(update={"worker": worker})


def place_of(stack: Stack) -> Place:
    """Say where the runs of an embedded stack are seen; only the usual UI port is the next start's, too."""
    lasts = stack.joined or stack.ui_url.endswith(f":{UI_PORT}")
    return Place(stack.ui_url if lasts else "", later=not stack.joined)


async def open_checked_store(settings: Settings, opened: AsyncExitStack) -> Store:
    """Open the store for as long as `opened` lasts.

    Raises:
        UsageError: it does not answer, with the reason.
    """
    from casebound.worker import open_store

    try:
        async with asyncio.timeout(STORE_CHECK_S):
            return await opened.enter_async_context(open_store(settings))
    except (StoreUnavailable, TimeoutError) as error:
        # The store's own message says what to do.
        none = f"no answer within {STORE_CHECK_S:.0f} s; start it, or correct REDIS_URL"
        why = error.message if isinstance(error, StoreUnavailable) else none
        raise UsageError(f"the evidence store does not answer: {why}") from error


def log_to_file(file: Path, redactor: Redactor) -> None:
    """Keep what the SDK and our worker log away from the terminal, where progress and report are."""
    handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    log_to(handler, logging.WARNING, redactor, "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")


def embedded_task_queue(settings: Settings) -> str:
    """Name the queue of a configuration on the embedded stack.

    Each configuration file has its own, so that a run is only ever served with the sources it was
    started with, and one that was interrupted goes on the next time the same file is used.
    """
    if settings.file is None:
        return settings.worker.task_queue
    digest = hashlib.sha256(os.fsencode(settings.file)).hexdigest()[:8]
    return f"{settings.worker.task_queue}-{digest}"
