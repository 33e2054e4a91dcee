"""Ctrl-C while a run is followed: stop with a report, then cancel, then leave.

SIGTERM and SIGHUP count as a Ctrl-C: whoever ends the command wants the report first, too.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interrupts() -> Generator[asyncio.Queue[int]]:
    """Yield a queue that gets 1, 2, 3 ... for each interrupt, in place of the default of ending the process."""
    loop, queue, count = asyncio.get_running_loop(), asyncio.Queue[int](), 0

    terminals = [number for number in (1, 2) if os.isatty(number)]

    def on_signal(number: int) -> None:
        nonlocal count
        if number == signal.SIGHUP:
            _leave_terminal(terminals)
        count += 1
        queue.put_nowait(count)

    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    if previous[signal.SIGHUP] is signal.SIG_IGN:  # by `nohup`
        del previous[signal.SIGHUP]
    for number in previous:
        loop.add_signal_handler(number, on_signal, number)
    try:
        yield queue
    finally:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _leave_terminal(terminals: list[int]) -> None:
    """Write nothing more to a terminal that hung up: each attempt would be an error."""
    for number in terminals:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)
