"""Runs a selection over a source's files, block by block, and tells what was looked at.

Above: `search` and `count` take its hits. Below: `files`, `reading`, `timeline`. It stops soon
after it is told to, holds one block at a time, and never turns "could not look" into "found
nothing": a source without files, an unreadable one, one whose times cannot be read although a
window was asked for, is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from activities.logs.files import Found, LogFile, Vanished, expanded_size, find_files, missing, open_log
from activities.logs.moments import iso_utc
from activities.logs.reading import Block, read_blocks
from activities.logs.results import LookedAt, SkippedFile
from activities.logs.selection import Selection
from activities.logs.timeline import Timeline
from activities.logs.timestamps import Stamp
from boundary.tools import ToolContext, ToolFailure

EVERY_LINE_BYTES = 32 * 1024 * 1024
"""Up to this size of a source each line's time is read; beyond, that would take longer than the search."""

TIMEOUT_MS = 300_000
"""Longest search: some gigabytes where every line matches, some tens of them where few do."""

PROGRESS_BYTES = 64 * 1024 * 1024
STOP_CHECK_HITS = 2048
"""Hits between two looks at the stop flag: a few milliseconds."""


class Hit(NamedTuple):
    """A line that was selected; valid while its block is the current one."""

    stamp: Stamp | None
    line: int
    start: int
    end: int
    occurrences: int
    groups: tuple[bytes | None, ...]


class ScannedBlock(NamedTuple):
    """A block and its hits, to be taken before the next block is asked for."""

    file: int
    """Place of the file in `Scan.names`."""
    block: Block
    hits: Iterator[Hit]


class Scan:
    """One pass over a source."""

    def __init__(self, selection: Selection, context: ToolContext) -> None:
        """List the files.

        Raises:
            ToolFailure: there are none, or they cannot be listed.
        """
        self._selection = selection
        self._context = context
        self._found: Found = find_files(selection.source)
        if not self._found.files:
            raise ToolFailure(missing(selection.source))
        self.names = [file.name for file in self._found.files]
        self._vanished: list[str] = []
        self._timeline = Timeline(selection.source, every_line=expanded_size(self._found.files) <= EVERY_LINE_BYTES)
        self._lines = 0
        self._bytes = 0
        self.matched = 0
        self.occurrences = 0

    def blocks(self) -> Iterator[ScannedBlock]:
        """Read all files, oldest generation first.

        Raises:
            ToolFailure: the source could not be looked at, or the scan was told to stop.
        """
        previous: LogFile | None = None
        for place, file in enumerate(self._found.files):
            continues = previous is not None and previous.order.stem == file.order.stem
            self._timeline.start_file(continues=continues)
            previous = file
            try:
                with open_log(self._selection.source, file) as opened:
                    for block in read_blocks(opened.read):
                        yield self._scanned(place, block)
                        self._timeline.leave()
            except Vanished:
                self._vanished.append(file.name)
        self._check_looked()

    def looked_at(self) -> LookedAt:
        """Say what was read; complete after the last block."""
        timeline = self._timeline
        gone = [SkippedFile(file=name, reason="it was removed while the source was read") for name in self._vanished]
        refused = [SkippedFile(file=item.file, reason=item.reason) for item in self._found.refused]
        return LookedAt(
            files=len(self.names) - len(gone),
            lines=self._lines,
            first=_iso(timeline.range.first),
            last=_iso(timeline.range.last),
            range="every line" if timeline.every_line else "sampled",
            unparsed_lines=timeline.unparsed if timeline.every_line else None,
            skipped=(refused + gone) or None,
        )

    def _scanned(self, place: int, block: Block) -> ScannedBlock:
        self._check_stop()
        self._timeline.enter(block)
        self._lines += block.lines
        self._tell_progress(len(block.data), self.names[place])
        return ScannedBlock(place, block, self._hits(block))

    def _hits(self, block: Block) -> Iterator[Hit]:
        data = block.data
        counted, line = 0, block.first_line
        windowed, time_of = self._selection.has_window, self._timeline.at
        for number, (found, occurrences) in enumerate(self._selection.matcher.find(data), 1):
            if number % STOP_CHECK_HITS == 0:
                self._check_stop()
            stamp = time_of(found.start)
            if windowed and not self._in_window(stamp):
                continue
            line += data.count(b"\n", counted, found.start)
            counted = found.start
            self.matched += 1
            self.occurrences += occurrences
            yield Hit(stamp, line, found.start, found.end, occurrences, found.groups)

    def _in_window(self, stamp: Stamp | None) -> bool:
        if stamp is None:
            return False
        since, until = self._selection.since_us, self._selection.until_us
        return (since is None or stamp.us >= since) and (until is None or stamp.us < until)

    def _check_stop(self) -> None:
        if self._context.stop.is_set():
            raise ToolFailure("told to stop before the log was read to its end")

    def _check_looked(self) -> None:
        name = self._selection.source.name
        if self._vanished and not self.matched:
            raise ToolFailure(
                f"source {name!r}: {self._vanished[0]} was removed while the source was read; ask again", retryable=True
            )
        if self._selection.has_window and self._lines and self._timeline.range.first is None:
            raise ToolFailure(
                f"source {name!r}: none of its {self._lines} lines begins with a time of the declared format, "
                "so no window can be applied; leave out `since` and `until`"
            )

    def _tell_progress(self, size: int, name: str) -> None:
        before, self._bytes = self._bytes, self._bytes + size
        if before // PROGRESS_BYTES != self._bytes // PROGRESS_BYTES:
            self._context.progress(f"{name}: {self._bytes >> 20} MiB read, {self.matched} lines matched")


def _iso(stamp: Stamp | None) -> str | None:
    return None if stamp is None else iso_utc(stamp.us, stamp.digits)
