"""The earliest and the latest matching line by time, kept while a scan goes on.

Above: `search` and `count`. Below: `scan`. Not the first and last by place: several files, or
several writers of one file, need not be in order.
"""

from __future__ import annotations

from activities.logs.moments import iso_utc
from activities.logs.places import Places
from activities.logs.reading import LINE_MAX, Block
from activities.logs.results import EdgeLine, Place
from activities.logs.scan import Hit
from activities.logs.timestamps import Stamp

Where = tuple[Stamp, int, int]
"""Time, place of the file, line number."""


class Edges:
    """Keeps first and last of the hits that have a time; hits come file by file and line by line."""

    def __init__(self) -> None:
        self._first: tuple[Where, bytes, bool] | None = None
        self._last: tuple[Where, bytes, bool] | None = None
        self._first_us = self._last_us = 0

    def see(self, file: int, block: Block, hit: Hit) -> None:
        """Take one more hit into account; of equal times the first and the last in the log count."""
        if hit.stamp is None:
            return
        us = hit.stamp.us
        if self._first is None or us < self._first_us:
            self._first, self._first_us = self._kept(file, block, hit, hit.stamp), us
        if self._last is None or us >= self._last_us:
            self._last, self._last_us = self._kept(file, block, hit, hit.stamp), us

    def lines(self, places: Places) -> tuple[EdgeLine | None, EdgeLine | None]:
        """Return both."""
        return _edge(self._first, places), _edge(self._last, places)

    @staticmethod
    def _kept(file: int, block: Block, hit: Hit, stamp: Stamp) -> tuple[Where, bytes, bool]:
        text = block.data[hit.start : min(hit.end, hit.start + LINE_MAX)]
        return (stamp, file, hit.line), text, len(text) < hit.end - hit.start or block.is_cut(hit.line, text)


def place(where: Where, places: Places) -> Place:
    """Say when and where."""
    stamp, file, line = where
    return Place(
        time=iso_utc(stamp.us, stamp.digits),
        time_text=_text(stamp.written),
        file=places.name(file),
        line=places.line(file, line),
    )


def _edge(kept: tuple[Where, bytes, bool] | None, places: Places) -> EdgeLine | None:
    if kept is None:
        return None
    where, text, cut = kept
    return EdgeLine(**place(where, places).model_dump(), text=_text(text), cut=cut or None)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
