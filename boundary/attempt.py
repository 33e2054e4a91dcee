"""What the boundary needs to know of the attempt it runs in; the activity adapter supplies it."""

from __future__ import annotations

from typing import Protocol


class Attempt(Protocol):
    """One attempt of one call, as its surroundings see it."""

    def now_ms(self) -> int:
        """Server time: Unix milliseconds that follow a virtual clock in tests."""
        ...

    def progress(self, detail: str) -> None:
        """Show in a few words how far the work is. Called from any thread."""
        ...

    def cancel_requested(self) -> bool:
        """Tell whether a cancellation that just arrived means: the run gave this call up for good."""
        ...
