"""Runs a selection over a source's files, block by block, and tells what was looked at.

Above: `search` and `count` take its hits. Below: `files`, `reading`, `timeline`. It stops soon
after it is told to, holds one block at a time, and never turns "could not look" into "found
nothing": a source without files, an unreadable one, one whose times cannot be read although a
window was asked for, is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from activities.logs.entries import whole_entries
from activities.logs.files import Found, LogFile, Opened, Part, Vanished, expanded_size, find_files, missing, open_log
from activities.logs.lines import LineReader
from activities.logs.moments import iso_utc
from activities.logs.places import Places
from activities.logs.reading import BLOCK_BYTES, Block, read_blocks, told
from activities.logs.results import LookedAt, SkippedFile
from activities.logs.seeking import DISORDER_US, first_time, sought
from activities.logs.selection import Selection
from activities.logs.skimming import skim_blocks
from activities.logs.texts import newlines
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
    """A line or an entry that was selected; valid while its block is the current one."""

    stamp: Stamp | None
    line: int
    start: int
    end: int
    occurrences: int
    values: tuple[bytes | None, ...]
    """What is called `Selection.names`."""


class ScannedBlock(NamedTuple):
    """A block and its hits, to be taken before the next block is asked for."""

    file: int
    """Place of the file in `Scan.places`."""
    block: Block
    hits: Iterator[Hit]


class Scan:
    """One pass over a source."""

    def __init__(self, selection: Selection, context: ToolContext, *, neighbours: int = 0) -> None:
        """List the files; so many `neighbours` of hits, lines before and after them, are wanted, too.

        Raises:
            ToolFailure: there are none, or they cannot be listed.
        """
        self._selection = selection
        self._context = context
        self._found: Found = find_files(selection.source)
        if not self._found.files:
            raise ToolFailure(missing(selection.source))
        self.places = Places([file.name for file in self._found.files])
        self._vanished: list[str] = []
        self._reader = LineReader(selection.source)
        self._timeline = Timeline(self._reader, every_line=expanded_size(self._found.files) <= EVERY_LINE_BYTES)
        self._seeks = selection.source.ordered and selection.has_window and not self._timeline.every_line
        self._neighbours = neighbours
        # A year that is only known from all lines before, and lines next to others, need all lines.
        alone = neighbours == 0 and not self._timeline.every_line and selection.source.time_format.has_year
        self._skimmed_for = selection.matcher.skimmed_for if alone else None
        self._sought = False
        self._passed_over = 0
        self._without_time = 0
        self._without_level = 0
        self._with_level = False
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
        outside = self._outside()
        for place, file in enumerate(self._found.files):
            if place in outside:
                continue
            continues = previous is not None and previous.order.stem == file.order.stem
            self._timeline.start_file(continues=continues)
            previous = file
            try:
                with open_log(self._selection.source, file) as opened:
                    yield from self._read(place, opened)
            except Vanished:
                self._vanished.append(file.name)
        self._check_looked()

    def _outside(self) -> frozenset[int]:
        """Places of files that have no entry of the window: they begin after it, or the next one begins before it.

        Plain files of the second kind are sought nevertheless: that costs little, and `worker.1` and `worker.2` may be
        no rotated set.
        """
        if not self._seeks:
            return frozenset()
        files, starts = self._found.files, [self._start(file) for file in self._found.files]
        since, until = self._selection.since_us, self._selection.until_us
        outside: set[int] = set()
        for place, (begin, sought_in) in enumerate(starts):
            if begin is not None:
                self._timeline.range.see(begin)
            following = starts[place + 1][0] if files[place].order.stem == _stem(files, place + 1) else None
            past = since is not None and following is not None and following.us < since - DISORDER_US
            after = until is not None and begin is not None and begin.us > until + DISORDER_US
            if after or (past and not sought_in):
                outside.add(place)
        self._passed_over = len(outside)
        return frozenset(outside)

    def _start(self, file: LogFile) -> tuple[Stamp | None, bool]:
        """Time of a file's first entry, and whether windows can be sought in the file."""
        self._check_stop()
        try:
            with open_log(self._selection.source, file) as opened:
                return first_time(opened.read, self._reader), opened.part is not None
        except Vanished:
            return None, True

    def _read(self, place: int, opened: Opened) -> Iterator[ScannedBlock]:
        before = self.matched
        start, end = self._seek(opened.part)
        block = None
        for block in self._blocks_of(opened, start, end, place):
            self._timeline.enter(block)
            yield ScannedBlock(place, block, self._hits(block))
            self._timeline.leave()
        self._lines += 0 if block is None else block.first_line + block.lines - 1
        if opened.part is not None and start and self.matched > before:
            self.places.skipped(place, self._lines_before(opened.part, start))

    def _blocks_of(self, opened: Opened, start: int, end: int, place: int) -> Iterator[Block]:
        def tell(count: int) -> None:
            self._check_stop()
            self._tell_progress(count, self.places.name(place))

        part, pattern, reader = opened.part, self._skimmed_for, self._reader
        if part is not None and pattern is not None:
            return skim_blocks(part, start, end, pattern.places, reader.has_time, tell)
        blocks = read_blocks(told(opened.read if part is None else part.between(start, end), tell))
        return whole_entries(blocks, reader.begins_entry) if self._selection.source.multiline else blocks

    def _seek(self, part: Part | None) -> tuple[int, int]:
        """Return the part of a file to read: all of it, or what a window may be in."""
        if part is None or not self._seeks:
            return 0, 0 if part is None else part.size
        span = sought(part, self._reader, self._selection.since_us, self._selection.until_us, self._neighbours)
        if span is None:
            return 0, part.size
        self._sought = True
        self._timeline.range.see(span.first)
        self._timeline.range.see(span.last)
        return span.start, span.end

    def _lines_before(self, part: Part, end: int) -> int:
        """Count the lines that were passed over, so that line numbers are those of the file."""
        read, lines = part.between(0, end), 0
        while chunk := read(BLOCK_BYTES):
            self._check_stop()
            lines += newlines(chunk)
        return lines

    def looked_at(self) -> LookedAt:
        """Say what was read; complete after the last block."""
        timeline = self._timeline
        gone = [SkippedFile(file=name, reason="it was removed while the source was read") for name in self._vanished]
        refused = [SkippedFile(file=item.file, reason=item.reason) for item in self._found.refused]
        return LookedAt(
            files=len(self.places) - len(gone) - self._passed_over,
            lines=self._lines,
            first=_iso(timeline.range.first),
            last=_iso(timeline.range.last),
            range="every line" if timeline.every_line else "sampled",
            unparsed_lines=timeline.unparsed if timeline.every_line else None,
            sought=self._sought or None,
            files_outside=self._passed_over or None,
            left_out_without_time=self._without_time or None,
            left_out_without_level=self._without_level or None,
            skipped=(refused + gone) or None,
        )

    def _hits(self, block: Block) -> Iterator[Hit]:
        data = block.data
        counted, line = 0, block.first_line
        windowed, time_of = self._selection.has_window, self._timeline.at
        least, fields = self._selection.least_level, self._selection.fields
        for number, (found, occurrences) in enumerate(self._selection.matcher.find(data), 1):
            if number % STOP_CHECK_HITS == 0:
                self._check_stop()
            stamp = time_of(found.start)
            if windowed and not self._in_window(stamp):
                continue
            if least is not None and not self._is_severe(data, found.start, least):
                continue
            line += data.count(b"\n", counted, found.start)
            counted = found.start
            self.matched += 1
            self.occurrences += occurrences
            values = (*found.groups, *self._reader.fields(data, found.start, fields)) if fields else found.groups
            yield Hit(stamp, line, found.start, found.end, occurrences, values)

    def _in_window(self, stamp: Stamp | None) -> bool:
        if stamp is None:
            self._without_time += 1
            return False
        since, until = self._selection.since_us, self._selection.until_us
        return (since is None or stamp.us >= since) and (until is None or stamp.us < until)

    def _is_severe(self, data: bytes, start: int, least: int) -> bool:
        level = self._reader.level(data, start)
        if level is None:
            self._without_level += 1
            return False
        self._with_level = True
        return level >= least

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
                f"source {name!r}: no line of it has a time of the declared format, "
                "so no window can be applied; leave out `since` and `until`"
            )
        if self._without_level and not self._with_level:
            raise ToolFailure(
                f"source {name!r}: no line that matches says a level that is known, so `level` cannot be applied; "
                "leave it out"
            )

    def _tell_progress(self, size: int, name: str) -> None:
        before, self._bytes = self._bytes, self._bytes + size
        if before // PROGRESS_BYTES != self._bytes // PROGRESS_BYTES:
            self._context.progress(f"{name}: {self._bytes >> 20} MiB read, {self.matched} lines matched")


def _stem(files: Sequence[LogFile], place: int) -> str | None:
    return files[place].order.stem if place < len(files) else None


def _iso(stamp: Stamp | None) -> str | None:
    return None if stamp is None else iso_utc(stamp.us, stamp.digits)
