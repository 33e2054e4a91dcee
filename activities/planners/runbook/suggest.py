"""Turns a wrong name into a hint: the nearest right one, or all there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """Write `; did you mean 'x'?` or `; there are: a, b, c`, or nothing if there is nothing to name."""
    names = [str(one) for one in known]
    near = difflib.get_close_matches(name[:64], names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there are: {', '.join(sorted(names)[:24])}" if names else ""
