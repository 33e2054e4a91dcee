"""An attempt whose clock and cancellation a test drives."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.calls import NOW_MS


@dataclass
class FakeAttempt:
    """Implements `boundary.attempt.Attempt`."""

    time_ms: int = NOW_MS
    cancelled: bool = False
    details: list[str] = field(default_factory=list)

    def now_ms(self) -> int:
        """The test's time."""
        return self.time_ms

    def progress(self, detail: str) -> None:
        """Remember the detail."""
        self.details.append(detail)

    def cancel_requested(self) -> bool:
        """Whether the run gave the call up."""
        return self.cancelled
