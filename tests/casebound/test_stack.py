"""The embedded stack: real servers, real processes, real signals.

Each test has a state directory of its own. The owner is a process of its own wherever it is to be
killed or to meet another.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import redis
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

from casebound import embedded_probe, search_attributes, stack
from casebound.embedded_servers import SEARCH_ATTRIBUTES
from casebound.paths import StatePaths
from casebound.stack import StackFailed, open_stack
from casebound.temporal import connect_local
from tests.support import redis_servers
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(120)

OWNER = Path(__file__).with_name("stack_owner.py")


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state directory of the test's own, its name awkward on purpose."""
    return StatePaths(tmp_path / 'state "of" a user')


@dataclass
class Owner:
    """A process that owns or uses a stack."""

    process: subprocess.Popen[str]
    facts: dict[str, Any]

    def children(self) -> list[psutil.Process]:
        """The keeper and the servers."""
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def owner(paths: StatePaths) -> Generator[Owner]:
    """Run `stack_owner.py` until the block ends."""
    environment = {**os.environ, "CASEBOUND_STATE_DIR": str(paths.root)}
    process = subprocess.Popen(
        [sys.executable, str(OWNER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield Owner(process, json.loads(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def own_stack() -> list[psutil.Process]:
    """The keepers and servers of this process; other fixtures' servers are its children, too."""
    keepers = [child for child in psutil.Process().children() if "embedded_keeper" in " ".join(child.cmdline())]
    return [process for keeper in keepers for process in (keeper, *keeper.children(recursive=True))]


def gone(processes: list[psutil.Process]) -> bool:
    """Tell whether all of them have ended (a zombie has)."""
    return not [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


async def test_both_servers_answer_and_end_with_the_command(paths: StatePaths) -> None:
    """Temporal with namespace and search attributes, its UI, a store that keeps what it is given."""
    async with open_stack(paths) as running:
        client = await connect_local(running.temporal_address)
        assert set(await search_attributes.known(client)) == set(search_attributes.ALL)
        described = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="default"))
        assert described.config.workflow_execution_retention_ttl.seconds == 30 * 24 * 3600
        assert urllib.request.urlopen(running.ui_url, timeout=5).status == 200
        with redis_servers.connected(running.redis_url) as store:
            settings = store.config_get("maxmemory-policy", "appendonly")
            assert settings == {"maxmemory-policy": "noeviction", "appendonly": "yes"}
        processes = own_stack()
        names = sorted(Path(one.exe()).name for one in processes)
        assert [name for name in names if not name.startswith("python")] == ["temporal", "valkey-server"]
    assert gone(processes)
    assert not paths.stack_file.exists()


async def test_the_store_asks_for_the_password_that_only_this_user_can_read(paths: StatePaths) -> None:
    """Raw tool output is not for everyone on the machine."""
    async with open_stack(paths) as running:
        stranger = redis.Redis.from_url(f"redis://{running.redis_url.rpartition('@')[2]}")
        with pytest.raises(redis.AuthenticationError):
            stranger.ping()
        stranger.close()
        for file in (paths.stack_file, paths.store_config):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        password = urlsplit(running.redis_url).password
        assert password
        assert not [process for process in own_stack() if password in " ".join(process.cmdline())]


async def test_a_restart_keeps_histories_and_records(paths: StatePaths) -> None:
    """What `show` and `evidence` need is there the next day."""
    async with open_stack(paths) as first:
        client = await connect_local(first.temporal_address)
        await client.start_workflow("Nobody", id="kept", task_queue="none")
        with redis_servers.connected(first.redis_url) as store:
            store.set("kept", "yes", px=600_000)
    async with open_stack(paths) as second:
        client = await connect_local(second.temporal_address)
        assert (await client.get_workflow_handle("kept").describe()).workflow_type == "Nobody"
        with redis_servers.connected(second.redis_url) as store:
            assert store.get("kept") == b"yes"


async def test_servers_die_with_a_killed_command(paths: StatePaths) -> None:
    """SIGKILL leaves no time to tidy up; the keeper does it, and the directory is free again."""
    with owner(paths) as killed:
        children = killed.children()
        assert len(children) == 3
        killed.process.kill()
        await wait_until(lambda: gone(children), description="keeper and servers have ended", timeout=15)
    async with open_stack(paths) as again:
        assert not again.joined


async def test_servers_die_with_a_killed_keeper(paths: StatePaths) -> None:
    """The command notices, ends what was left behind and says why."""
    async with open_stack(paths) as running:
        children = own_stack()
        lost = running.lost()
        children[0].kill()
        assert "keeper was killed" in await asyncio.wait_for(lost, 10)
    await wait_until(lambda: gone(children), description="the servers have ended")


async def test_the_loss_of_a_server_is_told(paths: StatePaths) -> None:
    """A run must not wait for ever for a server that is gone."""
    async with open_stack(paths) as running:
        lost = running.lost()
        [store] = [one for one in own_stack() if one.name() == "valkey-server"]
        store.kill()
        assert "the evidence store ended" in await asyncio.wait_for(lost, 10)


async def test_ctrl_c_does_not_reach_the_servers(paths: StatePaths) -> None:
    """The terminal signals the command's process group; the servers are in sessions of their own."""
    with owner(paths) as running:
        sessions = {os.getsid(child.pid) for child in running.children()}
        assert os.getsid(running.process.pid) not in sessions
        assert len(sessions) == 3


async def test_a_second_command_joins_and_the_owner_waits_for_it(paths: StatePaths) -> None:
    """One stack per state directory; nobody's servers vanish under a run."""
    with owner(paths) as first:
        async with open_stack(paths) as joined:
            assert joined.joined
            assert joined.temporal_address == first.facts["temporal_address"]
            assert first.process.stdin is not None
            assert first.process.stdout is not None
            first.process.stdin.close()
            said = await asyncio.to_thread(first.process.stdout.readline)
            assert "another casebound command uses this stack" in said
            assert await embedded_probe.store_answers(joined.redis_url)
            assert first.process.poll() is None
        await wait_until(lambda: first.process.poll() == 0, description="the owner has ended")


async def test_a_joined_command_learns_that_the_owner_is_gone(paths: StatePaths) -> None:
    """Its servers are, too."""
    with owner(paths) as first:
        async with open_stack(paths) as joined:
            lost = joined.lost()
            first.process.kill()
            first.process.wait()
            assert f"process {first.process.pid}" in await asyncio.wait_for(lost, 10)


async def test_many_commands_at_once_get_one_stack(paths: StatePaths) -> None:
    """Whoever comes first owns it, all others join."""

    async def enter() -> tuple[str, bool]:
        async with open_stack(paths) as running:
            arrived.append(running.temporal_address)
            await wait_until(lambda: len(arrived) == 4, description="all four have a stack", timeout=30)
            return running.temporal_address, running.joined

    arrived: list[str] = []
    entered = await asyncio.gather(*(enter() for _ in range(4)))
    assert len({address for address, _ in entered}) == 1
    assert sorted(joined for _, joined in entered) == [False, True, True, True]


async def test_a_file_that_is_no_database_is_told_with_what_to_do(paths: StatePaths) -> None:
    """The server's own words, a hint, the log; and no process stays."""
    paths.create()
    paths.temporal_db.write_text("this is not a database, it is a text\n" * 100)
    with pytest.raises(StackFailed) as caught:
        async with open_stack(paths):
            pass
    message = caught.value.message
    assert "the Temporal server ended with exit code 1" in message
    assert "file is not a database" in message
    assert "what to do: the file is damaged" in message
    assert str(paths.temporal_log) in message
    assert own_stack() == []


def test_a_taken_port_is_told_from_a_log_whatever_follows(tmp_path: Path) -> None:
    """Temporal's dev server fails with a trace of many lines after it; what an earlier start wrote does not count."""
    log = tmp_path / "temporal.log"
    said = b'msg="Failed to start gRPC listener" error="listen tcp: bind: Address already in use"\n'
    log.write_bytes(said + b"main.main()\n" * 1000)
    assert embedded_probe.port_taken(log, 0)
    assert not embedded_probe.port_taken(log, len(said))
    assert not embedded_probe.port_taken(tmp_path / "none.log", 0)


async def test_a_port_taken_meanwhile_is_tried_again_elsewhere(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the choice of a port and its use another process may be quicker."""
    with owner(StatePaths(paths.root.with_name("other"))) as other:
        taken = int(other.facts["temporal_address"].rpartition(":")[2])
        chosen, real = [taken], embedded_probe.free_port

        def first_the_taken_one(preferred: int = 0) -> int:
            return chosen.pop() if chosen else real(preferred)

        monkeypatch.setattr(stack.probe, "free_port", first_the_taken_one)
        async with open_stack(paths) as running:
            assert running.temporal_address != other.facts["temporal_address"]
            assert await embedded_probe.temporal_answers(running.temporal_address)


async def test_a_state_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """With the variable that names another."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StackFailed, match=r"cannot be used: .*CASEBOUND_STATE_DIR"):
        async with open_stack(StatePaths(tmp_path / "file" / "state")):
            pass


async def test_a_holder_whose_servers_do_not_answer_is_named(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped owner is no reason to wait for ever."""
    monkeypatch.setattr(stack, "JOIN_TIMEOUT_S", 0.5)
    with owner(paths) as held:
        servers = [one for one in held.children() if one.name() == "valkey-server"]
        servers[0].send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(StackFailed, match=rf"process {held.process.pid} holds the stack"):
                async with open_stack(paths):
                    pass
        finally:
            servers[0].send_signal(signal.SIGCONT)


def test_the_declared_search_attributes_are_the_workflows() -> None:
    """The stack names them without loading the SDK."""
    assert SEARCH_ATTRIBUTES == search_attributes.ALL


def test_the_customary_port_of_the_ui_is_taken_if_it_is_free() -> None:
    """Otherwise any free one."""
    port = embedded_probe.free_port()
    assert embedded_probe.free_port(port) == port
