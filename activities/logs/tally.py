"""Groups of matching lines, counted while a scan goes on, in bounded memory.

Above: `count`. Below: `scan`'s hits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from activities.logs.edges import Where, place
from activities.logs.moments import EPOCH_START, SECOND
from activities.logs.places import Places
from activities.logs.requests import CountRequest
from activities.logs.results import Group, Place
from activities.logs.scan import Hit
from activities.logs.selection import Selection
from activities.logs.timestamps import Stamp
from boundary.tools import ToolFailure

MAX_KEPT = 100_000
"""Groups, and different values kept for `distinct`, of one call."""

VALUE_MAX = 500
"""Bytes of a group's value; longer ones that begin alike are counted as one."""

BUCKET = "bucket"
"""Name of the span of time in a group's key."""

_BUCKETS_CACHED = 4096

Key = tuple[bytes, ...]


@dataclass(slots=True)
class _Group:
    file: int
    line: int
    stamp: Stamp | None
    count: int = 0
    occurrences: int = 0
    first: Where | None = None
    last: Where | None = None
    values: list[set[bytes]] = field(default_factory=list[set[bytes]])

    def add(self, file: int, hit: Hit) -> None:
        self.count += 1
        self.occurrences += hit.occurrences
        stamp = hit.stamp
        if stamp is None:
            return
        # Hits come file by file and line by line, so equal times are in order.
        if self.first is None or stamp.us < self.first[0].us:
            self.first = (stamp, file, hit.line)
        if self.last is None or stamp.us >= self.last[0].us:
            self.last = (stamp, file, hit.line)


class Tally:
    """Counts hits by the key the request asks for."""

    def __init__(self, request: CountRequest, selection: Selection) -> None:
        names = selection.names
        self._request = request
        self._keys = [names.index(name) for name in request.group_by]
        self._valued = [names.index(name) for name in request.distinct]
        self._buckets = None if request.bucket is None else Buckets(request.bucket, selection.source.tzinfo)
        self._repeats = selection.source.repeated is not None
        self._groups: dict[Key, _Group] = {}
        self._values: list[set[bytes]] = [set() for _ in self._valued]
        self._kept = 0

    @property
    def groups_total(self) -> int:
        """Number of different keys."""
        return len(self._groups)

    @property
    def groups_kept(self) -> int:
        """Number of keys with at least `having_min` lines."""
        return sum(group.count >= self._request.having_min for group in self._groups.values())

    def add(self, file: int, hit: Hit) -> None:
        """Count one more line.

        Raises:
            ToolFailure: there are more different keys or values than are kept.
        """
        values = [_value(hit.values[place]) for place in self._valued]
        for seen, value in zip(self._values, values, strict=True):
            self._remember(seen, value)
        if not self._keys and self._buckets is None:
            return
        group = self._group(file, hit)
        group.add(file, hit)
        for seen, value in zip(group.values, values, strict=True):
            self._remember(seen, value)

    def distinct(self) -> dict[str, int] | None:
        """Number of different values overall, by group name."""
        return self._named(self._values)

    def groups(self, places: Places) -> list[Group]:
        """Return the groups asked for, sorted."""
        kept = [item for item in self._groups.items() if item[1].count >= self._request.having_min]
        by_count = self._request.sort == "count"
        kept.sort(key=lambda item: (-item[1].count if by_count else 0, self._rank(item[0])))
        return [self._result(key, group, places) for key, group in kept[: self._request.top]]

    def _group(self, file: int, hit: Hit) -> _Group:
        key = tuple(_value(hit.values[place]) for place in self._keys)
        if self._buckets is not None:
            key = (*key, self._buckets.start(hit.stamp))
        group = self._groups.get(key)
        if group is None:
            self._count_kept()
            group = _Group(file, hit.line, hit.stamp, values=[set() for _ in self._valued])
            self._groups[key] = group
        return group

    def _rank(self, key: Key) -> tuple[bytes | float, ...]:
        # As text, the hour that a change of offset repeats would stand before itself.
        if self._buckets is None:
            return key
        return (*key[:-1], datetime.fromisoformat(key[-1].decode()).timestamp() if key[-1] else -math.inf)

    def _remember(self, seen: set[bytes], value: bytes) -> None:
        if value not in seen:
            self._count_kept()
            seen.add(value)

    def _count_kept(self) -> None:
        self._kept += 1
        if self._kept > MAX_KEPT:
            raise ToolFailure(
                f"more than {MAX_KEPT} different groups or values: narrow the window or the pattern, "
                "or count by a group that takes fewer values"
            )

    def _result(self, key: Key, group: _Group, places: Places) -> Group:
        labels = [*self._request.group_by, *([BUCKET] if self._buckets is not None else [])]
        untimed = Place(file=places.name(group.file), line=places.line(group.file, group.line))
        return Group(
            key={label: value.decode(errors="ignore") for label, value in zip(labels, key, strict=True)},
            count=group.count,
            occurrences=group.occurrences if self._repeats else None,
            distinct=self._named(group.values),
            first=untimed if group.first is None else place(group.first, places),
            last=untimed if group.last is None else place(group.last, places),
        )

    def _named(self, values: list[set[bytes]]) -> dict[str, int] | None:
        if not values:
            return None
        return {name: len(seen) for name, seen in zip(self._request.distinct, values, strict=True)}


class Buckets:
    """Spans of time in a zone; across a change of its offset, equal local times stay apart."""

    def __init__(self, unit: str, zone: tzinfo) -> None:
        self._unit = unit
        self._zone = zone
        self._known: dict[int, bytes] = {}

    def start(self, stamp: Stamp | None) -> bytes:
        """Start of the span the time is in, ISO 8601 with offset; empty for no time."""
        if stamp is None:
            return b""
        minute = stamp.us // (60 * SECOND)
        try:
            return self._known[minute]
        except KeyError:
            pass
        if len(self._known) >= _BUCKETS_CACHED:
            self._known.clear()
        start = self._known[minute] = self._floor(minute).isoformat().encode()
        return start

    def _floor(self, minute: int) -> datetime:
        local = (EPOCH_START + timedelta(minutes=minute)).astimezone(self._zone).replace(second=0, microsecond=0)
        if self._unit == "minute":
            return local
        if self._unit == "hour":
            return local.replace(minute=0)
        return local.replace(hour=0, minute=0, fold=0)


def _value(captured: bytes | None) -> bytes:
    return b"" if captured is None else captured[:VALUE_MAX]
