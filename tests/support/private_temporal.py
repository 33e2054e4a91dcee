"""A Temporal server of a test's own, with its database in a file: to be killed, and started again as it was."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from casebound.converter import casebound_data_converter
from casebound.embedded_servers import SQLITE_PRAGMAS, dev_server_flags
from tests.support.redis_servers import free_port
from tests.support.temporal import binary
from tests.support.waiting import wait_until

STARTED_S = 30.0
"""Longest wait for a server to answer for its namespace; it starts in a tenth of a second alone."""


class PrivateTemporal:
    """One server on one port and one file. Close it at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, or start it again with the runs it had; returns when it answers."""
        command = [str(binary("temporal")), "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
        command += ["--port", str(self._port), "--db-filename", str(self._folder / "temporal.db")]
        command += ["--log-level", "error", *dev_server_flags()]
        for pragma in SQLITE_PRAGMAS:
            command += ["--sqlite-pragma", pragma]
        with (self._folder / "temporal.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        await wait_until(self._answers, description=f"Temporal at {self.address}", timeout=STARTED_S)

    async def connect(self) -> Client:
        """Connect a client of the test's own."""
        return await Client.connect(self.address, data_converter=casebound_data_converter, identity="test")

    def kill(self) -> None:
        """Kill it, as a crash would: connections are refused from now on."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    async def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"it ended:\n{(self._folder / 'temporal.log').read_text()[-2000:]}"
        try:
            async with asyncio.timeout(2):
                client = await self.connect()
                await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
        except (RuntimeError, RPCError, TimeoutError):
            return False
        return True
