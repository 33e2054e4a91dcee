"""Reads a bounded part of a source's files to see which times they span and whether they parse.

Above: `listing`. Below: `files`, `reading`, `timeline`. A small source is read whole; of a large
one the start and the end of each file, of a compressed file the start.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from activities.logs.files import LogFile, Opened, Vanished, expanded_size, open_log
from activities.logs.lines import LineReader
from activities.logs.reading import Block, read_blocks
from activities.logs.source import LogSource
from activities.logs.timeline import Timeline
from activities.logs.timestamps import Stamp
from boundary.tools import ToolContext, ToolFailure

WHOLE_BYTES = 8 * 1024 * 1024
"""Up to this size of a source every line is checked."""

END_BYTES = 64 * 1024
"""Checked at each end of a file otherwise."""


@dataclass
class Sample:
    """What was seen of a source's lines."""

    lines: int = 0
    unparsed: int = 0
    first: Stamp | None = None
    last: Stamp | None = None
    checked: Literal["every line", "both ends of each file", "the start of each file"] = "every line"
    compressed: set[str] = field(default_factory=set[str])
    """Names of compressed files."""
    problem: str | None = None
    """Why some file could not be read."""


def check_lines(source: LogSource, files: Sequence[LogFile], context: ToolContext) -> Sample:
    """Check the lines of a source, or a sample of them.

    Raises:
        ToolFailure: only when told to stop.
    """
    whole = expanded_size(files) <= WHOLE_BYTES
    sample = Sample(checked="every line" if whole else "both ends of each file")
    times = _Times(source, whole)
    for file in files:
        if context.stop.is_set():
            raise ToolFailure("told to stop before all logs were checked")
        times.start_file(file)
        try:
            with open_log(source, file) as opened:
                if opened.part is None:
                    sample.compressed.add(file.name)
                for block in _blocks(opened, whole):
                    times.see(block)
                    sample.lines += block.lines
        except Vanished:
            continue
        except ToolFailure as failure:
            sample.problem = sample.problem or failure.message
    if not whole and len(sample.compressed) == len(files):
        sample.checked = "the start of each file"
    sample.unparsed = times.unparsed
    sample.first, sample.last = times.range(sample)
    return sample


class _Times:
    """Reads the times of sampled lines; without a year in the format, only those whose year is certain."""

    def __init__(self, source: LogSource, whole: bool) -> None:
        self._certain = Timeline(LineReader(source), every_line=True)
        self._doubtful = Timeline(LineReader(source), every_line=True)
        self._all_certain = whole or source.time_format.has_year
        self._stem: str | None = None
        self._current = self._certain

    @property
    def unparsed(self) -> int:
        """Lines without a time of their own."""
        return self._certain.unparsed + self._doubtful.unparsed

    def start_file(self, file: LogFile) -> None:
        """Begin a file."""
        continues = file.order.stem == self._stem
        self._stem = file.order.stem
        self._current = self._certain if self._all_certain or not continues else self._doubtful
        self._current.start_file(continues=continues)

    def see(self, block: Block) -> None:
        """Read a block's times."""
        self._current.enter(block)
        self._current.leave()
        if not self._all_certain:
            # What follows is the other end of the file: the year may have changed between.
            self._current = self._doubtful

    def range(self, sample: Sample) -> tuple[Stamp | None, Stamp | None]:
        """First and last time, as far as they are known."""
        seen = self._certain.range
        last_known = self._all_certain and sample.checked != "the start of each file"
        return seen.first, seen.last if last_known else None


def _blocks(opened: Opened, whole: bool) -> Iterator[Block]:
    if whole:
        yield from read_blocks(opened.read)
        return
    head = opened.read(END_BYTES)
    end = head.rfind(b"\n")
    yield from read_blocks(io.BytesIO(head[:end] if end >= 0 else head).read)
    if opened.part is not None:
        # Lines of the head are not seen twice; the byte before tells where the next one begins.
        seen = end if end >= 0 else len(head)
        tail = opened.part.at(max(opened.part.size - END_BYTES, seen), END_BYTES)
        start = tail.find(b"\n")
        yield from read_blocks(io.BytesIO(tail[start + 1 :]).read)
