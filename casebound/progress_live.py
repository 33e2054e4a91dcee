"""Live progress drawn in place on a terminal. Plain lines elsewhere: `progress.PlainProgress`."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from activities.contracts import CallProgress, RunProgress
from casebound.progress import call_line, state_line
from casebound.render import budget_text

CALLS_SHOWN = 8
"""The latest calls under the state line; the report tells of all."""

_STYLES = {"running": "cyan", "READY": "green", "ERROR": "red", "refused": "yellow", "repeated": "yellow"}


class LiveProgress:
    """A state line, the latest calls and the budget, redrawn as they change."""

    def __init__(self, console: Console) -> None:
        self._spinner = Spinner("dots", Text("starting"))
        self._rest: list[RenderableType] = []
        self._deadline_ms = 0
        self._live = Live(self, console=console, refresh_per_second=8, transient=True)
        self._live.start()

    def __rich__(self) -> RenderableType:
        """Draw the latest state."""
        return Group(self._spinner, *self._rest)

    def update(self, progress: RunProgress) -> None:
        """Take over the latest state."""
        left = max(0, round(progress.deadline_ms / 1000 - time.time()))
        state = f"{state_line(progress)}; {progress.calls_total} calls; {left} s left"
        self._spinner.update(text=Text(state, style="bold"))
        self._rest = [_line(call) for call in progress.calls[-CALLS_SHOWN:]]
        self._rest.append(Text(f"  {budget_text(progress.budget)}", style="dim"))

    def say(self, text: str) -> None:
        """Print a line above the drawing."""
        self._live.console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        """Remove the drawing."""
        self._live.stop()


def _line(call: CallProgress) -> Text:
    style = "yellow" if call.evidence_status == "NO_EVIDENCE" else _STYLES[call.state]
    return Text(f"  {call_line(call)}", style=style, no_wrap=True, overflow="ellipsis")
