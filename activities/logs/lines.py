"""Reads what a line says of itself, as its source declares: time, level, fields, whether it begins an entry.

Above: `timeline`, `selection`, `seeking` and `scan`. Below: `timestamps`, `levels`, `fields`. Places are those of a
line's first byte in a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from activities.logs.fields import JsonLine
from activities.logs.levels import Levels
from activities.logs.source import LogSource
from activities.logs.timestamps import Clock, Stamp

Read = Callable[[bytes, int], Stamp | None]


class LineReader:
    """Reads the lines of one scan of a source."""

    def __init__(self, source: LogSource) -> None:
        self.source = source
        self.clock = Clock(source.time_format, source.tzinfo, source.year)
        """Has read all times; follows the year where the format has none."""
        self.time: Read = self._time_reader()
        """The time of the line, by its own text; None: it has none."""
        self._levels = Levels(source.levels)
        self._latest: tuple[bytes, int, JsonLine] | None = None

    def has_time(self, data: bytes, start: int) -> bool:
        """Whether the line has a time of its own; only for formats with a year, whose times do not hang together."""
        return self.time(data, start) is not None

    def begins_entry(self, data: bytes, start: int) -> bool:
        """Whether the line has a time of its own, so that it is no continuation; does not touch the clock."""
        form, pattern = self.source.time_format.regex, self.source.time_pattern
        if pattern is None:
            return form.match(data, start) is not None
        groups = pattern.first(line_at(data, start))
        return bool(groups) and groups[0] is not None and form.fullmatch(groups[0]) is not None

    def level(self, data: bytes, start: int) -> int | None:
        """Rank of the line's level; None: it has none that is known."""
        word = None
        if self.source.level_field is not None:
            word = self._json(data, start).text(self.source.level_field)
        elif (pattern := self.source.level_pattern) is not None and (groups := pattern.first(line_at(data, start))):
            word = groups[0]
        return None if word is None else self._levels.rank(word)

    def fields(self, data: bytes, start: int, paths: Sequence[str]) -> tuple[bytes | None, ...]:
        """Values of fields of the line; only of a source of JSON lines."""
        if not paths:
            return ()
        line = self._json(data, start)
        return tuple(line.text(path) for path in paths)

    def _time_reader(self) -> Read:
        clock, pattern, field = self.clock, self.source.time_pattern, self.source.timestamp_field
        if field is not None:
            return lambda data, start: _whole(clock, self._json(data, start).text(field))
        if pattern is not None:
            return lambda data, start: _whole(clock, (pattern.first(line_at(data, start)) or (None,))[0])
        return clock.read

    def _json(self, data: bytes, start: int) -> JsonLine:
        # Time, level and fields of a line are asked for one after the other.
        if self._latest is None or self._latest[0] is not data or self._latest[1] != start:
            self._latest = (data, start, JsonLine(line_at(data, start)))
        return self._latest[2]


def line_at(data: bytes, start: int) -> bytes:
    """The line that begins at `start`."""
    end = data.find(b"\n", start)
    return data[start : end if end >= 0 else len(data)]


def _whole(clock: Clock, text: bytes | None) -> Stamp | None:
    return None if text is None else clock.read_whole(text)
