"""The Redis backend: the one module that imports redis. For Redis 6.2, Redis 7 and Valkey.

Above: `store` and `run_index` hold the rules. Each write is one Lua script, one key, one round
trip. The scripts get `now_ms`, compare bytes and set fields; they never decode or re-encode a
value, so any JSON survives, and only `create` ever sets a TTL.

Contracts of the scripts (all take KEYS[1] = key; answers are {0} done, {1, value} there, {2} expired):
- CREATE  now_ms, expires_at_ms, ttl_ms, identity, field, value, ...
- REPLACE now_ms, expected, field, value, ...   compares the field `record`
- PUT     now_ms, identity, field, value, ...
- CHAIN   now_ms, start, max_bytes              answers {0, turn, turn, ...} or {2}
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from hashlib import sha1
from typing import Any, TypeVar, cast
from uuid import uuid4

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)

from boundary.backend import Created, Existing, Expired, Fields, Replaced
from boundary.errors import StoreUnavailable

CONNECT_TIMEOUT_S = 2.0
"""A store on the same network answers in milliseconds; a run must notice one that is down in seconds."""

REPLY_TIMEOUT_S = 5.0
"""Longest wait for one reply, a record of several MB included."""

MAX_CONNECTIONS = 64
"""More concurrent commands than this wait for a free connection."""

STORE_ID_TTL_MS = 10 * 365 * 24 * 3600 * 1000
"""Ten years: every key has a TTL, and this one should outlive all others."""

SCAN_COUNT = 1000
"""Keys a server looks at before it answers other clients again."""

_DONE, _THERE = 0, 1

_Done = TypeVar("_Done", Created, Replaced)


class _Script:
    """A Lua script with its digest, sent by digest first."""

    def __init__(self, body: str) -> None:
        self.body = body.strip()
        self.sha1 = sha1(self.body.encode(), usedforsecurity=False).hexdigest()


CREATE = _Script("""
local held = redis.call('HMGET', KEYS[1], ARGV[4], 'expires_at_ms')
if held[2] then
  if tonumber(held[2]) <= tonumber(ARGV[1]) then return {2} end
  return {1, held[1] or ''}
