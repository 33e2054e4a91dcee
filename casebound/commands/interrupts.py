"""Ctrl-C while a run is followed: stop with a report, then cancel, then leave.

SIGTERM counts as a Ctrl-C: whoever ends the command wants the report first, too.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interrupts() -> Generator[asyncio.Queue[int]]:
    """Yield a queue that gets 1, 2, 3 ... for each interrupt, in place of the default of ending the process."""
    loop, queue, count = asyncio.get_running_loop(), asyncio.Queue[int](), 0

    def on_signal() -> None:
        nonlocal count
        count += 1
        queue.put_nowait(count)

    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in previous:
        loop.add_signal_handler(number, on_signal)
    try:
        yield queue
    finally:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
