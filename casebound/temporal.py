"""Connections to Temporal; the one module of the application that imports the SDK first.

Above: the command line, the worker, the embedded stack. Below: the SDK and its own environment
configuration (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `temporal.toml`...).
Every client made here speaks casebound's data converter and carries a short identity.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import time
from datetime import timedelta
from functools import cache

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import RPCError, RPCStatusCode

from boundary.errors import CaseboundError
from casebound.converter import casebound_data_converter

# The SDK aborts an interpreter that exits too soon after its last call: a thread of its Rust core
# still gives Python objects back. A pause before finalization, in which the GIL is free, lets it.
atexit.register(time.sleep, 0.1)

CONNECT_TIMEOUT_S = 10.0
"""A server that does not answer by then is reported, not waited for."""


class TemporalUnavailable(CaseboundError):
    """No Temporal server answered under the configured address, or it has no such namespace."""


class TemporalMisconfigured(CaseboundError):
    """The environment's Temporal configuration cannot be used; asking again would not help."""


class RetriesInBrief(logging.Filter):
    """Lets a worker say once in `EVERY_S` that Temporal does not answer, not once for each poller and try."""

    EVERY_S = 30.0

    def __init__(self) -> None:
        super().__init__()
        self._quiet_until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """See `logging.Filter`."""
        text = record.getMessage()
        if "gRPC call poll_" not in text or " retried " not in text:
            return True
        if time.monotonic() < self._quiet_until:
            return False
        self._quiet_until = time.monotonic() + self.EVERY_S
        record.msg, record.args = f"Temporal does not answer ({_known_reason(text) or text[:300]}); asking on", ()
        return True


def short_identity() -> str:
    """Name this process in few bytes: the identity stands in most events of every history."""
    return f"cb-{os.getpid()}"


@cache
def quiet_runtime() -> Runtime:
    """Make the process' SDK runtime: its core logs to Python's logging, not to stdout, which is the report's."""
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    filters = TelemetryFilter(core_level="WARN", other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=filters, forwarding=forwarding)))


async def connect_configured(identity: str | None = None) -> Client:
    """Connect as the ecosystem's environment configuration says.

    Raises:
        TemporalMisconfigured: the configuration cannot be used.
        TemporalUnavailable: nothing answers there, or not for that namespace.
    """
    try:
        config = dict(ClientConfig.load_client_connect_config())
    except (RuntimeError, ValueError) as error:  # the bridge's ConfigError is a RuntimeError it does not export
        raise TemporalMisconfigured(f"the Temporal client configuration cannot be used: {error}") from error
    client = await _connect(config, identity)
    await _check_namespace(client)
    return client


async def connect_local(address: str, identity: str | None = None) -> Client:
    """Connect to the server at `address` without TLS, whatever the environment says.

    Raises:
        TemporalUnavailable: nothing answers there.
    """
    return await _connect({"target_host": address}, identity)


async def _connect(config: dict[str, object], identity: str | None) -> Client:
    address = config.setdefault("target_host", "localhost:7233")
    config["identity"] = identity or short_identity()
    config["data_converter"] = casebound_data_converter
    config["runtime"] = quiet_runtime()
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await Client.connect(**config)  # pyright: ignore[reportArgumentType] # envconfig's keyword arguments
    except TimeoutError as error:
        raise TemporalUnavailable(
            f"no Temporal server answers at {address} within {CONNECT_TIMEOUT_S:.0f} s"
        ) from error
    except (RuntimeError, RPCError, ValueError) as error:
        raise TemporalUnavailable(f"cannot connect to Temporal at {address}: {_reason(error)}") from error


async def _check_namespace(client: Client) -> None:
    """Find out now what a worker would otherwise die of, and a command be told in the server's words."""
    address = client.service_client.config.target_host
    try:
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=client.namespace), timeout=timedelta(seconds=CONNECT_TIMEOUT_S)
        )
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise TemporalUnavailable(
                f"Temporal at {address} has no namespace {client.namespace!r}; create it, or correct TEMPORAL_NAMESPACE"
            ) from error
        if error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED):
            raise TemporalUnavailable(f"Temporal at {address} is not ready: {_reason(error)}") from error
        # A user may lack the right to look; what the command needs then fails for itself, or does not.


def _reason(error: Exception) -> str:
    """Make the SDK's nested Rust error readable: its last words say what happened."""
    text = str(error)
    return _known_reason(text) or text[:300]


def _known_reason(text: str) -> str | None:
    known = {"Connection refused": "connection refused", "dns error": "the host name is not known"}
    return next((words for mark, words in known.items() if mark in text), None)
