"""The checkout outage for its tests: its logs counted by plain Python, copies with other values, and runs.

Nothing here uses the log tools: what a report must say is found with `re` alone.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
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
    """Copy the incident with each log's text changed; returns the configuration to use."""
    (folder / "logs").mkdir()
    for path in (EXAMPLE / "logs").iterdir():
        data = change(text_of(path)).encode()
        (folder / "logs" / path.name).write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return Path(shutil.copy(EXAMPLE / "casebound.toml", folder))


def text_of(path: Path) -> str:
    """A log's text, unpacked where it is packed."""
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


class Facts:
    """What the recorded logs say, counted without casebound."""

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
    def orders(self) -> list[int]:
        """Orders of checkouts that nginx had given up on."""
        given_up = {rid_of(line) for line in self.access if '" 504 ' in line}
        booked = (re.search(r"\[(\w+)\] .* order=(\d+)", line) for line in self.app)
        return sorted(int(found[2]) for found in booked if found and found[1] in given_up)


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


OTHER_VALUES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"\b[0-9a-f]{32}\b", lambda found: found[0][::-1]),
    (r"((?:thread id|Thread_id:|[Cc]onnection) |db_thread=)(\d+)", lambda found: f"{found[1]}{int(found[2]) + 700}"),
    (r"\b3011(?= row lock)", lambda _: "9014"),
    (r"\brun ([12])\b", lambda found: f"run {int(found[1]) + 40}"),
    (r"\border([= ])(\d+(?:, \d+)*)", lambda found: f"order{found[1]}{_more(found[2], 5000)}"),
    (r"\bbatch_rows\b", lambda _: "chunk_size"),
    (r"\br8([67])\b", lambda found: f"r20{found[1]}"),
    (r"(?<=[ T:])1([67])(?=:3\d:\d\d)", lambda found: f"0{found[1]}"),
)
"""Ten hours earlier, with other requests, connections, runs, orders, row locks and names."""


def with_other_values(text: str) -> str:
    """Write a log, or what a report says of it, with other values."""
    for pattern, other in OTHER_VALUES:
        text = re.sub(pattern, other, text)
    return text


def _more(numbers: str, by: int) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + by), numbers)
