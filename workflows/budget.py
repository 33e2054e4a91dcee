"""What a run may still use: calls, turns, bytes, tokens. Pure; the workflow's state holds one `Ledger`.

Bytes are reserved when a call is admitted and settled to what its record really takes, so that
capacity holds while calls run side by side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from activities.contracts import BudgetLeft, RunBudget, RunLimits, Usage
from boundary.limits import MIN_RECORD_BYTES


@dataclass
class Ledger:
    """The running account of one run."""

    limits: RunLimits
    tool_calls: int = 0
    turns: int = 0
    run_bytes: int = 0
    tokens: int = 0
    reserved: dict[int, int] = field(default_factory=dict)
    """Byte grants of running calls, by call index."""
    by_tool: Counter[str] = field(default_factory=Counter)

    @property
    def running(self) -> int:
        """Calls that hold a reservation."""
        return len(self.reserved)

    @property
    def unreserved(self) -> int:
        """Bytes nobody has used or reserved."""
        return max(self.limits.max_run_bytes - self.run_bytes - sum(self.reserved.values()), 0)

    def has_room(self) -> bool:
        """Tell whether a call need not wait: a place is free, and no running call could still free bytes it wants."""
        if not self.running:
            return True
        return self.running < self.limits.max_parallel_calls and self.unreserved >= self.limits.max_record_bytes

    def byte_grant(self) -> int:
        """Largest record the next call may write; 0 where less than `MIN_RECORD_BYTES` is left."""
        grant = min(self.limits.max_record_bytes, self.unreserved)
        return grant if grant >= MIN_RECORD_BYTES else 0

    def exhausted(self) -> str | None:
        """Name the limit that stands against another call, or None."""
        if self.tool_calls >= self.limits.max_tool_calls:
            return f"all {self.limits.max_tool_calls} tool calls of the run are used"
        if not self.byte_grant():
            return f"less than {MIN_RECORD_BYTES} of the run's {self.limits.max_run_bytes} bytes are left"
        return self.out_of_tokens()

    def out_of_tokens(self) -> str | None:
        """Say that the planner's tokens are used up, or None."""
        limit = self.limits.max_tokens
        return f"all {limit} tokens are used" if limit is not None and self.tokens >= limit else None

    def out_of_turns(self) -> str | None:
        """Say that the planning turns are used up, or None."""
        limit = self.limits.max_turns
        return f"all {limit} turns are used" if self.turns >= limit else None

    def admit(self, call_index: int, tool_name: str) -> int:
        """Charge one call and reserve its bytes; returns the grant."""
        grant = self.byte_grant()
        self.tool_calls += 1
        self.by_tool[tool_name] += 1
        self.reserved[call_index] = grant
        return grant

    def settle(self, call_index: int, record_bytes: int | None) -> None:
        """Charge what the record takes; a size never learnt is charged as the whole grant."""
        grant = self.reserved.pop(call_index)
        self.run_bytes += grant if record_bytes is None else record_bytes

    def left(self) -> BudgetLeft:
        """What a planner may be told."""
        limits = self.limits
        return BudgetLeft(
            tool_calls=max(limits.max_tool_calls - self.tool_calls, 0),
            turns=max(limits.max_turns - self.turns, 0),
            run_bytes=max(limits.max_run_bytes - self.run_bytes, 0),
            tokens=None if limits.max_tokens is None else max(limits.max_tokens - self.tokens, 0),
        )

    def used(self) -> RunBudget:
        """What a person is shown."""
        limits = self.limits
        return RunBudget(
            tool_calls=Usage(used=self.tool_calls, limit=limits.max_tool_calls),
            turns=Usage(used=self.turns, limit=limits.max_turns),
            run_bytes=Usage(used=self.run_bytes, limit=limits.max_run_bytes),
            tokens=Usage(used=self.tokens, limit=limits.max_tokens),
        )
