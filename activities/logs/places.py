"""Where lines are, for people: the files' names, and line numbers from the beginning of a file.

Above: `scan` fills it, results are written with it. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Sequence


class Places:
    """Names and line numbers of one scan's files."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._skipped = [0] * len(names)

    def __len__(self) -> int:
        return len(self._names)

    def skipped(self, file: int, lines: int) -> None:
        """Take into account that so many lines before the first one that was read were passed over."""
        self._skipped[file] = lines

    def name(self, file: int) -> str:
        """Name of the file, relative to its source's folder."""
        return self._names[file]

    def line(self, file: int, line: int) -> int:
        """Number within the file of a line whose number among those that were read is given."""
        return self._skipped[file] + line
