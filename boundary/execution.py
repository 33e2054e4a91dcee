"""Runs a tool so that it can be left: with a time limit, a stop flag and its own threads.

Above: `tool_boundary`. A synchronous tool runs in the boundary's thread pool; a thread cannot be
killed, so a stopped one is abandoned: its late result goes nowhere. Not here: what a result means.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import TypeVar, cast

from boundary.contracts import JsonObject, JsonValue
from boundary.tools import Tool, ToolContext, ToolFailure

_T = TypeVar("_T")

ASYNC_STOP_GRACE_S = 0.2
"""How long a cancelled asynchronous tool may tidy up before it is abandoned."""


class TimedOut(Exception):
    """The limit passed before the tool answered."""


async def run_tool(
    tool: Tool, arguments: JsonObject, context: ToolContext, stop: threading.Event, pool: Executor, limit_s: float
) -> JsonValue:
    """Execute the tool within the limit; on the way out, whatever the reason, it is told to stop.

    Raises:
        TimedOut: the limit passed.
        ToolFailure or any Exception of the tool; never SystemExit or KeyboardInterrupt.
    """
    if inspect.iscoroutinefunction(tool.execute):
        execute = cast("Callable[[JsonObject, ToolContext], Awaitable[JsonValue]]", tool.execute)
        work = asyncio.ensure_future(_contained_async(execute, arguments, context))
    else:
        work = asyncio.get_running_loop().run_in_executor(pool, _contained, tool, arguments, context)
    return await leavable(work, stop, limit_s)


async def leavable(work: asyncio.Future[_T], stop: threading.Event, limit_s: float) -> _T:
    """Wait for the work within the limit; leave it behind, told to stop, when the wait ends without it."""
    try:
        done, _ = await asyncio.wait({work}, timeout=limit_s)
        if not done:
            raise TimedOut
        if work.cancelled():
            raise ToolFailure("the tool cancelled itself")
        error = work.exception()
        if error is not None and not isinstance(error, Exception):
            raise _ended(error)
        return work.result()
    finally:
        stop.set()
        if not work.done():
            work.cancel()
            work.add_done_callback(_forget)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({work}, timeout=ASYNC_STOP_GRACE_S)


def _contained(tool: Tool, arguments: JsonObject, context: ToolContext) -> JsonValue:
    try:
        return tool.execute(arguments, context)
    except StopIteration as error:  # no future takes one: the call would never be done
        raise _ended(error) from None
    except Exception:
        raise
    except BaseException as error:  # the thread is the boundary's own; nothing else can end it
        raise _ended(error) from None


async def _contained_async(
    execute: Callable[[JsonObject, ToolContext], Awaitable[JsonValue]], arguments: JsonObject, context: ToolContext
) -> JsonValue:
    try:
        return await execute(arguments, context)
    except (SystemExit, KeyboardInterrupt) as error:  # asyncio would end the worker with it
        raise _ended(error) from None


def _ended(error: BaseException) -> ToolFailure:
    return ToolFailure(f"the tool tried to end what runs it ({type(error).__name__})")


def _forget(work: asyncio.Future[_T]) -> None:
    """Take the late result or exception of abandoned work, so that nothing logs it as unretrieved."""
    if not work.cancelled():
        work.exception()
