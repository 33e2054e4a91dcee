"""What every peer is asked to do: ten calls in sequence, 100 KB each, the prompt as long as casebound's runbook."""

from __future__ import annotations

from typing import Any

CALLS = 10
RESULT_BYTES = 100_000
TOOL = "search_logs"
WANTED: dict[str, Any] = {"source": "app", "pattern": "error [0-9]+", "limit": 50}
PROMPT = "What happened? " + "#" * 2_048
ANSWER = "Finding 0 of the run. Finding 1 of the run. Finding 2 of the run."

LINE = "Dec 10 07:08:30 LabSZ sshd[24208]: Connection closed by 52.80.34.196 [preauth]; status 1492 of 2006\n"


def log_text(size: int) -> str:
    """Make so many characters of log lines."""
    return (LINE * (size // len(LINE) + 1))[:size]


def observe() -> dict[str, int | str]:
    """Answer as casebound's tool does."""
    return {"matched": 286, "text": log_text(RESULT_BYTES)}
