"""Prints: reports on stdout, progress on stderr, each as fits what is at the other end."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from casebound.cli_text import Line
from casebound.progress import PlainProgress, ProgressView
from casebound.render import Place, report_lines
from casebound.run_view import RunView


def print_lines(lines: Iterable[Line], *, stderr: bool = False) -> None:
    """Print lines, on a terminal styled and broken between words; a pipe wants each line whole."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    for line in lines:
        for text in broken(line, console.width) if console.is_terminal else [line.text]:
            console.print(Text(text, style=line.style), soft_wrap=True)


def broken(line: Line, width: int) -> list[str]:
    """Break a line that may be broken, its rest indented; in a paragraph, the rest goes on in the next line."""
    if line.hang is None:
        return [line.text]
    done: list[str] = []
    rest = ""
    for text in line.text.split("\n"):
        *whole, last = _wrapped(f"{rest} {text.lstrip()}" if rest else text, width, line.hang)
        done += whole if whole else [last]
        rest = last if whole else ""
    return [*done, rest] if rest else done


def _wrapped(text: str, width: int, hang: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, hang + 20),
        subsequent_indent=" " * hang,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def print_report(view: RunView, place: Place) -> None:
    """Print the report of a run on stdout."""
    print_lines(report_lines(view, replace(place, command=own_name(Path(sys.argv[0])))))


def own_name(program: Path) -> str:
    """Write how the reader calls this program: its name where the shell finds it, else its path, short below here."""
    if program.name != "casebound" or shutil.which("casebound"):
        return "casebound"
    path = program.absolute()
    return shlex.quote(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def progress_view() -> ProgressView:
    """Choose how progress is shown: drawn in place on a terminal, plain lines elsewhere."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        return PlainProgress(sys.stderr)
    from casebound.progress_live import LiveProgress

    return LiveProgress(console)
