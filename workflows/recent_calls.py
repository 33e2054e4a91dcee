"""Calls that must not be made again soon, as many as a continued run can carry.

Above: `run_state`. Below: `activities.contracts`. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from activities.contracts import RecentCall

RECENT_BYTES = 450_000
"""Of all calls together, as a continued run carries them: 3,000 with ids of 38 characters, 1,200 at least."""

_BESIDE_ID = 112
"""Bytes of a call beside its id, at most."""


@dataclass
class RecentCalls:
    """READY calls by the marks of tool and arguments, oldest first."""

    calls: dict[str, RecentCall] = field(default_factory=dict[str, RecentCall])
    _bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self._bytes = sum(map(_size, self.calls.values()))

    def remember(self, mark: str, call: RecentCall) -> None:
        """Keep a call; the oldest ones are forgotten where there are too many."""
        self._forget(mark)
        self.calls[mark] = call
        self._bytes += _size(call)
        while self._bytes > RECENT_BYTES:
            self._forget(next(iter(self.calls)))

    def forget_before(self, ms: int) -> None:
        """Forget the calls that were ready before that time."""
        while self.calls and self.calls[oldest := next(iter(self.calls))].ready_ms < ms:
            self._forget(oldest)

    def repeated(self, mark: str) -> None:
        """Note that a call was asked for again."""
        self.calls[mark] = self.calls[mark].model_copy(update={"repeated": True})

    def _forget(self, mark: str) -> None:
        gone = self.calls.pop(mark, None)
        self._bytes -= 0 if gone is None else _size(gone)


def _size(call: RecentCall) -> int:
    return _BESIDE_ID + len(call.tool_call_id)
