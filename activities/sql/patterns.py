"""What a regular expression that is written out costs, and how long its matches are at least.

Above: `growth`. Below: nothing. Not here: reading patterns as a server does; what is not seen plainly counts as the
worst.
"""

from __future__ import annotations

import re


class Pattern:
    """What a regular expression's cost depends on; one that is not written out may be any."""

    def __init__(self, written: str | None) -> None:
        self.written = written
        plain = re.sub(r"\\[bBAzZGK]", "", written or "")
        plain = re.sub(r"\\.|\[\^?\]?(?:\[:\w+:\]|[^]])*\]", "x", plain, flags=re.DOTALL)
        self.loops = len(re.findall(r"[*+?]|\{\d*,\d*\}", plain))
        """Parts that match in several ways."""
        self.nested = bool(re.search(r"\)[*+{]|\(\?(?!:|[imsx]+\))", plain))
        """Groups that are repeated, look around, or call themselves."""
        self.width = max(1, _width(plain))
        """Bytes of a match at least; after a match of nothing a search goes on by one."""


def _width(plain: str) -> int:
    """Return how many characters a pattern without classes and escapes matches at least, 0 where that is not seen."""
    branches, last = [[0]], 0
    for part in re.findall(r"\((?:\?:?)?|\{\d*(?:,\d*)?\}|.", plain, re.DOTALL):
        if part == "(?":
            return 0
        if part in ("(", "(?:"):
            branches.append([0])
            last = 0
        elif part == "|":
            branches[-1].append(0)
            last = 0
        elif part[0] in "?*{":
            least = re.findall(r"^\{(\d+)", part)
            branches[-1][-1] += last * (int(least[0]) - 1 if least else -1)
            last = 0
        elif part == ")" and len(branches) > 1:
            last = min(branches.pop())
            branches[-1][-1] += last
        elif part not in "+^$":
            last = 1
            branches[-1][-1] += 1
    return min(branches[0]) if len(branches) == 1 else 0
