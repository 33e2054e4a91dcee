"""Strategies for texts and JSON values as no well-behaved planner, tool or person would send them.

Drawn small, grown large: a few choices of Hypothesis' make megabytes, so that an example stays cheap to draw.
"""

# A lambda given to a strategy has parameters nobody can write the type of.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

PIECES = (
    "a",
    "call_1",
    "fc_1|call_2",
    "functions.search:0",
    " ",
    "\x00",
    "\x1b[2J",
    "\r\n",
    "\t",
    "\x7f",
    "\u0085",
    "\u2028",
    "\u202e",
    "\ufeff",
    "\uffff",
    "\ud800",
    "\udfff",
    "\udc80x",
    "\\ud800",
    "\\u0000",
    "e\u0301",
    "é",
    "日本語",
    "😀",
    "👩‍👩‍👧",
    '"',
    "\\",
    "'",
    "`",
    "|",
    "<script>",
    "{{ 7 * 7 }}",
    "%s%n",
    "../../etc/passwd",
    "; DROP TABLE x",
    '{"',
    "]}",
    "null",
    "NaN",
    "-0",
    "1e999",
    "password=hunter2hunter2",
    "AKIAIOSFODNN7EXAMPLE",
    ":",
    "~",
    "~2",
    "/",
    "casebound.plan",
    "__class__",
    "-----BEGIN PRIVATE KEY-----",
)
"""What texts are made of: each has broken some program."""

COUNTS = (1, 1, 1, 2, 7, 64, 255, 256, 257, 3_000, 17_000, 300_000)
"""How often a piece stands in a row: around the limits of ids, arguments and turns."""

HUGE = (2_000_000, 5_000_000)
"""Beyond what one payload of Temporal's may have."""


def either(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Choose one, each as often; `one_of` would count the branches within each."""
    return st.sampled_from(range(len(strategies))).flatmap(lambda place: strategies[place])


def texts(*, huge: bool = True) -> st.SearchStrategy[str]:
    """Texts of one to four pieces, one of them repeated."""
    return st.builds(
        lambda head, piece, count, tail: head + piece * (count // len(piece) or 1) + tail,
        st.sampled_from(("", *PIECES)),
        st.sampled_from(PIECES),
        st.sampled_from(COUNTS + HUGE if huge else COUNTS[:-2]),
        st.sampled_from(("", *PIECES)),
    )


def nested(depth: int, *, as_object: bool) -> Any:
    """A value in `depth` lists or objects."""
    value: Any = 0
    for _ in range(depth):
        value = {"a": value} if as_object else [value]
    return value


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from((0, -1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**300, 10**4299, 10**4300, 10**20_000)),
    st.sampled_from((0.0, -0.0, 1e-320, 1.5, 1e308, float("inf"), float("-inf"), float("nan"))),
    texts(huge=False),
)


def values() -> st.SearchStrategy[Any]:
    """JSON values, and some that are none: NaN, lone surrogates, integers nobody can print."""
    deep = st.builds(lambda d, o: nested(d, as_object=o), st.sampled_from((1, 63, 64, 65, 200, 10_000)), st.booleans())
    wide = st.builds(lambda item, n: [item] * n, SCALARS, st.sampled_from((0, 1, 64, 3_000)))
    keyed = st.builds(lambda key, value: {key: value}, texts(huge=False), SCALARS)
    many = st.builds(lambda key, n: {f"{key}{i}": i for i in range(n)}, st.sampled_from(PIECES), st.just(2_000))
    return st.one_of(SCALARS, deep, wide, keyed, many, st.lists(keyed, max_size=3), texts())


class Untold:
    """No JSON at all; it does not even say what it is."""

    def __repr__(self) -> str:
        """Refuse to be shown."""
        raise ValueError("not to be shown")


class Turning(dict[str, Any]):
    """An object that is JSON once; whoever looks again sees it hold itself."""

    looked = 0

    def items(self) -> Any:
        """Say what it holds, first the truth."""
        self.looked += 1
        return super().items() if self.looked == 1 else [("self", self)]


class Answered:
    """To be awaited, in the place of an answer."""

    def __await__(self) -> Any:
        """Never be awaited."""
        raise AssertionError("nobody awaits an answer")


class Text(str):
    """A text that is more than text."""

    __slots__ = ()


def cyclic() -> list[Any]:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


def no_json() -> st.SearchStrategy[Any]:
    """What Python has and JSON has not."""
    kinds = (
        lambda: b"\xff",
        lambda: {1, 2},
        lambda: {1: 2, None: 3},
        lambda: (1, (2,)),
        Untold,
        cyclic,
        lambda: Text("a\ud800"),
        lambda: range(3),
        lambda: 1j,
    )
    return st.sampled_from(kinds).map(lambda make: make())


ANYTHING = either(values(), no_json())