end
if redis.call('EXISTS', KEYS[1]) == 1 then return {1, ''} end
if tonumber(ARGV[3]) <= 0 then return {2} end
redis.call('HSET', KEYS[1], 'expires_at_ms', ARGV[2], unpack(ARGV, 5))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {0}
""")

REPLACE = _Script("""
local held = redis.call('HMGET', KEYS[1], 'record', 'expires_at_ms')
if not held[2] or tonumber(held[2]) <= tonumber(ARGV[1]) then return {2} end
if held[1] ~= ARGV[2] then return {1, held[1] or ''} end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return {0}
""")

PUT = _Script("""
local held = redis.call('HMGET', KEYS[1], ARGV[2], 'expires_at_ms')
if not held[2] or tonumber(held[2]) <= tonumber(ARGV[1]) then return {2} end
if held[1] then return {1, held[1]} end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return {0}
""")

CHAIN = _Script("""
local expires = redis.call('HGET', KEYS[1], 'expires_at_ms')
if not expires or tonumber(expires) <= tonumber(ARGV[1]) then return {2} end
local found, size, current = {0}, 0, ARGV[2]
while current and size <= tonumber(ARGV[3]) do
  local held = redis.call('HMGET', KEYS[1], 'turn:' .. current, 'parent:' .. current)
  if not held[1] then break end
  found[#found + 1] = held[1]
  size = size + #held[1]
  current = held[2]
end
return found
""")


class RedisBackend:
    """Runs the scripts. Get one from `connect`; close the client it was made from yourself."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def create(
        self, key: str, fields: Fields, *, identity: str, expires_at_ms: int, now_ms: int
    ) -> Created | Existing | Expired:
        """See `Backend.create`."""
        ttl_ms = expires_at_ms - now_ms
        reply = await self._run(CREATE, key, now_ms, expires_at_ms, ttl_ms, identity, *_flat(fields))
        return _answer(reply, Created())

    async def replace(self, key: str, *, expected: bytes, fields: Fields, now_ms: int) -> Replaced | Existing | Expired:
        """See `Backend.replace`."""
        return _answer(await self._run(REPLACE, key, now_ms, expected, *_flat(fields)), Replaced())

    async def put(self, key: str, fields: Fields, *, identity: str, now_ms: int) -> Created | Existing | Expired:
        """See `Backend.put`."""
        return _answer(await self._run(PUT, key, now_ms, identity, *_flat(fields)), Created())

    async def chain(self, key: str, *, start: str, max_bytes: int, now_ms: int) -> list[bytes] | None:
        """See `Backend.chain`."""
        reply = await self._run(CHAIN, key, now_ms, start, max_bytes)
        return reply[1:] if reply[0] == _DONE else None

    async def read(self, keys: Sequence[str], fields: Sequence[str], *, now_ms: int) -> list[dict[str, bytes] | None]:
        """See `Backend.read`."""
        if not keys:
            return []
        names = ["expires_at_ms", *fields]
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.hmget(key, names)
        rows = cast("list[list[bytes | None]]", await _guarded(pipeline.execute()))
        return [_living(dict(zip(names, row, strict=True)), now_ms) for row in rows]

    async def read_all(self, key: str, *, now_ms: int) -> dict[str, bytes] | None:
        """See `Backend.read_all`."""
        held = cast("dict[bytes, bytes]", await _guarded(self._client.hgetall(key)))
        return _living({name.decode(): value for name, value in held.items()}, now_ms)

    async def keys_with(self, head: str) -> list[str]:
        """See `Backend.keys_with`; `head` has nothing that a pattern would read as a wildcard."""

        async def scanned() -> set[bytes]:
            # A cluster's client asks each node; a server may name a key twice.
            found = cast("AsyncIterator[bytes]", self._client.scan_iter(f"{head}*", SCAN_COUNT, _type="hash"))
            return {key async for key in found}

        return [key.decode(errors="replace") for key in cast("set[bytes]", await _guarded(scanned()))]

    async def now_ms(self) -> int:
        """See `Backend.now_ms`."""
        seconds, micros = cast("tuple[int, int]", await _guarded(self._client.time()))
        return seconds * 1000 + micros // 1000

    async def store_id(self, key: str) -> str:
        """See `Backend.store_id`."""
        await _guarded(self._client.set(key, uuid4().hex[:8], nx=True, px=STORE_ID_TTL_MS))
        held = cast("bytes | None", await _guarded(self._client.get(key)))
        if held is None:
            raise StoreUnavailable("the store lost its identity key the moment it was written")
        return held.decode()

    async def _run(self, script: _Script, key: str, *args: str | int | bytes) -> list[Any]:
        try:
            reply = await _guarded(self._client.evalsha(script.sha1, 1, key, *args), raw=NoScriptError)
        except NoScriptError:
            reply = await _guarded(self._client.eval(script.body, 1, key, *args))
        return cast("list[Any]", reply)


def connect(url: str) -> Redis:
    """Make a client that fails fast and never repeats a command by itself; nothing is sent yet.

    Raises:
        ValueError: the URL is not redis://, rediss:// or unix://.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        timeout=REPLY_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=REPLY_TIMEOUT_S,
        max_connections=MAX_CONNECTIONS,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)


async def _guarded(reply: Awaitable[Any] | Any, raw: type[RedisError] | tuple[()] = ()) -> Any:
    try:
        return await reply
    except raw:
        raise
    except (RedisError, OSError) as error:
        raise StoreUnavailable(_explain(error)) from error


def _explain(error: Exception) -> str:
    """Say what the store's error means and what to do, without repeating its text (it may hold a URL)."""
    match error:
        case AuthenticationError():
            return "the store refused the user name or password; check REDIS_URL"
        case NoPermissionError():
            return "the store's user lacks a command or key pattern casebound needs; see docs/configuration.md"
        case OutOfMemoryError():
            return "the store reached maxmemory and refuses writes; give it more memory or a shorter record_ttl"
        case ReadOnlyError():
            return "the store is a read-only replica; point REDIS_URL at the primary"
        case _:
            return f"the store did not answer ({type(error).__name__}); is it running, and is REDIS_URL right?"


def _flat(fields: Fields) -> list[str | bytes]:
    return [part for pair in fields.items() for part in pair]


def _answer(reply: list[Any], done: _Done) -> _Done | Existing | Expired:
    if reply[0] == _DONE:
        return done
    return Existing(bytes(reply[1])) if reply[0] == _THERE else Expired()


def _living(fields: dict[str, bytes | None] | dict[str, bytes], now_ms: int) -> dict[str, bytes] | None:
    expires = fields.get("expires_at_ms")
    if expires is None or int(expires) <= now_ms:
        return None
    return {name: value for name, value in fields.items() if value is not None}
