"""`casebound worker` waits for servers that start after it, says for what, and gives up in time."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.casebound import programs
from tests.casebound.attached import Place
from tests.support.private_temporal import PrivateTemporal
from tests.support.redis_servers import free_port

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def late(tmp_path: Path) -> Iterator[PrivateTemporal]:
    """A server that is not there before the test starts it."""
    server = PrivateTemporal(tmp_path)
    yield server
    server.kill()


def configure(place: Place, *, wait_s: float) -> None:
    queue = place.settings.worker.task_queue
    worker = f'[worker]\ntask_queue = "{queue}"\nwait_for_servers_s = {wait_s}\n'
    programs.case(place.folder)
    (place.folder / "casebound.toml").write_text(f'{programs.SOURCE}{worker}[store]\nprefix = "{place.prefix}"\n')


async def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read what the command says until it says that."""
    assert process.stderr is not None
    read = ""
    while line := await asyncio.to_thread(process.stderr.readline):
        read += line
        if text in line:
            return line
    raise AssertionError(f"it ended without saying {text!r}:\n{read}")


async def test_a_worker_started_before_temporal_serves_once_it_is_there(place: Place, late: PrivateTemporal) -> None:
    """It names the address it asks, then serves without a restart."""
    configure(place, wait_s=60)
    place.more["TEMPORAL_ADDRESS"] = late.address
    worker = place.start("worker")
    waiting = await line_with(worker, "trying again")
    assert (
        waiting == f"worker: cannot connect to Temporal at {late.address}: connection refused; trying again for 60 s\n"
    )
    await late.start()
    await line_with(worker, "worker: task queue")
    done = await place.casebound("diagnose", "--runbook", "book.yaml", "--json")
    assert done.returncode == 0, done.stderr
    worker.send_signal(signal.SIGTERM)
    code, _, err = await programs.ended(worker)
    assert code == 0, err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TEMPORAL_ADDRESS", "127.0.0.1:{port}", "cannot connect to Temporal at 127.0.0.1:{port}: connection refused"),
        ("TEMPORAL_NAMESPACE", "nowhere", "has no namespace 'nowhere'; create it, or correct TEMPORAL_NAMESPACE"),
        ("REDIS_URL", "redis://127.0.0.1:{port}/0", "the evidence store does not answer: nothing listens where"),
    ],
)
async def test_a_worker_gives_up_on_a_server_that_never_comes(place: Place, name: str, value: str, said: str) -> None:
    """After the time it was given: exit code 2, what did not answer, and no trace of the program's inside."""
    configure(place, wait_s=0.5)
    port = free_port()
    place.more[name] = value.format(port=port)
    done = await place.casebound("worker")
    *progress, last = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert [line for line in progress if line.startswith("worker: ")] == progress
    assert "trying again for" in progress[0]
    assert said.format(port=port) in last
    assert last.startswith("casebound: ")
    assert last.endswith("(asked for 0.5 s)")


async def test_a_worker_that_waits_ends_when_it_is_asked_to(place: Place) -> None:
    """SIGTERM ends the wait at once: it is a worker that has nothing to stop."""
    configure(place, wait_s=3600)
    place.more["TEMPORAL_ADDRESS"] = f"127.0.0.1:{free_port()}"
    worker = place.start("worker")
    await line_with(worker, "trying again for 3600 s")
    worker.send_signal(signal.SIGTERM)
    code, _, err = await programs.ended(worker)
    assert (code, err) == (0, "worker: stopped before its servers answered\n")
