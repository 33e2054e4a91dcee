"""Tools that raise, answer and show anything. Each misbehaves in its own way, the same way each time."""

# A lambda given to a strategy has parameters nobody can write the type of.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import Projection, Tool, ToolContext, ToolFailure
from tests.fuzz.async_tools import Beyond, async_tools
from tests.fuzz.values import Answered, Text, Turning, Untold, cyclic, nested
from tests.support.tools import ANY_OBJECT, FakeTool, show_nothing, show_raw

FOUND = EvidenceStatus.EVIDENCE_FOUND


class Silent(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        """Refuse to be shown."""
        raise RuntimeError("not to be shown")


def raising(make: Callable[[], BaseException]) -> Callable[[JsonObject, ToolContext], JsonValue]:
    """Make the work of a tool that raises."""

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise make()

    return work


def answering(make: Callable[[], Any]) -> Callable[[JsonObject, ToolContext], JsonValue]:
    """Make the work of a tool that answers."""
    return lambda arguments, context: make()


def showing(make: Callable[[], Any]) -> Callable[[JsonObject, JsonValue, int], Projection]:
    """Make a projector that shows the same, whatever was found."""
    return lambda arguments, raw, budget_bytes: make()


def _slow(arguments: JsonObject, context: ToolContext) -> JsonValue:
    context.progress("\x00é\ud800" * 200)
    context.progress("\udfff")
    time.sleep(0.35)
    return {"echo": arguments}


def _raise(error: BaseException) -> Any:
    raise error


def _writes(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Leave nothing of the arguments but a cycle, which the projector then gets."""
    arguments.clear()
    arguments["self"] = arguments
    return {"echo": None}


def _answers_arguments(arguments: JsonObject, context: ToolContext) -> JsonValue:
    arguments["more"] = [1]
    return arguments


def _changes_later(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Answer with what another thread goes on writing to while it is projected and stored."""
    answer: JsonObject = {f"k{n}": n for n in range(2_000)}

    def change() -> None:
        for n in range(20_000):
            answer.pop(f"k{n % 2_000}", None)
            answer[f"later{n % 3_000}"] = [n]

    threading.Thread(target=change, daemon=True).start()
    return answer


def _raise_odd(message: str, /, **attributes: Any) -> Any:
    """Raise a failure with attributes of other types than it should have."""
    failure = ToolFailure(message)
    for name, value in attributes.items():
        setattr(failure, name, value)
    raise failure


class _FailsOnce:
    """Fails retryably the first time it sees some arguments, then answers."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        key = ascii(arguments)[:500]
        with self._lock:
            first = key not in self._seen
            self._seen ^= {key}
        if first:
            raise ToolFailure("not yet", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)
        return {"echo": arguments}


_WORKS: dict[str, Callable[[JsonObject, ToolContext], JsonValue]] = {
    "raises_error": raising(lambda: ValueError("no\ud800\x00")),
    "raises_huge": raising(lambda: ValueError("x" * 3_000_000)),
    "raises_silent": raising(Silent),
    "raises_timeout": raising(TimeoutError),
    "raises_memory": raising(MemoryError),
    "raises_group": raising(lambda: ExceptionGroup("\ud800", [ValueError("a"), OSError(2, "b")])),
    "raises_exit": raising(lambda: SystemExit(3)),
    "raises_interrupt": raising(KeyboardInterrupt),
    "raises_stop": raising(lambda: StopIteration({"echo": 1})),
    "raises_cancelled": raising(asyncio.CancelledError),
    "raises_generator_exit": raising(GeneratorExit),
    "raises_beyond": raising(Beyond),
    "raises_untold": raising(lambda: Beyond(Untold())),
    "fails_untold": lambda arguments, context: _raise_odd("no", code=cast(ErrorCode, Untold())),
    "fails_perhaps": lambda arguments, context: _raise_odd("no", retryable="perhaps"),
    "fails_wordless": lambda arguments, context: _raise_odd("no", message=None),
    "writes_arguments": _writes,
    "answers_arguments": _answers_arguments,
    "changes_later": _changes_later,
    "answers_turning": answering(lambda: Turning(a=1)),
    "answers_awaitable": answering(Answered),
    "fails": raising(lambda: ToolFailure("password=hunter2hunter2 \ud800" * 500)),
    "fails_oddly": raising(lambda: ToolFailure(cast(str, None), code=cast(ErrorCode, "NOT_A_CODE"))),
    "fails_once": _FailsOnce(),
    "answers_set": answering(lambda: {1, 2}),
    "answers_bytes": answering(lambda: b"\x00\xff"),
    "answers_cycle": answering(cyclic),
    "answers_untold": answering(Untold),
    "answers_nan": answering(lambda: [float("nan")]),
    "answers_deep": answering(lambda: nested(10_000, as_object=True)),
    "answers_integer": answering(lambda: {"n": 10**20_000}),
    "answers_numbers": answering(lambda: [2**63, -(2**64), 10**300, -0.0, 1e308]),
    "answers_surrogates": answering(lambda: {"\ud800": ["\udfff", "\\ud800", Text("\x00")]}),
    "answers_keys": answering(lambda: {1: "a", None: "b"}),
    "answers_3mb": answering(lambda: "é" * 1_500_000),
    "answers_9mb": answering(lambda: "x" * 9_000_000),
    "answers_200kb": answering(lambda: ["\x01" * 30_000]),
    "answers_none": answering(lambda: None),
    "answers_quote": answering(lambda: {"echo": {"q": "a quote that is there"}, "0": [1.50, "null"]}),
    "slow": _slow,
}


class Equal:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        """Say yes."""
        return True

    def __hash__(self) -> int:
        """Be like nothing in particular."""
        return 0


def _show_emptied(arguments: JsonObject, raw: Any, budget_bytes: int) -> Projection:
    """Take everything out of what it was given, then show it."""
    arguments.clear()
    raw.clear()
    return Projection(raw, FOUND)


_SHOWS: dict[str, Callable[[JsonObject, JsonValue, int], Projection]] = {
    "shows_nothing": show_nothing,
    "shows_none": showing(lambda: None),
    "shows_text": showing(lambda: "not a projection"),
    "shows_set": showing(lambda: Projection({1}, FOUND)),
    "shows_deep": showing(lambda: Projection(nested(10_000, as_object=False), FOUND)),
    "shows_300kb": showing(lambda: Projection("x" * 300_000, FOUND)),
    "shows_200kb": showing(lambda: Projection(["\x01" * 30_000], FOUND)),
    "shows_error": showing(lambda: Projection({}, EvidenceStatus.ERROR)),
    "shows_unknown": showing(lambda: Projection({}, cast(EvidenceStatus, "PERHAPS"))),
    "shows_surrogates": showing(lambda: Projection({"\ud800": ["\udfff\ud83d"], "other": 1}, FOUND)),
    "shows_raising": showing(lambda: _raise(ZeroDivisionError("\ud800"))),
    "shows_silent": showing(lambda: _raise(Silent())),
    "shows_stop": showing(lambda: _raise(StopIteration())),
    "shows_cycle": showing(lambda: Projection(cyclic(), FOUND)),
    "shows_turning": showing(lambda: Projection(Turning(a=1), FOUND)),
    "shows_beyond": showing(lambda: _raise(Beyond())),
    "shows_exit": showing(lambda: _raise(SystemExit(3))),
    "shows_interrupt": showing(lambda: _raise(KeyboardInterrupt())),
    "shows_cancelled": showing(lambda: _raise(asyncio.CancelledError())),
    "shows_untold": showing(lambda: Projection({"a": 1}, cast(EvidenceStatus, Untold()))),
    "shows_equal": showing(lambda: Projection({"a": 1}, cast(EvidenceStatus, Equal()))),
    "shows_perhaps": showing(lambda: Projection({"a": 1}, FOUND, truncated=cast(bool, "perhaps"))),
    "shows_cut": showing(lambda: Projection(["cut"], FOUND, truncated=cast(bool, [cyclic()]))),
    "shows_truncated": showing(lambda: Projection({}, FOUND, truncated=True)),
    "shows_class": showing(lambda: Projection),
    "shows_emptied": _show_emptied,
    "shows_arguments": lambda arguments, raw, budget_bytes: Projection(arguments, FOUND),
}

_CHECKS: dict[str, Callable[[JsonObject], Any]] = {
    "refuses": lambda _: CallError(code=ErrorCode.INVALID_ARGUMENTS, message="no\x00"),
    "refuses_oddly": lambda _: "no",
    "refuses_failing": lambda _: _raise(ToolFailure("no\ud800")),
    "refuses_raising": lambda _: _raise(Silent()),
    "refuses_stop": lambda _: _raise(StopIteration()),
    "refuses_cancelled": lambda _: _raise(asyncio.CancelledError()),
    "refuses_generator_exit": lambda _: _raise(GeneratorExit()),
    "refuses_beyond": lambda _: _raise(Beyond()),
    "refuses_exit": lambda _: _raise(SystemExit(3)),
    "refuses_wordless": lambda _: _raise_odd("no", message=None),
    "refuses_untold": lambda _: Untold(),
    "refuses_emptying": lambda arguments: arguments.clear(),
}


def hostile_tools() -> list[Tool]:
    """One tool for each way to misbehave, and two that behave."""
    tools = [FakeTool(name, work=work, show=show_raw, schema=ANY_OBJECT) for name, work in _WORKS.items()]
    tools += [FakeTool(name, show=show, schema=ANY_OBJECT) for name, show in _SHOWS.items()]
    tools += [FakeTool(name, schema=ANY_OBJECT, refuse=refuse) for name, refuse in _CHECKS.items()]
    tools += [FakeTool("echoes", schema=ANY_OBJECT), FakeTool("strict"), FakeTool("rare", max_calls=2)]
    return [*tools, *async_tools(), FakeTool("writes", read_only=False)]


NAMES = tuple(tool.definition.name for tool in hostile_tools())
