"""The checkout outage for its tests: what was recorded counted by plain Python, copies with other values, and runs.

Nothing here uses the tools: what a report must say is found with `re` and `sqlite3` alone.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from temporalio.client import Client

from activities.contracts import PlannerRef, RunInput
from activities.planners.runbook import load_runbook
from boundary.memory_backend import MemoryBackend
from boundary.report import CheckedClaim
from casebound.settings import Settings, load_settings
from casebound.worker import open_worker, store_over
from tests.support import tree
from tests.support.runs import Finished, Harness
from workflows.agent_run import AgentRun

EXAMPLE = tree.ROOT / "examples" / "checkout-outage"
RUNBOOK = (EXAMPLE / "runbook.yaml").read_text()


@dataclass(frozen=True)
class Diagnosis:
    """A run of the runbook that ended."""

    run: Finished

    @property
    def claims(self) -> tuple[CheckedClaim, ...]:
        """The claims of the report."""
        return self.run.result.claims

    def claim(self, words: str) -> CheckedClaim:
        """The one claim with these words, however its lines are broken."""
        [found] = [claim for claim in self.claims if words in flat(claim.text)]
        return found

    def arguments(self, call_id: str) -> str:
        """Arguments of a call, as text."""
        arguments = self.run.records[call_id].record.request.arguments
        assert isinstance(arguments, str)
        return arguments

    def result(self, call_id: str) -> Any:
        """What the agent was shown of a call."""
        return json.loads(self.run.records[call_id].agent_result or b"")

    def turn(self, call_id: str) -> int:
        """The turn that asked for a call."""
        return self.run.records[call_id].record.turn


def flat(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


async def diagnose(client: Client, config: Path = EXAMPLE / "casebound.toml") -> Diagnosis:
    """Run the incident's runbook over a configuration's logs."""
    return Diagnosis(await follow(client, load_settings(config, environment={}), RUNBOOK))


async def follow(client: Client, settings: Settings, runbook: str) -> Finished:
    """Run a runbook over the settings' logs, on a worker as `casebound diagnose` makes it."""
    queue = f"q-{uuid4().hex[:8]}"
    store = await store_over(MemoryBackend(), queue)
    loaded = load_runbook(runbook)
    request = RunInput(
        question=loaded.question or "",
        planner=PlannerRef(kind="runbook", name=loaded.name),
        runbook=runbook,
        limits=settings.limits,
    )
    async with open_worker(settings, client, store, task_queue=queue):
        handle = await client.start_workflow(AgentRun.run, request, id=f"casebound-{uuid4()}", task_queue=queue)
        result = await handle.result()
    return await Harness(client, store, queue).finished(handle, result)


def copied(folder: Path, change: Callable[[str], str]) -> Path:
    """Copy the incident with each text of its logs, pages and database changed; returns the configuration to use."""
    (folder / "logs").mkdir()
    for path in (EXAMPLE / "logs").iterdir():
        data = change(text_of(path)).encode()
        (folder / "logs" / path.name).write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    (folder / "knowledge").mkdir()
    for path in (EXAMPLE / "knowledge").iterdir():
        (folder / "knowledge" / path.name).write_text(change(path.read_text()))
    with closing(sqlite3.connect(shutil.copy(EXAMPLE / "shop.db", folder))) as shop, shop:
        shop.create_function("changed", 1, change)
        shop.execute("UPDATE stock SET counted_at = changed(counted_at)")
        shop.execute(
            "UPDATE orders SET id = SUBSTR(changed('order ' || id), 7), "
            "request_id = changed(request_id), ordered_at = changed(ordered_at)"
        )
    return Path(shutil.copy(EXAMPLE / "casebound.toml", folder))


def text_of(path: Path) -> str:
    """A log's text, unpacked where it is packed."""
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


class Order(NamedTuple):
    """A row of the table `orders`."""

    id: int
    request_id: str
    customer_id: int
    sku: int
    paid_cents: int
    ordered_at: str


