"""A Valkey server of a test's own, which it may stop, kill, freeze and empty; what was acknowledged is kept."""

from __future__ import annotations

import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.support.redis_servers import binary, connected, free_port, keys_without_ttl, running


class PrivateValkey:
    """One server on one port, whatever is done to it. Close it at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again with the data it had; returns when it answers."""
        command = [str(binary("valkey")), "--port", str(self._port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        self._process = self._stack.enter_context(running(command, self._folder, self.url))

    def stop(self) -> None:
        """Shut it down: connections are refused from now on."""
        self._stack.close()

    def kill(self) -> None:
        """Kill it, as a crash would."""
        self._send(signal.SIGKILL)
        self._stack.close()

    def freeze(self) -> None:
        """Let it answer nothing; commands sent to it meanwhile are carried out once it is thawed."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._send(signal.SIGCONT)

    def flush(self) -> None:
        """Lose all data."""
        with connected(self.url) as client:
            client.flushall()

    def close(self) -> None:
        """Stop it, frozen or not; no key of it may live for ever."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            immortal = keys_without_ttl(self.url, "*")
            self.stop()
            assert immortal == [], f"keys without a TTL: {immortal}"

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
