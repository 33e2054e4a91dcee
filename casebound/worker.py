"""The composition root: makes a worker and a store from settings; the one place that knows all parts.

Above: the commands and tests. Below: everything. What a worker serves is decided here, what a
run may use is decided by its input.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypedDict

from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.worker import Worker, WorkerDeploymentConfig
from temporalio.worker.workflow_sandbox import (
    SandboxedWorkflowRunner,
    SandboxMatcher,
    SandboxRestrictions,
)
from temporalio.workflow import SandboxImportNotificationPolicy

from activities.planners.port import Planner
from activities.planners.runbook import RunbookPlanner
from activities.planning import Planning
from activities.report_check import ReportChecks
from activities.run_records import RunRecords
from activities.tool_call import ToolCalls
from boundary.backend import Backend
from boundary.errors import StoreUnavailable
from boundary.keys import ToolCallKeyFactory
from boundary.redaction import Redactor
from boundary.redis_backend import RedisBackend, connect
from boundary.registry import ToolRegistry
from boundary.run_index import RunIndex
from boundary.store import InvocationStore
from boundary.tool_boundary import ToolBoundary
from boundary.tools import Tool
from casebound.settings import Settings, WorkerSettings
from casebound.source_watch import SourceWatch
from casebound.sources import declared_tools
from casebound.tool_settings import configured
from workflows.agent_run import AgentRun

BUILD_ID = "cb"
"""Short on purpose: it stands in most events of every history."""

BEHAVIORS = {"auto-upgrade": VersioningBehavior.AUTO_UPGRADE, "pinned": VersioningBehavior.PINNED}

STICKY_TIMEOUT = timedelta(seconds=1)
"""A run whose worker was lost goes on elsewhere after this, not after the default 10 s."""

HEARTBEAT_THROTTLE = timedelta(seconds=0.3)
"""A cancellation reaches a tool with a heartbeat's answer; the default would send one every 4 s."""

LIGHT_MODULES = (
    "activities.contracts",
    "boundary.contracts",
    "boundary.errors",
    "boundary.ids",
    "boundary.limits",
    "boundary.redaction",
    "boundary.report",
    "boundary.secret_contexts",
    "boundary.secret_patterns",
    "boundary.secret_shapes",
    "boundary.strict_json",
    "workflows.activity_calls",
    "workflows.admission",
    "workflows.attributes",
    "workflows.budget",
    "workflows.carrying",
    "workflows.clock",
    "workflows.conclusion",
    "workflows.failures",
    "workflows.holding",
    "workflows.marks",
    "workflows.recent_calls",
    "workflows.run_state",
    "workflows.steered",
    "workflows.steering",
    "workflows.summaries",
    "workflows.tool_calls",
)
"""Shared with the sandbox instead of loaded anew for each run: light, and without state of their own."""

FORBIDDEN_MODULES = SandboxMatcher(
    access={"redis", "jsonschema", "jinja2", "re2"},
    children={"boundary": SandboxMatcher(access={"redis_backend", "backend", "store", "run_index"})},
)
"""Importing one of these in workflow code fails at once."""


@dataclass(frozen=True)
class Store:
    """An open store."""

    backend: Backend
    invocations: InvocationStore
    runs: RunIndex
    store_id: str
    """Identity of its data set."""
    warnings: tuple[str, ...] = ()
    """What of the server's configuration could lose evidence; for a person to see."""


@contextlib.asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[Store]:
    """Connect to the configured store and learn its identity.

    Raises:
        StoreUnavailable: no URL is configured, or the store cannot be used; says why, within seconds.
    """
    if settings.store.url is None:
        raise StoreUnavailable("no store is configured; set REDIS_URL or [store] url")
    try:
        client = connect(settings.store.url)
    except ValueError as error:
        raise StoreUnavailable(str(error)) from None
    try:
        backend = RedisBackend(client)
        store = replace(await store_over(backend, settings.store.prefix), warnings=await backend.warnings())
        for warning in store.warnings:
            logging.getLogger(__name__).warning(warning)
        yield store
    finally:
        await client.aclose()


async def store_over(backend: Backend, prefix: str) -> Store:
    """Open the store over a backend."""
    keys = ToolCallKeyFactory(prefix)
    store_id = await backend.store_id(keys.store())
    return Store(backend, InvocationStore(backend, keys), RunIndex(backend, keys), store_id)


@contextlib.asynccontextmanager
async def open_worker(
    settings: Settings,
    client: Client,
    store: Store,
    *,
    task_queue: str,
    tools: Sequence[Tool] | None = None,
    planners: Mapping[str, Planner] | None = None,
) -> AsyncGenerator[Worker]:
    """Run a worker until the context ends; running tools then get the graceful time.

    `tools` replace those of the settings' sources and `planners` the runbook planner, for tests and for applications
    with their own.

    Raises:
        InvalidTool: a tool's definition is not usable.
        SettingsError: the settings speak of a tool that there is not.
    """
    registry = ToolRegistry(declared_tools(settings) if tools is None else configured(tools, settings.tools))
    planners = {"runbook": RunbookPlanner()} if planners is None else planners
    redactor = Redactor(settings.secret_values())
    with _threads(settings.worker.threads) as pool:
        boundary = ToolBoundary(registry, store.invocations, pool, redactor=redactor)
        records = RunRecords(
            registry,
            planners,
            store.runs,
            store.invocations,
            store.store_id,
            settings.tool_queues,
            redactor,
            SourceWatch(settings).statuses,
        )
        activities = [
            ToolCalls(boundary, store.store_id).call,
            records.open_run,
            records.settle_calls,
            records.close_run,
            Planning(planners, store.runs, store.invocations, redactor).plan,
            ReportChecks(store.runs, store.invocations, redactor).check_report,
        ]
        async with Worker(
            client,
            task_queue=task_queue,
            workflows=[AgentRun],
            activities=activities,
            workflow_runner=sandbox(),
            **version_options(settings.worker),
            max_concurrent_activities=settings.worker.concurrent_calls,
            sticky_queue_schedule_to_start_timeout=STICKY_TIMEOUT,
            max_heartbeat_throttle_interval=HEARTBEAT_THROTTLE,
            graceful_shutdown_timeout=timedelta(seconds=settings.worker.graceful_shutdown_s),
        ) as worker:
            yield worker


class VersionOptions(TypedDict, total=False):
    """Which of the SDK's options say what version a worker is."""

    build_id: str
    deployment_config: WorkerDeploymentConfig


def version_options(settings: WorkerSettings) -> VersionOptions:
    """Say what version a worker is: none, unless it belongs to a deployment (docs/decisions/0013)."""
    if settings.deployment is None:
        return VersionOptions(build_id=BUILD_ID)
    config = WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.deployment, settings.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=BEHAVIORS[settings.versioning],
    )
    return VersionOptions(deployment_config=config)


def sandbox() -> SandboxedWorkflowRunner:
    """The workflow sandbox: our light modules shared, anything else that slips in is an error."""
    return SandboxedWorkflowRunner(
        replace(
            SandboxRestrictions.default.with_passthrough_modules(*LIGHT_MODULES),
            invalid_modules=FORBIDDEN_MODULES,
            import_notification_policy=SandboxImportNotificationPolicy.RAISE_ON_UNINTENTIONAL_PASSTHROUGH,
        )
    )


@contextlib.contextmanager
def _threads(count: int) -> Generator[ThreadPoolExecutor]:
    """Threads of synchronous tools; abandoned ones are not waited for."""
    pool = ThreadPoolExecutor(count, thread_name_prefix="tool")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
