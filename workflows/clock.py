"""Workflow time, the only time a run knows."""

from __future__ import annotations

from temporalio import workflow


def now_ms() -> int:
    """Unix milliseconds of the current workflow task."""
    return round(workflow.now().timestamp() * 1000)
