"""Fixtures every test may ask for: real servers, names of its own, and an invariant on every key.

Servers live for the session and are processes; clients, task queues and key prefixes are a test's own.
"""

from __future__ import annotations

import atexit
import os
import signal
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import settings
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from boundary.redis_backend import RedisBackend, connect
from casebound.replay_pytest import ReplayedRuns, replayed_runs
from casebound.worker import Store, store_over
from tests.support import redis_servers, temporal
from tests.support.redis_servers import RedisServers, from_environment
from tests.support.runs import REPLAYED, Harness
from tests.support.targets import pytest_runtest_makereport, pytest_terminal_summary

__all__ = ["pytest_runtest_makereport", "pytest_terminal_summary", "replayed_runs"]

# The SDK aborts an interpreter that exits while one of its threads still releases an object.
atexit.register(time.sleep, 0.1)

# How fast one example runs says more about the machine's other work than about the code.
settings.register_profile("casebound", settings.get_profile("ci" if os.environ.get("CI") else "default"), deadline=None)
settings.load_profile("casebound")

# A suite started in the background ignores interrupts, one under nohup hangups, and so would every command of theirs.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# What the machine is configured for is none of a test's business, and may be production.
for _name in list(os.environ):
    if _name.startswith("TEMPORAL_") or _name in ("REDIS_URL", "CASEBOUND_STATE_DIR"):
        del os.environ[_name]

REPLAYED_MAX = 10
"""Runs of one test that are replayed, beside those that it replayed itself."""

MARIADB_URL_VARIABLE = "CASEBOUND_TEST_MARIADB_URL"
POSTGRES_URL_VARIABLE = "CASEBOUND_TEST_POSTGRES_URL"
LOGHUB_VARIABLE = "CASEBOUND_LOGHUB"


@pytest.fixture(scope="session", autouse=True)
def state_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The session's own place for what commands keep between runs, here and in child processes."""
    directory = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(directory))
        yield directory


@pytest.fixture(scope="session")
def redis_server_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServers]:
    """The session's servers of the Redis protocol."""
    with ExitStack() as stack:
        yield RedisServers(tmp_path_factory.mktemp("redis"), stack)


@pytest.fixture(scope="session")
def valkey_url(redis_server_pool: RedisServers) -> str:
    """URL of the Valkey server that the embedded stack uses, too."""
    return redis_server_pool.url("valkey")


@pytest.fixture(params=RedisServers.NAMES)
def redis_url(request: pytest.FixtureRequest, redis_server_pool: RedisServers) -> str:
    """URL of each server in turn: the test runs once per server that is there."""
    return redis_server_pool.url(request.param)


@pytest.fixture
def key_prefix() -> str:
    """A key prefix no other test has; prefixes made from it begin with it."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture(autouse=True)
def no_key_lives_for_ever(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every key a test leaves in a store has a TTL; the keys themselves are deleted."""
    names: list[str] = request.fixturenames
    if not {"valkey_url", "redis_url", "redis_server_pool"} & set(names):
        yield
        return
    servers: RedisServers = request.getfixturevalue("redis_server_pool")
    prefix: str | None = request.getfixturevalue("key_prefix") if "key_prefix" in names else None
    yield
    immortal: dict[str, list[str]] = {}
    for name, url in servers.started.items():
        own = name in RedisServers.OWN
        if not own and prefix is None:
            continue
        pattern = "*" if own else f"{prefix}*"
        immortal[name] = redis_servers.keys_without_ttl(url, pattern)
        redis_servers.delete_keys(url, pattern)
    assert not any(immortal.values()), f"keys without a TTL: {immortal}"


@pytest.fixture(autouse=True)
def every_run_replays(request: pytest.FixtureRequest, replayed_runs: ReplayedRuns) -> Iterator[None]:
    """What a test leaves on the session's dev server replays, and asks for just what it asked for."""
    REPLAYED.clear()
    names: list[str] = request.fixturenames
    if "dev_server" in names and "task_queue" in names:
        server: WorkflowEnvironment = request.getfixturevalue("dev_server")
        queue: str = request.getfixturevalue("task_queue")
        address = server.client.service_client.config.target_host
        replayed_runs.watch(address, f"TaskQueue = '{queue}'", limit=REPLAYED_MAX)
    yield
    for run_id in REPLAYED:
        replayed_runs.leave_out(run_id)


@pytest.fixture
def task_queue() -> str:
    """A task queue no other test has; short, since it stands in most history events."""
    return f"q-{uuid.uuid4().hex[:8]}"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def dev_server() -> AsyncIterator[WorkflowEnvironment]:
    """The session's Temporal dev server; ask for `temporal_client` to use it."""
    async with await temporal.start_dev_server() as env:
        yield env


@pytest_asyncio.fixture
async def temporal_client(dev_server: WorkflowEnvironment) -> Client:
    """A client of the dev server on the test's own loop."""
    return await temporal.connect(dev_server)


@pytest_asyncio.fixture
async def time_skipping() -> AsyncIterator[WorkflowEnvironment]:
    """A dev server of the test's own whose workflows have virtual clocks."""
    async with await temporal.start_time_skipping() as env:
        yield env


@pytest_asyncio.fixture
async def valkey_store(valkey_url: str, key_prefix: str) -> AsyncIterator[Store]:
    """A store on Valkey, for what the choice of store cannot change."""
    redis = connect(valkey_url)
    yield await store_over(RedisBackend(redis), key_prefix)
    await redis.aclose()


@pytest.fixture
def runs(valkey_store: Store, temporal_client: Client, task_queue: str, key_prefix: str) -> Harness:
    """Whole runs over Valkey, by real time."""
    return Harness(temporal_client, valkey_store, task_queue, key_prefix)


@pytest.fixture
def virtual_runs(valkey_store: Store, time_skipping: WorkflowEnvironment, task_queue: str) -> Harness:
    """Whole runs over Valkey, with a virtual clock each."""
    return Harness(time_skipping.client, valkey_store, task_queue)


@pytest_asyncio.fixture
async def java_time_skipping() -> AsyncIterator[WorkflowEnvironment]:
    """The older time-skipping server, for one smoke test."""
    async with await temporal.start_java_time_skipping() as env:
        yield env


@pytest.fixture(scope="session")
def mariadb_url() -> str:
    """URL of a MariaDB server with a database for tests; make tables of your own names, drop them."""
    return from_environment(MARIADB_URL_VARIABLE)


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """URL of a PostgreSQL server with a database for tests; make tables of your own names, drop them."""
    return from_environment(POSTGRES_URL_VARIABLE)


@pytest.fixture(scope="session")
def loghub() -> Path:
    """The directory of the LogHub data sets."""
    return Path(from_environment(LOGHUB_VARIABLE))
