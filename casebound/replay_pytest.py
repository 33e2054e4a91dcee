"""A pytest fixture that replays, when a test is over, the runs that it left on a server.

For every project that tests its runs end to end; pytest is not among casebound's own requirements:

    pytest_plugins = ["casebound.replay_pytest"]

    @pytest.fixture(autouse=True)
    def every_run_replays(replayed_runs, temporal_address, task_queue):
        replayed_runs.watch(temporal_address, f"TaskQueue = '{task_queue}'")

Above: a `conftest.py`. Below: `casebound.replay`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from temporalio.client import Client, WorkflowExecution
from temporalio.converter import DataConverter

from casebound.converter import casebound_data_converter
from casebound.replay import replay
from casebound.replay_sources import fetch
from casebound.replay_text import verdict_lines


class ReplayedRuns:
    """Which runs are to be replayed, and which need not be."""

    def __init__(self) -> None:
        self.watched: list[tuple[str, str, str, int, DataConverter]] = []
        self._left_out: set[str] = set()

    def watch(
        self,
        address: str,
        query: str,
        *,
        namespace: str = "default",
        limit: int = 10,
        data_converter: DataConverter = casebound_data_converter,
    ) -> None:
        """Replay the runs that the query finds at the end of the test.

        Args:
            address: of the Temporal server.
            query: of visibility, as `casebound replay --query` takes it.
            namespace: where the runs are.
            limit: runs at most, the latest first.
            data_converter: the clients' own.
        """
        self.watched.append((address, query, namespace, limit, data_converter))

    def leave_out(self, name: str) -> None:
        """Do not replay a run, or an execution: it was made by other code, or it has been replayed."""
        self._left_out.add(name)

    async def failures(self) -> list[str]:
        """Replay what is watched; returns what is told of each run that differs in anything."""
        told: list[str] = []
        for address, query, namespace, limit, data_converter in self.watched:
            client = await Client.connect(address, namespace=namespace, data_converter=data_converter)
            async for sourced in fetch(client, query, limit, skip=self._is_left_out):
                verdict = await replay(sourced.history, data_converter=data_converter)
                if not verdict.same:
                    told.append("\n".join(verdict_lines(sourced.source, verdict)))
        return told

    def _is_left_out(self, execution: WorkflowExecution) -> bool:
        return not self._left_out.isdisjoint((execution.id, execution.run_id))


@pytest.fixture
def replayed_runs() -> Iterator[ReplayedRuns]:
    """Runs that are replayed when the test is over, if it has asked for that; one that differs is an error."""
    runs = ReplayedRuns()
    yield runs
    # In a thread: a test's own event loop is nobody else's.
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(lambda: asyncio.run(runs.failures())).result()
    assert not told, "\n".join(told)