class Facts:
    """What the recorded logs and tables say, counted without casebound."""

    @staticmethod
    def lines(*names: str) -> list[str]:
        """Lines of some logs, in the order given."""
        return [line for name in names for line in text_of(EXAMPLE / "logs" / name).splitlines()]

    @cached_property
    def access(self) -> list[str]:
        """Every request that nginx answered."""
        return self.lines("access.log.1.gz", "access.log")

    @cached_property
    def app(self) -> list[str]:
        """The application's log."""
        return self.lines("app.log")

    @cached_property
    def refused(self) -> list[str]:
        """Requests answered 503, by the second in which they ended."""
        return sorted((line for line in self.access if '" 503 ' in line), key=utc_of_access)

    @cached_property
    def empty_pools(self) -> list[str]:
        """Requests that found no connection."""
        return [line for line in self.app if "pool exhausted" in line]

    @cached_property
    def errors(self) -> list[str]:
        """Errors of the application."""
        return [line for line in self.app if " ERROR " in line]

    @cached_property
    def slow(self) -> str:
        """The slow log."""
        return "\n".join(self.lines("mariadb-slow.log"))

    @cached_property
    def reports(self) -> list[str]:
        """Reports of the InnoDB monitor between the first and the last empty pool."""
        first, last = (self.empty_pools[index][:19].replace("T", " ") for index in (0, -1))
        parts = re.split(
            r"^(?=\S+ \S+ \S+ INNODB MONITOR OUTPUT$)", "\n".join(self.lines("mariadb-error.log")), flags=re.M
        )
        return [part for part in parts[1:] if first < part[:19] <= last]

    @cached_property
    def holders(self) -> list[tuple[str, ...]]:
        """Age, row locks and connection of transactions in the reports that had row locks and did not wait."""
        shape = r"ACTIVE (\d+) sec\n\d+ lock struct.*, ([1-9]\d*) row lock.*\nMariaDB thread id (\d+),"
        return [found for report in self.reports for found in re.findall(shape, report)]

    @cached_property
    def unanswered(self) -> list[str]:
        """Checkouts whose client or nginx did not wait for the answer."""
        return [line for line in self.access if re.search(r'"POST /checkout[^"]*" (499|504) ', line)]

    @cached_property
    def orders(self) -> list[Order]:
        """Every order of the database."""
        return [Order(*row) for row in self.rows("SELECT * FROM orders ORDER BY id")]

    @cached_property
    def unknown_orders(self) -> list[Order]:
        """Orders of checkouts that were not answered."""
        unanswered = {rid_of(line) for line in self.unanswered}
        return [order for order in self.orders if order.request_id in unanswered]

    @staticmethod
    def rows(sql: str) -> list[Any]:
        """Rows of the database."""
        with closing(sqlite3.connect(EXAMPLE / "shop.db")) as shop:
            return shop.execute(sql).fetchall()


def rid_of(line: str) -> str:
    """The request id of a line of the access log."""
    found = re.search(r"rid=([0-9a-f]+)", line)
    assert found is not None
    return found[1]


def utc_of_access(line: str) -> str:
    """Time of day, in UTC, of a line of the access log."""
    found = re.search(r"\[([^]]+)\]", line)
    assert found is not None
    return f"{datetime.strptime(found[1], '%d/%b/%Y:%H:%M:%S %z').astimezone(UTC):%H:%M:%S}"


def utc_of_job(line: str) -> str:
    """Time of a line of the job's log as the database writes it."""
    return f"{datetime.strptime(line[:25], '%Y-%m-%d %H:%M:%S %z').astimezone(UTC):%Y-%m-%d %H:%M:%S}"


OTHER_VALUES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"\b[0-9a-f]{32}\b", lambda found: found[0][::-1]),
    (r"((?:thread id|Thread_id:|[Cc]onnection) |db_thread=)(\d+)", lambda found: f"{found[1]}{int(found[2]) + 700}"),
    (r"\b3\d{3}(?= row lock)", lambda _: "9014"),
    (r"\brun ([12])\b", lambda found: f"run {int(found[1]) + 40}"),
    (r"\border([= ])(\d+(?:, \d+)*)", lambda found: f"order{found[1]}{_more(found[2], 5000)}"),
    (r"\bbatch_rows\b", lambda _: "chunk_size"),
    (r"\br8([67])\b", lambda found: f"r20{found[1]}"),
    (r"(?<=[ T:])[0 ](\d)(?=:\d\d:\d\d)", lambda found: f"1{found[1]}"),
)
"""Ten hours later, with other requests, connections, runs, orders, row locks and names."""


def with_other_values(text: str) -> str:
    """Write a log, or what a report says of it, with other values."""
    for pattern, other in OTHER_VALUES:
        text = re.sub(pattern, other, text)
    return text


def _more(numbers: str, by: int) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + by), numbers)
