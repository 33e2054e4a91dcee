"""Workers in processes of their own, and what they say. Below: `tests.crash.worker_process`."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.crash.worker_process import ORDERS, Order
from tests.support import tree
from tests.support.waiting import wait_until

SOON_S = 15.0
"""Longest wait for something a running worker does at once; a busy machine takes its time."""

STARTED_S = 40.0
"""Longest wait for a new process; several starting at once on a busy machine import for long."""


class WorkerProcess:
    """A worker, or several side by side, that a test may kill, freeze or stop."""

    def __init__(self, orders: Sequence[Order], log: Path) -> None:
        self.said: list[str] = []
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.worker_process", ORDERS.dump_json(list(orders)).decode()],
                cwd=tree.ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    async def serves(self) -> None:
        """Wait until the worker takes work."""
        await self.says("serving", within_s=STARTED_S)

    async def says(self, text: str, *, within_s: float = SOON_S) -> None:
        """Wait until the worker has said the text."""

        def heard() -> bool:
            running = self._process.poll() is None
            assert running or text in self.said, f"ended ({self._process.returncode}) unheard: {self._told()}"
            return text in self.said

        try:
            await wait_until(heard, description=f"a worker saying {text!r}", timeout=within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self._told()}") from None

    async def says_again(self, text: str, *, within_s: float) -> None:
        """Wait until the worker says the text once more than now."""
        said = self.said.count(text)
        await wait_until(lambda: self.said.count(text) > said, description=f"{text!r} once more", timeout=within_s)

    async def ends(self, *, within_s: float = SOON_S) -> int:
        """Wait until the process is gone; returns its exit code, that of a signal is negative."""
        await wait_until(
            lambda: self._process.poll() is not None, description="the end of a worker's process", timeout=within_s
        )
        self._listener.join()
        return self._process.returncode

    def release(self) -> None:
        """Let the worker go on from where it waits; a frozen one reads it when it is thawed."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def send(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def close(self) -> None:
        """Leave nothing behind."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._listener.join()
        self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line.rstrip("\n"))

    def _told(self) -> str:
        return f"it said {self.said}; its log:\n{self._log.read_text(errors='replace')[-3000:]}"
