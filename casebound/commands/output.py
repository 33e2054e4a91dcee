"""Prints: reports on stdout, progress on stderr, each as fits what is at the other end."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from casebound.progress import PlainProgress, ProgressView
from casebound.render import Line, Place, report_lines
from casebound.run_view import RunView


def print_lines(lines: Iterable[Line], *, stderr: bool = False) -> None:
    """Print lines, styled on a terminal and never wrapped: a pipe wants each line whole."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    for line in lines:
        console.print(Text(line.text, style=line.style), soft_wrap=True)


def print_report(view: RunView, place: Place) -> None:
    """Print the report of a run on stdout."""
    print_lines(report_lines(view, place))


def progress_view() -> ProgressView:
    """Choose how progress is shown: drawn in place on a terminal, plain lines elsewhere."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        return PlainProgress(sys.stderr)
    from casebound.progress_live import LiveProgress

    return LiveProgress(console)
