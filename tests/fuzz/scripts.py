"""Strategies for whole hostile runs: what the planner says turn by turn, and what the run was allowed.

Most calls are nearly right, so that a run gets far: hostile in one part, sound in the others.
"""

# A lambda given to a strategy has parameters nobody can write the type of.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from activities.contracts import RunLimits
from activities.planners.port import PlannerError, RequestedCall, Turn
from tests.fuzz.tools import NAMES
from tests.fuzz.values import ANYTHING, PIECES, either, texts, values

IDS = ("call_1", "toolu_2", "functions.search:0", "fc_1|call_2", "~", "x" * 256, ":", "\\ud800")
"""Legal ids that many calls and citations share."""

_SMALL = st.sampled_from(("{}", "", '{"q": 1}', '{"q": "\\ud800"}', '{"q": "\\u0000"}', '{"q": 1, "q": 2}', "[]", "7"))


@dataclass(frozen=True)
class Action:
    """What a person does to the run from outside, however it takes it."""

    kind: Literal["cancel", "stop", "progress"]
    turn: int
    """Done when the planner is asked for this turn; 0: as soon as the run is started."""
    wait_s: float = 0
    """And so much later: while it plans, while its calls run, or when it is over."""
    times: int = 1
    """Side by side."""
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Script:
    """One run: its input, its planner's turns, and what people do meanwhile."""

    question: str
    runbook: str | None
    limits: RunLimits
    deadline_s: float
    turns: tuple[Turn | PlannerError | Exception, ...]
    actions: tuple[Action, ...] = ()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Let Hypothesis show no more than this."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        """Show what the run is like, not megabytes of it."""
        turns = ", ".join(_shown(turn) for turn in self.turns)
        actions = [(action.kind, action.turn, action.wait_s, action.times) for action in self.actions]
        return f"Script({self.question[:40]!a}, {self.limits!r}, {self.deadline_s} s, {actions}, [{turns[:3000]}])"


def _shown(turn: Any) -> str:
    if not isinstance(turn, Turn):
        return f"{type(turn).__name__}"
    calls = [_short(call) for call in turn.calls[:4]] if isinstance(turn.calls, list | tuple) else [_short(turn.calls)]
    more = f" and {len(turn.calls) - 4} more" if isinstance(turn.calls, list | tuple) and len(turn.calls) > 4 else ""
    return f"Turn({', '.join(calls)}{more}; report {_short(turn.report)})"


def _short(value: Any) -> str:
    try:
        return ascii(value)[:160]
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__}>"


def _ids() -> st.SearchStrategy[Any]:
    return either(*[st.sampled_from(IDS)] * 4, texts(), ANYTHING)


def _names() -> st.SearchStrategy[Any]:
    known = st.sampled_from(NAMES)
    return either(*[known] * 8, texts(), ANYTHING)


def _arguments() -> st.SearchStrategy[Any]:
    written = values().map(_json)
    padded = st.sampled_from((10, 15_000, 16_370, 16_384, 60_000)).map(
        lambda n: json.dumps({"pad": "\x01é" * (n // 8)})
    )
    return either(_SMALL, _SMALL, written, padded, texts(), values(), ANYTHING)


def _json(value: Any) -> str:
    try:
        return json.dumps({"q": value})
    except (RecursionError, ValueError):
        return '{"q": ' * 10_000


def _calls() -> st.SearchStrategy[list[Any]]:
    """Up to 200 calls: each drawn call stands once, or many times with ids of its own."""

    def grown(some: list[tuple[Any, Any, Any, int, bool]], strays: list[Any]) -> list[Any]:
        return [
            RequestedCall(f"c{place}.{n}" if own_id else call_id, name, arguments)
            for place, (call_id, name, arguments, count, own_id) in enumerate(some)
            for n in range(count)
        ] + strays

    count = st.sampled_from((1, 1, 1, 1, 2, 3, 8, 70))
    own_id = st.sampled_from((True, True, False))
    one = st.tuples(_ids(), _names(), _arguments(), count, own_id)
    return st.builds(grown, st.lists(one, min_size=1, max_size=4), st.lists(ANYTHING, max_size=1))


def _citations() -> st.SearchStrategy[Any]:
    pointer = either(st.none(), st.sampled_from(("", "/", "/q", "/echo/q", "/0", "/~2", "/-1", "/a/" * 200)), texts())
    quote = either(st.none(), st.sampled_from(("", "1", "null", "a quote that is there")), texts(), values())
    fair = st.fixed_dictionaries({"tool_call_id": st.sampled_from(IDS), "pointer": pointer, "quote": quote})
    own = st.fixed_dictionaries({"tool_call_id": st.sampled_from(("c0.0", "c1.0", "c0.1")), "pointer": pointer})
    return either(fair, own, st.fixed_dictionaries({"tool_call_id": _ids()}), values())


def _claims() -> st.SearchStrategy[Any]:
    text = either(st.sampled_from(PIECES), st.just("x" * 4000), texts(huge=False))
    many = st.builds(lambda one, n: [one] * n, _citations(), st.sampled_from((1, 2, 20, 21)))
    kind = st.sampled_from(("finding", "finding", "absence", "guess"))
    return st.fixed_dictionaries({"text": text, "kind": kind, "citations": either(st.lists(_citations()), many)})


def _reports() -> st.SearchStrategy[Any]:
    many = st.builds(lambda one, n: [one] * n, _claims(), st.sampled_from((1, 2, 60, 100, 101)))
    fair = either(st.lists(_claims(), max_size=4), many).map(lambda claims: {"claims": claims})
    return either(fair, fair, fair, ANYTHING, st.just({"claims": [{"text": "x" * 5_000_000}]}))


def _turns() -> st.SearchStrategy[Any]:
    calls = _calls().map(lambda some: Turn(calls=some))
    both = st.builds(lambda some, report: Turn(calls=some, report=report), _calls(), _reports())
    odd = st.builds(
        lambda some, report, tokens, remarks: Turn(calls=some, report=report, tokens=tokens, remarks=remarks),
        *[ANYTHING] * 4,
    )
    failing = st.builds(PlannerError, texts())
    broken = texts(huge=False).map(ValueError)
    return either(*[calls] * 20, both, odd, failing, broken, ANYTHING)


def _limits() -> st.SearchStrategy[RunLimits]:
    return st.builds(
        RunLimits,
        max_tool_calls=st.sampled_from((50, 200, 50, 200, 0, 1, 3, 5000)),
        max_turns=st.sampled_from((40, 40, 1, 2, 2000)),
        max_run_bytes=st.sampled_from((64 * 2**20,) * 8 + (1, 16_384, 20_000, 100_000, 10**30)),
        max_record_bytes=st.sampled_from((9 * 2**20, 9 * 2**20, 16_384, 60_000, 10**30)),
        max_tokens=st.sampled_from((None, None, None, 1, 10**30)),
        max_parallel_calls=st.sampled_from((4, 1, 16, 64)),
        repeat_window_s=st.sampled_from((600, 0)),
        preview_chars=st.sampled_from((300, 0, 1, 500)),
    )


def _actions() -> st.SearchStrategy[list[Action]]:
    """Nothing, in half of the runs; else any of: progress, stops and a cancellation, at one moment or several."""
    one = st.builds(
        Action,
        kind=st.sampled_from(("progress", "progress", "stop", "stop", "cancel")),
        turn=st.sampled_from((0, 1, 1, 2, 2, 3, 4, 7)),
        wait_s=st.sampled_from((0.0, 0.0, 0.02, 0.05, 0.1, 0.3, 1.0)),
        times=st.sampled_from((1, 1, 1, 2, 8)),
        reason=texts(huge=False).map(lambda text: _fair(text, 500)),
    )
    together = st.builds(
        lambda stop, cancel: [stop, Action("cancel", stop.turn, stop.wait_s), cancel],
        one.map(lambda action: Action("stop", action.turn, action.wait_s, action.times)),
        one,
    )
    return either(st.just([]), st.just([]), st.just([]), st.lists(one, min_size=1, max_size=3), together)


def _fair(text: str, limit: int) -> str:
    """Make it a text a client can send: valid Unicode within the limit."""
    return text.encode("utf-8", "replace").decode()[:limit] or "?"


@st.composite
def runs(draw: st.DrawFn) -> Script:
    """Hostile runs of up to six turns before the last report."""
    last = _reports().map(lambda report: Turn(report=report))
    return Script(
        question=_fair(draw(texts(huge=False)), 4000),
        runbook=draw(either(st.none(), texts(huge=False).map(lambda text: _fair(text, 30_000)))),
        limits=draw(_limits()),
        deadline_s=draw(st.sampled_from((600.0,) * 10 + (3.0, 0.001))),
        turns=(*draw(st.lists(_turns(), min_size=1, max_size=6)), draw(last), draw(last)),
        actions=tuple(draw(_actions())),
    )
