"""Waiting for something to become true, bounded, instead of sleeping."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

T = TypeVar("T")


async def wait_until(
    predicate: Callable[[], T | Awaitable[T]],
    *,
    description: str,
    timeout: float = 10.0,
    interval: float = 0.02,
) -> T:
    """Ask the predicate until its answer is true, and return that answer.

    Raises:
        AssertionError: it was not true within `timeout` seconds; the message names `description`.
    """
    end = time.monotonic() + timeout
    while True:
        answer = predicate()
        value = cast("T", await answer if inspect.isawaitable(answer) else answer)
        if value:
            return value
        if time.monotonic() >= end:
            raise AssertionError(f"not within {timeout} s: {description}; last answer {value!r}")
        await asyncio.sleep(interval)
