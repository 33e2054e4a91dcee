"""Asynchronous tools that misbehave: they raise, never answer, and take no cancellation for an answer.

They run on the worker's own loop, so each must leave it as it was. Beside `tools`, which has those of threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from boundary.contracts import JsonObject, JsonValue
from boundary.tools import ToolContext, ToolFailure
from tests.fuzz.values import Text, Untold, cyclic
from tests.support.tools import ANY_OBJECT, ExecuteAsync, FakeAsyncTool, show_raw

TIMEOUT_MS = 2_000
"""Of the tools that only a cancellation ends; long enough to settle in on a busy machine."""

MAX_CALLS = 2
"""Of each of them in a run, so that no run waits for a batch of them one by one."""


class Beyond(BaseException):
    """Not even an `Exception`."""


def raising(make: Callable[[], BaseException]) -> ExecuteAsync:
    """Make the work of a tool that looks around once, then raises."""

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        await asyncio.sleep(0)
        raise make()

    return work


def answering(make: Callable[[], Any]) -> ExecuteAsync:
    """Make the work of a tool that answers without a wait."""

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        return make()

    return work


def when_cancelled(act: Callable[[], Any]) -> ExecuteAsync:
    """Make the work of a tool that waits for ever; cancelled, it does what it is told to instead of ending."""

    async def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return act()
        raise AssertionError("nobody sets that event")

    return work


def _raise(error: BaseException) -> Any:
    raise error


async def _hangs(arguments: JsonObject, context: ToolContext) -> JsonValue:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets that event")


async def _swallows(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Go on after the cancellation, for longer than anybody waits; then answer."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0.5)
    return {"echo": "late"}


async def _cleans_up(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Tidy up for longer than there is grace, then fail at it."""
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.4)
        raise ToolFailure("the tidying up failed \ud800", retryable=True)


async def _cancels_itself(arguments: JsonObject, context: ToolContext) -> JsonValue:
    task = asyncio.current_task()
    assert task is not None
    task.cancel("\ud800")
    await asyncio.sleep(1)
    return {"echo": 1}


async def _answers_though_cancelled(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Cancel itself and never wait again: the answer is there, and so is the request."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return {"echo": arguments}


async def _blocks(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Hold the loop up, as a tool does that is asynchronous in name only."""
    context.progress("\ud800")
    time.sleep(0.05)
    return {"echo": arguments}


async def _changes_later(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer with what a task left behind goes on writing to."""
    answer: JsonObject = {f"k{n}": n for n in range(2_000)}

    async def change() -> None:
        for n in range(200):
            answer.clear()
            answer.update({f"later{n}.{m}": m for m in range(500)})
            await asyncio.sleep(0)

    _left.add(left := asyncio.create_task(change()))
    left.add_done_callback(_left.discard)
    return answer


_left: set[asyncio.Task[None]] = set()
"""Tasks that tools left behind; the loop alone would forget them."""


async def _leaves_failing(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Wait for a task of its own that fails, and for none of the others."""
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0.01))
        group.create_task(_fail())
    return {"echo": 1}


async def _fail() -> None:
    raise ValueError("\udfff")


_PROMPT: dict[str, ExecuteAsync] = {
    "async_raises_error": raising(lambda: ValueError("no\ud800\x00")),
    "async_raises_stop": raising(StopIteration),
    "async_raises_async_stop": raising(StopAsyncIteration),
    "async_raises_cancelled": raising(asyncio.CancelledError),
    "async_raises_generator_exit": raising(GeneratorExit),
    "async_raises_beyond": raising(Beyond),
    "async_raises_untold": raising(lambda: Beyond(Untold())),
    "async_raises_exit": raising(lambda: SystemExit(3)),
    "async_raises_interrupt": raising(KeyboardInterrupt),
    "async_raises_timeout": raising(TimeoutError),
    "async_fails": raising(lambda: ToolFailure("password=hunter2hunter2 \ud800")),
    "async_answers": answering(lambda: {"echo": {"q": 1}, "0": "a quote that is there"}),
    "async_answers_text": answering(lambda: Text("\ud800")),
    "async_answers_cycle": answering(cyclic),
    "async_answers_untold": answering(Untold),
    "async_cancels_itself": _cancels_itself,
    "async_answers_though_cancelled": _answers_though_cancelled,
    "async_blocks": _blocks,
    "async_changes_later": _changes_later,
    "async_leaves_failing": _leaves_failing,
}

_ENDLESS: dict[str, ExecuteAsync] = {
    "hangs": _hangs,
    "hangs_swallows": _swallows,
    "hangs_cleans_up": _cleans_up,
    "hangs_then_answers": when_cancelled(lambda: {"echo": "late"}),
    "hangs_then_raises": when_cancelled(lambda: _raise(ValueError("\ud800"))),
    "hangs_then_fails": when_cancelled(lambda: _raise(ToolFailure("again", retryable=True))),
    "hangs_then_exits": when_cancelled(lambda: _raise(SystemExit(3))),
    "hangs_then_interrupts": when_cancelled(lambda: _raise(KeyboardInterrupt())),
    "hangs_then_beyond": when_cancelled(lambda: _raise(Beyond())),
}

ENDLESS = frozenset(_ENDLESS)
"""Those that may end as EXECUTION_TIMEOUT; all others answer at once."""


def async_tools() -> list[FakeAsyncTool]:
    """One tool for each way to misbehave."""
    tools = [FakeAsyncTool(name, work_async=work, show=show_raw, schema=ANY_OBJECT) for name, work in _PROMPT.items()]
    return tools + [
        FakeAsyncTool(name, work_async=work, show=show_raw, schema=ANY_OBJECT, timeout_ms=TIMEOUT_MS)
        for name, work in _ENDLESS.items()
    ]
