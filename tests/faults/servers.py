"""Servers of a test's own that it may configure, break, restart and empty; what it broke, it ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast
from urllib.parse import quote

import pytest
import redis

from tests.support.redis_servers import binary, connected, free_port, keys_without_ttl, running

PROGRAMS = ("valkey", "redis-6.2", "redis-server")
"""The last is whatever this machine has installed: Redis 7, mostly."""

PASSWORD = "hunter2/pa55@w0rd"
"""What no message may hold, not even a part of it."""


def program(name: str) -> Path:
    """Find the server's program, or skip the test where there is none."""
    if name != "redis-server":
        return binary(name)
    found = shutil.which(name)
    if found is None:
        pytest.skip("no redis-server on the PATH")
    return Path(found)


LOADING = ("--appendonly", "no", "--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024")
"""200 keys of 2 KB take four seconds, and after each the server looks up."""


class PrivateServer:
    """One server on one port and one directory, whatever is done to it. Get one from `private_server`."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self._program = program(name)
        self._directory = directory
        self.port = next(port for port in iter(free_port, None) if port < 55_000)  # a cluster's other port is 10,000 up
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Start it, or start it again with the data it had; returns when it answers."""
        self._process = self._stack.enter_context(running(self._command(options), self._directory, self.url))

    @contextmanager
    def loading(self) -> Generator[None]:
        """End it and start it again so slowly that it is loading throughout the block.

        Skips the test for Redis 6.2, which looks up from loading too seldom.
        """
        if self.name == "redis-6.2":
            pytest.skip("Redis 6.2 answers nobody for long stretches while it loads")
        with self.admin() as client:
            client.config_set("rdbcompression", "no")
            for number in range(200):
                client.set(f"pad:{number}", bytes(2048), px=60_000)
            client.save()
        self.kill()
        log = self._directory / "loading.log"
        with log.open("wb") as output:
            process = subprocess.Popen(self._command(LOADING), stdout=output, stderr=subprocess.STDOUT)
        try:
            while not _says_loading(self.url):
                assert process.poll() is None, log.read_text(errors="replace")
            yield
        finally:
            process.kill()
            process.wait(10)

    def kill(self) -> None:
        """Kill it, as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._stack.close()

    def freeze(self) -> None:
        """Let it answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, also where it is frozen or in an endless script."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self._stack.close()

    @contextmanager
    def admin(self) -> Generator[redis.Redis]:
        """A client of the test's own."""
        with connected(self.url) as client:
            yield client

    def configure(self, **values: str | int) -> None:
        """Set what can be set while it runs; `_` stands for `-`."""
        with self.admin() as client:
            for name, value in values.items():
                client.config_set(name.replace("_", "-"), value)

    def keys(self) -> list[str]:
        """List all keys."""
        with self.admin() as client:
            return sorted(key.decode() for key in cast("list[bytes]", client.keys("*")))

    def immortal(self) -> list[str]:
        """List the keys that would live for ever."""
        return keys_without_ttl(self.url, "*")

    def url_of(self, user: str, password: str = PASSWORD, *, query: str = "") -> str:
        """Name it as that user would."""
        return f"redis://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/0{query}"

    def add_user(self, *rules: str) -> str:
        """Make a user of the rules; returns the URL to use it by."""
        with self.admin() as client:
            client.execute_command("ACL", "SETUSER", "limited", "reset", "on", f">{PASSWORD}", *rules)
        return self.url_of("limited")

    def _command(self, options: tuple[str, ...]) -> list[str]:
        command = [str(self._program), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._directory)]
        return [*command, "--save", "", "--appendonly", "yes", "--appendfsync", "always", *options]


def _says_loading(url: str) -> bool:
    try:
        with connected(url) as client:
            client.ping()
    except redis.BusyLoadingError:
        return True
    except redis.ConnectionError:
        return False
    raise AssertionError("it loaded its data before anyone could look")
