"""What a store must be able to do, and the answers it gives. Two exist: in memory and Redis.

Above: `store` (records) and `run_index` (brief, turns, summary) hold all rules. A backend knows
keys, fields and bytes only; every operation touches one key and is atomic. A key whose
`expires_at_ms` field is at or before `now_ms` does not exist, whatever the server still holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Fields = Mapping[str, bytes]


@dataclass(frozen=True)
class Created:
    """The key was not there and is now."""


@dataclass(frozen=True)
class Existing:
    """The key or field is there; nothing was written."""

    value: bytes
    """Of the identity field; empty where the key is not one of ours."""


@dataclass(frozen=True)
class Replaced:
    """The stored value was the expected one and is now the new one."""


@dataclass(frozen=True)
class Expired:
    """The key is past its expiry, or gone; nothing was written."""


class Backend(Protocol):
    """Atomic single-key operations on hashes with an expiry.

    Every method raises `StoreUnavailable` when the store did not answer; a write may have happened.
    """

    async def create(
        self, key: str, fields: Fields, *, identity: str, expires_at_ms: int, now_ms: int
    ) -> Created | Existing | Expired:
        """Create the key with its TTL, or say what is there.

        `identity` names the field whose value `Existing` carries. An expired leftover, and an expiry
        not after `now_ms`, answer Expired: nothing is ever recreated or written without a TTL.
        """
        ...

    async def replace(self, key: str, *, expected: bytes, fields: Fields, now_ms: int) -> Replaced | Existing | Expired:
        """Write the fields only if the stored `record` is byte-equal to `expected`; never sets a TTL."""
        ...

    async def put(self, key: str, fields: Fields, *, identity: str, now_ms: int) -> Created | Existing | Expired:
        """Add the fields to an existing key unless its field `identity` is there; never sets a TTL."""
        ...

    async def chain(self, key: str, *, start: str, until: str, max_bytes: int, now_ms: int) -> list[bytes] | None:
        """Follow `parent:X` fields from `start` and return the `turn:X` fields met, newest first.

        None: the key is expired or gone. Stops before `until` (empty: at the first turn), and once more
        than `max_bytes` were collected.
        """
        ...

    async def read(self, keys: Sequence[str], fields: Sequence[str], *, now_ms: int) -> list[dict[str, bytes] | None]:
        """Read the fields of each key in one round trip; None for a key that is expired or gone."""
        ...

    async def read_all(self, key: str, *, now_ms: int) -> dict[str, bytes] | None:
        """Read every field of a key; None when it is expired or gone."""
        ...

    async def keys_with(self, head: str) -> list[str]:
        """List the keys that begin with `head`, each once, in any order; expired ones may be among them."""
        ...

    async def now_ms(self) -> int:
        """The store's own clock, for use outside activities."""
        ...

    async def store_id(self, key: str) -> str:
        """Identity of the data set: made on first use, another one after the data were lost."""
        ...
