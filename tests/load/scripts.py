"""What each of the hundred runs asks for, and what must become of it: a model of admission that knows no workflow.

Both sides make a script from its number alone, the planner in the worker's process and the test in its own.
Limits are tight, so that each kind of refusal happens in many of the runs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from activities.contracts import RunLimits, RunOutcome
from boundary.errors import ErrorCode
from boundary.limits import KIB, MIN_RECORD_BYTES

MAX_CALLS: dict[str, int | None] = {"quick": None, "threaded": None, "rare": 2}
"""The tools, and how often a run may call each."""

BODIES = (100, 100, 4_000, 9_000, 16_000)
"""Bytes of a tool's answer. It stands in its record twice, raw and shown; the last fits in no record of a run."""

OWN_BYTES = range(600, 2 * KIB)
"""What a record takes beside its bodies."""


@dataclass(frozen=True)
class Asked:
    """One call that the planner asks for."""

    call_id: str
    tool: str
    body: int


@dataclass(frozen=True)
class Script:
    """One run: what it is allowed, and what its planner asks for, turn by turn, before it reports."""

    limits: RunLimits
    turns: tuple[tuple[Asked, ...], ...]


@dataclass
class Expected:
    """What must become of the calls of a run, given how large its records are."""

    grants: dict[str, int] = field(default_factory=dict)
    """Of the admitted calls, in the order of admission: the largest record each may have."""
    bodies: dict[str, int] = field(default_factory=dict)
    refused: list[tuple[str, ErrorCode]] = field(default_factory=list)
    outcome: RunOutcome = RunOutcome.REPORTED


def script_of(number: int) -> Script:
    """Make the script of that number, the same each time."""
    draw = random.Random(number)
    limits = RunLimits(
        max_parallel_calls=draw.choice((1, 2, 3, 4, 8)),
        max_tool_calls=draw.choice((4, 6, 50)),
        max_run_bytes=draw.choice((32, 64, 256, 512)) * KIB,
        max_record_bytes=24 * KIB,
    )
    turns = tuple(tuple(_call(draw, turn, place) for place in range(draw.randint(2, 5))) for turn in range(2))
    return Script(limits, turns)


def _call(draw: random.Random, turn: int, place: int) -> Asked:
    call_id = draw.choice(("again", *[f"c{turn}.{place}"] * 9))
    tool = draw.choice(("quick", "quick", "quick", "threaded", "threaded", "rare", "rare", "unheard_of"))
    return Asked(call_id, tool, draw.choice(BODIES))


def expected(script: Script, sizes: Mapping[str, int]) -> Expected:
    """Say what becomes of each call in turn; `sizes` are the bytes of the run's records by call id.

    Calls run side by side, but it does not matter how: a call waits for room while another could still give
    some back, so that it is refused for bytes only where the sizes of all calls before it leave too few.
    """
    told, seen, by_tool = Expected(), set[str](), Counter[str]()
    left = script.limits.max_run_bytes
    for turn in script.turns:
        for asked in turn:
            spent = len(told.grants) >= script.limits.max_tool_calls or left < MIN_RECORD_BYTES
            refusal = ErrorCode.BUDGET_EXCEEDED if spent else _refusal(asked, seen, by_tool)
            seen.add(asked.call_id)
            if refusal is not None:
                told.refused.append((asked.call_id, refusal))
                told.outcome = RunOutcome.BUDGET_EXHAUSTED if spent else told.outcome
                continue
            by_tool[asked.tool] += 1
            told.grants[asked.call_id] = min(left, script.limits.max_record_bytes)
            told.bodies[asked.call_id] = asked.body
            left -= sizes.get(asked.call_id, 0)
        if told.outcome is RunOutcome.BUDGET_EXHAUSTED:
            break
    return told


def _refusal(asked: Asked, seen: set[str], by_tool: Counter[str]) -> ErrorCode | None:
    if asked.call_id in seen:
        return ErrorCode.DUPLICATE_TOOL_CALL_ID
    if asked.tool not in MAX_CALLS:
        return ErrorCode.UNKNOWN_TOOL
    limit = MAX_CALLS[asked.tool]
    return ErrorCode.BUDGET_EXCEEDED if limit is not None and by_tool[asked.tool] >= limit else None
