"""Sizes, counts and times that bound a call, a turn and a run, each with its reason. Light."""

from __future__ import annotations

from pydantic import Field

from boundary.contracts import Frozen

KIB = 1024
MIB = 1024 * KIB

ARGUMENTS_MAX_BYTES = 16 * KIB
"""Argument text of one call; it stands twice in the history (turn and activity input)."""

TURN_MAX_CALLS = 64
"""Calls of one turn; the excess is counted and refused."""

TURN_MAX_BYTES = 256 * KIB
"""Argument text of one turn: Temporal warns at 512 KiB a payload and refuses 2 MiB."""

REPORT_MAX_BYTES = 256 * KIB
"""A report stands in the history twice: as the check's result and as the workflow's."""

REQUEST_MAX_BYTES = 64 * KIB
"""Argument text the boundary takes from any caller; a planner's is bounded to less before."""

RAW_MAX_BYTES = 8 * MIB
"""A raw response; twice the largest message Temporal would take, far below Redis' 512 MiB."""

AGENT_RESULT_MAX_BYTES = 256 * KIB
"""What one call may show the agent; about 64,000 tokens, more than a planner wants to read."""

RECORD_MAX_BYTES = 9 * MIB
"""Request, raw response and agent result of one call together."""

MIN_RECORD_BYTES = 16 * KIB
"""A call is refused when less than this is left of the run's bytes and nothing runs."""

RECORD_OWN_BYTES = 6 * KIB
"""Most that a record's fields beside the argument text take: ids, times, digests, an error of 500 characters
that JSON writes at six times their length."""

JSON_MAX_DEPTH = 64
"""Nesting of arguments; deeper is INVALID_ARGUMENTS, far before any recursion limit."""

MAX_LOST_OWNERS = 3
"""More lost owners than this settle WORKER_LOST, so a call that kills its worker ends."""


class RecordLimits(Frozen):
    """The boundary's own limits, in bytes; a worker may lower or raise them."""

    request: int = Field(default=REQUEST_MAX_BYTES, gt=0)
    raw: int = Field(default=RAW_MAX_BYTES, gt=0)
    agent_result: int = Field(default=AGENT_RESULT_MAX_BYTES, gt=0)
    record: int = Field(default=RECORD_MAX_BYTES, gt=0)
