"""What a busy machine does to a worker and is no fault of it."""

from __future__ import annotations

SLOW = "ignore:Cannot find activity to cancel:UserWarning"
"""A filter of warnings. The SDK warns where a cancellation comes after its activity ended, as one does that was too
late with its heartbeat; as an error it ends the worker, and with it the test, for what costs the call a retry."""
