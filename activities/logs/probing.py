"""Tells whether a log source can be searched, for the list of tools a person asks for.

Above: the application. Below: `listing`, which agents ask the same.
"""

from __future__ import annotations

import threading

from activities.logs.listing import listed_source
from activities.logs.source import LogSource
from activities.probe import Probe
from boundary.tools import ToolContext


def probe(source: LogSource) -> Probe:
    """List the source's files and check lines of them; what is wrong is said, never raised."""
    found = listed_source(source, ToolContext(stop=threading.Event()))
    warnings = tuple(f"{item.file}: {item.reason}" for item in found.skipped or ())
    if found.problem is not None:
        return Probe(False, found.problem, warnings)
    if found.fits is False:
        ill = (
            f"of {found.lines_checked} lines {_share(found.parsable)} have a time of the declared format "
            f"{source.timestamp!r}; if these are no multi-line entries, correct `timestamp`, "
            "or give `timestamp_regex` where it does not begin the line"
        )
        if found.first is None:
            return Probe(False, f"source {source.name!r}: {ill}", warnings)
        warnings = (*warnings, ill)
    span = f", {found.first} to {found.last}" if found.first and found.last else ""
    files = "1 file" if found.files_total == 1 else f"{found.files_total} files"
    return Probe(True, None, warnings, f"{files}, {found.bytes_total:,} bytes{span}")


def _share(parsable: float | None) -> str:
    return f"{parsable:.2%}" if parsable else "hardly any"
