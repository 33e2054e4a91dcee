"""The runbook planner: a YAML file that says what to look at and what may be claimed of it.

`planner` implements the port; `loader` checks a text before the run starts. Nothing here does
I/O: results come through the port's `RunView`.
"""

from __future__ import annotations

from activities.planners.runbook.loader import RunbookError, load_runbook
from activities.planners.runbook.model import Runbook
from activities.planners.runbook.planner import RunbookPlanner

__all__ = ["Runbook", "RunbookError", "RunbookPlanner", "load_runbook"]
