"""A backend in this process's memory: the reference for the Redis one, and a store for tests.

Atomic because nothing is awaited between reading and writing. Not for production: it dies with
the process, and another worker does not see it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from uuid import uuid4

from boundary.backend import Created, Existing, Expired, Fields, Replaced

EXPIRES = "expires_at_ms"


class MemoryBackend:
    """Keeps hashes in a dictionary. `clock` gives Unix milliseconds outside activities."""

    def __init__(self, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._data: dict[str, dict[str, bytes]] = {}
        self._clock = clock
        self._store_id = uuid4().hex[:8]

    async def create(
        self, key: str, fields: Fields, *, identity: str, expires_at_ms: int, now_ms: int
    ) -> Created | Existing | Expired:
        """See `Backend.create`."""
        held = self._data.get(key)
        if held is not None:
            return Existing(held.get(identity, b"")) if self._alive(key, now_ms) else Expired()
        if expires_at_ms <= now_ms:
            return Expired()
        self._data[key] = {**fields, EXPIRES: str(expires_at_ms).encode()}
        return Created()

    async def replace(self, key: str, *, expected: bytes, fields: Fields, now_ms: int) -> Replaced | Existing | Expired:
        """See `Backend.replace`."""
        if not self._alive(key, now_ms):
            return Expired()
        held = self._data[key]
        if held.get("record", b"") != expected:
            return Existing(held.get("record", b""))
        held.update(fields)
        return Replaced()

    async def put(self, key: str, fields: Fields, *, identity: str, now_ms: int) -> Created | Existing | Expired:
        """See `Backend.put`."""
        if not self._alive(key, now_ms):
            return Expired()
        held = self._data[key]
        if identity in held:
            return Existing(held[identity])
        held.update(fields)
        return Created()

    async def chain(self, key: str, *, start: str, until: str, max_bytes: int, now_ms: int) -> list[bytes] | None:
        """See `Backend.chain`."""
        if not self._alive(key, now_ms):
            return None
        held, found, size, current = self._data[key], list[bytes](), 0, start
        while current != until and f"turn:{current}" in held and size <= max_bytes:
            found.append(held[f"turn:{current}"])
            size += len(found[-1])
            current = held.get(f"parent:{current}", b"").decode()
        return found

    async def read(self, keys: Sequence[str], fields: Sequence[str], *, now_ms: int) -> list[dict[str, bytes] | None]:
        """See `Backend.read`."""
        return [
            {name: self._data[key][name] for name in fields if name in self._data[key]}
            if self._alive(key, now_ms)
            else None
            for key in keys
        ]

    async def read_all(self, key: str, *, now_ms: int) -> dict[str, bytes] | None:
        """See `Backend.read_all`."""
        return dict(self._data[key]) if self._alive(key, now_ms) else None

    async def keys_with(self, head: str) -> list[str]:
        """See `Backend.keys_with`."""
        return [key for key in self._data if key.startswith(head)]

    async def now_ms(self) -> int:
        """See `Backend.now_ms`."""
        return self._clock()

    async def store_id(self, key: str) -> str:
        """See `Backend.store_id`."""
        return self._store_id

    def _alive(self, key: str, now_ms: int) -> bool:
        held = self._data.get(key)
        return held is not None and int(held[EXPIRES]) > now_ms
