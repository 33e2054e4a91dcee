"""A timeline as text: one moment a line, in order, each with what passed since the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from casebound.cli_durations import format_duration
from casebound.cli_text import Line, one_line
from casebound.timeline import DETAIL_MAX, Moment


def timeline_lines(moments: Sequence[Moment]) -> Iterator[Line]:
    """Write the moments, the earliest first."""
    ordered = sorted(moments, key=lambda moment: moment.at)
    for moment in ordered:
        since = f"+{format_duration(moment.at - ordered[0].at)}"
        detail = f"  {one_line(moment.detail, DETAIL_MAX)}" if moment.detail else ""
        yield Line(f"{moment.at:%Y-%m-%d %H:%M:%S}  {since:>10}  {one_line(moment.what, 100)}{detail}")
