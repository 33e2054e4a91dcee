"""Real servers of the Redis protocol for tests: started as native processes, reached by URL.

Not a store: what is written there is made by `boundary.redis_backend`.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import redis


@contextmanager
def redis_server(binary: Path, directory: Path, *options: str) -> Generator[str]:
    """Run a server that keeps nothing and never evicts; yields its URL, stops it at the end."""
    port = free_port()
    command = [str(binary), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory)]
    command += ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", *options]
    log = directory / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    url = f"redis://127.0.0.1:{port}/0"
    try:
        _wait_for_ping(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait(10)


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
