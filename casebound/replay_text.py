"""A verdict on a terminal: one line, and below it what does not fit.

Above: the command. Below: verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from casebound.cli_text import one_line
from casebound.replay_verdict import Fault, FaultKind, Verdict

DIFFERENCES_SHOWN = 10
"""Of one history."""

LINE_MAX = 500


def verdict_lines(source: str, verdict: Verdict) -> Iterator[str]:
    """Tell one verdict."""
    word = "FAILED" if not verdict.replays else "OK" if verdict.same else "DIFFERS"
    yield f"{word:8}{source}  {verdict.events} events"
    if verdict.fault is not None:
        yield from _fault(verdict.fault)
    for difference in verdict.differences[:DIFFERENCES_SHOWN]:
        text = f"{difference.field} was {difference.recorded}, is now {difference.asked}"
        yield _below(f"event {difference.event_id}, {difference.event}: {text}")
    more = len(verdict.differences) - DIFFERENCES_SHOWN + verdict.differences_more
    if more > 0:
        yield f"  ... and {more} more"


def _fault(fault: Fault) -> Iterator[str]:
    if fault.event_id is None:
        asked = f" (the code asks for {fault.asked})" if fault.asked else ""
        yield _below(f"{fault.message}{asked}")
    elif fault.kind is FaultKind.EXCEPTION:
        yield _below(f"after event {fault.event_id}, {fault.event}: the code raises {fault.message}")
    else:
        asked = fault.asked or "something else"
        yield _below(f"event {fault.event_id}, {fault.event}: the code asks for {asked} instead")
        yield _below(f"Temporal says: {fault.message}")


def _below(text: str) -> str:
    return "  " + one_line(text, LINE_MAX)


def total_line(verdicts: Sequence[Verdict]) -> str:
    """Count the verdicts."""
    count = len(verdicts)
    failed = sum(not verdict.replays for verdict in verdicts)
    differ = sum(verdict.replays and not verdict.same for verdict in verdicts)
    told = [f"{count - failed} replay"]
    if differ:
        told[0] += f", {differ} of them with differences"
    if failed:
        told.append(f"{failed} {'does' if failed == 1 else 'do'} not")
    return f"{count} histor{'y' if count == 1 else 'ies'}: {', '.join(told)}"


def verdict_json(source: str, verdict: Verdict) -> dict[str, Any]:
    """Make a verdict's JSON object."""
    return {"source": source, "replays": verdict.replays, "same": verdict.same, **asdict(verdict)}
