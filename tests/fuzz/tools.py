"""Tools that raise, answer and show anything. Each misbehaves in its own way, the same way each time."""

# A lambda given to a strategy has parameters nobody can write the type of.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, cast

from boundary.contracts import CallError, EvidenceStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import Projection, Tool, ToolContext, ToolFailure
from tests.fuzz.values import Text, Untold, cyclic, nested
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
    context.progress("\x00é" * 200)
    time.sleep(0.35)
    return {"echo": arguments}


def _raise(error: BaseException) -> Any:
    raise error


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
}

_CHECKS: dict[str, Callable[[JsonObject], Any]] = {
    "refuses": lambda _: CallError(code=ErrorCode.INVALID_ARGUMENTS, message="no\x00"),
    "refuses_oddly": lambda _: "no",
    "refuses_failing": lambda _: _raise(ToolFailure("no\ud800")),
    "refuses_raising": lambda _: _raise(Silent()),
}


def hostile_tools() -> list[Tool]:
    """One tool for each way to misbehave, and two that behave."""
    tools = [FakeTool(name, work=work, show=show_raw, schema=ANY_OBJECT) for name, work in _WORKS.items()]
    tools += [FakeTool(name, show=show, schema=ANY_OBJECT) for name, show in _SHOWS.items()]
    tools += [FakeTool(name, schema=ANY_OBJECT, refuse=refuse) for name, refuse in _CHECKS.items()]
    tools += [FakeTool("echoes", schema=ANY_OBJECT), FakeTool("strict"), FakeTool("rare", max_calls=2)]
    return [*tools, FakeTool("writes", read_only=False)]


NAMES = tuple(tool.definition.name for tool in hostile_tools())
