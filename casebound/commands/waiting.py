"""How a worker waits for servers that start after it, or are away for a moment.

Above: `casebound.commands.serve`. Below: whatever opens the connections. What is missing is told at
once and again whenever it changes; for how long it is asked for is a setting. Not for commands of a
person, who would rather know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from casebound.cli_errors import UsageError, say
from casebound.temporal import TemporalUnavailable

RETRY_S = 1.0
"""Between two tries; a server that starts takes longer than that."""

Opened = TypeVar("Opened")


async def once_it_answers(opening: Callable[[], Awaitable[Opened]], *, seconds: float) -> Opened:
    """Open a connection, trying again for so long while its server does not answer.

    Raises:
        TemporalUnavailable, UsageError: it still did not answer then; the message says where and why.
    """
    loop, told = asyncio.get_running_loop(), ""
    end = loop.time() + seconds
    while True:
        try:
            return await opening()
        except (TemporalUnavailable, UsageError) as error:
            left = end - loop.time()
            if left <= 0:
                raise type(error)(f"{error.message} (asked for {seconds:g} s)" if seconds else error.message) from error
            if error.message != told:
                told = error.message
                say(f"worker: {told}; trying again for {left:.0f} s")
            await asyncio.sleep(min(RETRY_S, left))


async def unless_pressed(opening: Awaitable[Opened], press: asyncio.Task[int]) -> Opened | None:
    """Wait for the opening, or leave it when the interrupt comes first (None)."""
    task = asyncio.ensure_future(opening)
    try:
        await asyncio.wait({task, press}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
