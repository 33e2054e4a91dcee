"""What a look at a source found, for the list of tools and sources that a person asks for.

Above: the tool packages make one for each of their sources, the application prints them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """A source as it is now. No absolute path, host, user or password stands in any of its texts."""

    available: bool
    """The tools can look at it."""
    reason: str | None = None
    """Why it is not available, with what to do about it."""
    warnings: tuple[str, ...] = ()
    """What is left out, or could be safer."""
    detail: str = ""
    """What is there, in a few words; empty where it is not available."""
