"""A server of the test's own, of each program there is, and stores over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from boundary.keys import ToolCallKeyFactory
from boundary.redis_backend import CHAIN, CREATE, PUT, REPLACE, RedisBackend, connect
from boundary.run_index import RunIndex
from boundary.store import InvocationStore
from tests.faults.servers import PROGRAMS, PrivateServer
from tests.support.redis_proxy import RedisProxy, redis_proxy

Open = Callable[[str], RedisBackend]
"""Opens a backend of a URL; it is closed with the test."""

KEYS = ToolCallKeyFactory("faults")


@pytest.fixture(params=PROGRAMS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PrivateServer]:
    """A server to break, of each program in turn; what it holds at the end has a TTL."""
    private = PrivateServer(request.param, tmp_path)
    private.start()
    yield private
    private.close()


@pytest.fixture(scope="session", params=PROGRAMS)
def lasting_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateServer]:
    """A server of each program for tests that leave it as it was, but for its keys."""
    private = PrivateServer(request.param, tmp_path_factory.mktemp(f"lasting-{request.param}"))
    private.start("--appendonly", "no")
    yield private
    private.close()


@pytest.fixture
def clean_server(lasting_server: PrivateServer) -> Iterator[PrivateServer]:
    """The lasting server without keys; what a test leaves there has a TTL."""
    with lasting_server.admin() as client:
        client.flushall()
    yield lasting_server
    assert lasting_server.immortal() == []


@pytest_asyncio.fixture
async def open_backend() -> AsyncIterator[Open]:
    """Open backends as a worker would, by URL."""
    async with AsyncExitStack() as stack:

        def opened(url: str) -> RedisBackend:
            client = connect(url)
            stack.push_async_callback(client.aclose)
            return RedisBackend(client)

        yield opened


@pytest.fixture
def backend(server: PrivateServer, open_backend: Open) -> RedisBackend:
    """The backend of the server."""
    return open_backend(server.url)


@pytest.fixture
def store(backend: RedisBackend) -> InvocationStore:
    """The store of records on the server."""
    return InvocationStore(backend, KEYS)


@pytest.fixture
def runs(backend: RedisBackend) -> RunIndex:
    """The index of runs on the server."""
    return RunIndex(backend, KEYS)


@pytest_asyncio.fixture
async def proxy(server: PrivateServer) -> AsyncIterator[RedisProxy]:
    """A proxy before the server, which knows the scripts already; a fault then meets a script, not its loading."""
    with server.admin() as client:
        for script in (CREATE, REPLACE, PUT, CHAIN):
            client.script_load(script.body)
    async with redis_proxy(server.url) as standing:
        yield standing


@pytest.fixture
def proxied(proxy: RedisProxy, open_backend: Open) -> InvocationStore:
    """The store of records behind the proxy."""
    return InvocationStore(open_backend(proxy.url), KEYS)


@pytest.fixture
def proxied_runs(proxy: RedisProxy, open_backend: Open) -> RunIndex:
    """The index of runs behind the proxy."""
    return RunIndex(open_backend(proxy.url), KEYS)
