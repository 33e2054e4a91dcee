"""The one place where store keys are made.

`prefix:run_id:tool_call_id` for records, `prefix-run:run_id` for the run's index and
`prefix-store` for the store's identity. Neither prefix nor run id contains a colon, so a tool
call id may hold anything printable and the key stays unambiguous. One key per operation: it
runs unchanged on Redis Cluster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from boundary.ids import is_run_id, is_tool_call_id

_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class ToolCallKeyFactory:
    """Makes every key casebound uses in a store.

    Raises:
        ValueError: from the constructor or a method, for a prefix or id that cannot stand in a key.
    """

    prefix: str = "casebound"

    def __post_init__(self) -> None:
        if _PREFIX.fullmatch(self.prefix) is None:
            raise ValueError(f"key prefix {self.prefix!r}: use 1 to 64 letters, digits, '.', '_' or '-'")

    def record(self, run_id: str, tool_call_id: str) -> str:
        """Key of one call's canonical record."""
        if not is_tool_call_id(tool_call_id):
            raise ValueError(f"tool call id {tool_call_id!r} cannot stand in a key")
        return f"{self.prefix}:{_checked(run_id)}:{tool_call_id}"

    def run(self, run_id: str) -> str:
        """Key of a run's index: brief, turns, summary."""
        return f"{self.prefix}-run:{_checked(run_id)}"

    def store(self) -> str:
        """Key of the store's identity."""
        return f"{self.prefix}-store"


def _checked(run_id: str) -> str:
    if not is_run_id(run_id):
        raise ValueError(f"run id {run_id!r} cannot stand in a key")
    return run_id
