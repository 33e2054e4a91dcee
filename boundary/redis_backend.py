"""The Redis backend: the one module that imports redis. For Redis 6.2, Redis 7 and Valkey.

Above: `store` and `run_index` hold the rules. Each write is one Lua script, one key, one round
trip. The scripts get `now_ms`, compare bytes and set fields; they never decode or re-encode a
value, so any JSON survives, and only `create` ever sets a TTL. A key that holds something else,
or an expiry nobody can read, is not ours: to CREATE it is there, to all else it does not exist.

Contracts of the scripts (all take KEYS[1] = key; answers are {0} done, {1, value} there, {2} expired):
- CREATE   now_ms, expires_at_ms, ttl_ms, identity, field, value, ...
- REPLACE  now_ms, expected, field, value, ...   compares the field `record`
- PUT      now_ms, identity, field, value, ...
- CHAIN    now_ms, start, until, max_bytes       answers {0, turn, turn, ...} or {2}
- STORE_ID fresh, ttl_ms, command, ...           answers {id, command, ...}, those the user may not run
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from hashlib import sha1
from typing import Any, TypeVar, cast
from uuid import uuid4

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as BrokenConnection
from redis.exceptions import NoScriptError, RedisError, ResponseError

from boundary.backend import Created, Existing, Expired, Fields, Replaced
from boundary.errors import StoreUnavailable
from boundary.redis_errors import ALLOW, code_of, explain

CONNECT_TIMEOUT_S = 2.0
"""A store on the same network answers in milliseconds; a run must notice one that is down in seconds."""

REPLY_TIMEOUT_S = 5.0
"""Longest wait for one reply, a record of several MB included."""

ALWAYS_TAKEN_BYTES = 1024 * 1024
"""No server can be configured to refuse a value of this size: the least proto-max-bulk-len there is."""

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
local held = redis.pcall('HMGET', KEYS[1], ARGV[4], 'expires_at_ms')
if held.err then return string.find(held.err, 'WRONGTYPE', 1, true) and {1, ''} or held end
if redis.call('EXISTS', KEYS[1]) == 1 then
  local expires = tonumber(string.match(held[2] or '', '^%d+$'))
  if expires and expires <= tonumber(ARGV[1]) then return {2} end
  return {1, expires and held[1] or ''}
end
if tonumber(ARGV[3]) <= 0 then return {2} end
redis.call('HSET', KEYS[1], 'expires_at_ms', ARGV[2], unpack(ARGV, 5))
local lives = redis.pcall('PEXPIRE', KEYS[1], ARGV[3])
if type(lives) == 'table' then
  redis.call('DEL', KEYS[1])
  return lives
end
return {0}
""")

REPLACE = _Script("""
local held = redis.pcall('HMGET', KEYS[1], 'record', 'expires_at_ms')
if held.err then return string.find(held.err, 'WRONGTYPE', 1, true) and {2} or held end
local expires = tonumber(string.match(held[2] or '', '^%d+$'))
if not expires or expires <= tonumber(ARGV[1]) then return {2} end
if held[1] ~= ARGV[2] then return {1, held[1] or ''} end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return {0}
""")

PUT = _Script("""
local held = redis.pcall('HMGET', KEYS[1], ARGV[2], 'expires_at_ms')
if held.err then return string.find(held.err, 'WRONGTYPE', 1, true) and {2} or held end
local expires = tonumber(string.match(held[2] or '', '^%d+$'))
if not expires or expires <= tonumber(ARGV[1]) then return {2} end
if held[1] then return {1, held[1]} end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return {0}
""")

CHAIN = _Script("""
local held = redis.pcall('HMGET', KEYS[1], 'expires_at_ms')
if held.err then return string.find(held.err, 'WRONGTYPE', 1, true) and {2} or held end
local expires = tonumber(string.match(held[1] or '', '^%d+$'))
if not expires or expires <= tonumber(ARGV[1]) then return {2} end
local found, size, current = {0}, 0, ARGV[2]
while current and current ~= ARGV[3] and size <= tonumber(ARGV[4]) do
  local held = redis.call('HMGET', KEYS[1], 'turn:' .. current, 'parent:' .. current)
  if not held[1] then break end
  found[#found + 1] = held[1]
  size = size + #held[1]
  current = held[2]
end
return found
""")

STORE_ID = _Script("""
local held = redis.call('GET', KEYS[1])
if not held then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  held = ARGV[1]
end
local answer = {held}
for i = 3, #ARGV do
  -- On this key, a string, none of them does anything: what the user may not run is refused before.
  local words = {}
  for word in string.gmatch(ARGV[i], '%S+') do words[#words + 1] = word == 'KEY' and KEYS[1] or word end
  local told = redis.pcall(unpack(words))
  local err = type(told) == 'table' and told.err or ''
  if string.find(err, 'READONLY', 1, true) then return told end
  if string.find(err, "can't run this command", 1, true) or string.find(err, 'ACL failure', 1, true) then
    answer[#answer + 1] = words[1]
  end
end
return answer
""")

TRIED_AT_START = ("HGETALL KEY", "HMGET KEY f", "HSET KEY f v", "EXISTS KEY", "PEXPIRE KEY -", "TIME")
"""Each fails without effect on a key that is a string, or only reads."""


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

    async def chain(self, key: str, *, start: str, until: str, max_bytes: int, now_ms: int) -> list[bytes] | None:
        """See `Backend.chain`."""
        reply = await self._run(CHAIN, key, now_ms, start, until, max_bytes)
        return reply[1:] if reply[0] == _DONE else None

    async def read(self, keys: Sequence[str], fields: Sequence[str], *, now_ms: int) -> list[dict[str, bytes] | None]:
        """See `Backend.read`."""
        if not keys:
            return []
        names = ["expires_at_ms", *fields]
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.hmget(key, names)
        rows = cast("list[list[bytes | None] | None]", await _hashes(pipeline))
        return [None if row is None else _living(dict(zip(names, row, strict=True)), now_ms) for row in rows]

    async def read_all(self, key: str, *, now_ms: int) -> dict[str, bytes] | None:
        """See `Backend.read_all`."""
        pipeline = self._client.pipeline(transaction=False)
        pipeline.hgetall(key)
        [held] = cast("list[dict[bytes, bytes] | None]", await _hashes(pipeline))
        return _living({name.decode(errors="replace"): value for name, value in (held or {}).items()}, now_ms)

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
        held, *lacking = await self._run(STORE_ID, key, uuid4().hex[:8], STORE_ID_TTL_MS, *TRIED_AT_START)
        if lacking:
            commands = ", ".join(command.decode() for command in lacking)
            raise StoreUnavailable(f"the store's user may not run {commands}; {ALLOW}")
        return held.decode(errors="replace")

    async def warnings(self) -> tuple[str, ...]:
        """Say what of the server's configuration could lose evidence; nothing where it does not tell."""
        try:
            told = cast("dict[str, Any]", await _guarded(self._client.info("memory")))
        except StoreUnavailable:
            return ()
        policy, limit = told.get("maxmemory_policy", "noeviction"), told.get("maxmemory", 0)
        if policy == "noeviction" or not limit:
            return ()
        return (
            f"the store evicts keys once it holds {limit} bytes (maxmemory-policy {policy}): "
            "evidence could be gone before its TTL; set maxmemory-policy noeviction",
        )

    async def _run(self, script: _Script, key: str, *args: str | int | bytes) -> list[Any]:
        try:
            reply = await _guarded(self._client.evalsha(script.sha1, 1, key, *args), raw=NoScriptError)
        except NoScriptError:
            reply = await _guarded(self._client.eval(script.body, 1, key, *args))
        except StoreUnavailable as error:
            largest = max((len(arg) for arg in args if isinstance(arg, str | bytes)), default=0)
            if isinstance(error.__cause__, BrokenConnection) and largest > ALWAYS_TAKEN_BYTES:
                await _guarded(self._announce(largest))
            raise
        return cast("list[Any]", reply)

    async def _announce(self, size: int) -> None:
        """Raise what the server answers to the mere size of a value; one that would take it says nothing.

        A server refuses a value by its size, before the rest has come, and ends the connection; while the value is
        still being written, the client sees the end and not the answer.
        """
        connection = self._client.connection_pool.make_connection()
        try:
            await connection.connect()
            await connection.send_packed_command(b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % size)
            await connection.read_response(timeout=CONNECT_TIMEOUT_S)
        finally:
            await connection.disconnect(nowait=True)


class _Pool(BlockingConnectionPool):
    """Opens connections anew that were closed or reset while idle; the client's own may not see it."""

    async def ensure_connection(self, connection: AbstractConnection) -> None:
        """Open the connection where it is not usable."""
        reader: asyncio.StreamReader | None = getattr(connection, "_reader", None)
        if reader is not None and (reader.exception() is not None or reader.at_eof()):
            await connection.disconnect(nowait=True)
        await super().ensure_connection(connection)


def connect(url: str) -> Redis:
    """Make a client that fails fast and never repeats a command by itself; nothing is sent yet.

    Raises:
        ValueError: the URL is not redis://, rediss:// or unix://.
    """
    try:
        pool = _Pool.from_url(
            url,
            timeout=REPLY_TIMEOUT_S,
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=REPLY_TIMEOUT_S,
            max_connections=MAX_CONNECTIONS,
            retry=Retry(NoBackoff(), 0),
            # With 3 the client expects pushed messages and no longer looks whether an idle connection is fit for use.
            protocol=2,
        )
        pool.connection_kwargs["decode_responses"] = False
    except ValueError:  # its text may hold a part of the password
        raise ValueError(
            "the store's URL is not a redis://, rediss:// or unix:// URL, special characters percent-encoded"
        ) from None
    try:
        pool.make_connection()
    except (TypeError, ValueError, AttributeError, RedisError):
        raise ValueError(
            "the store's URL has an option after `?` that is unknown, or whose value is not legal"
        ) from None
    return Redis.from_pool(pool)


async def _guarded(reply: Awaitable[Any] | Any, raw: type[RedisError] | tuple[()] = ()) -> Any:
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task else 0
    try:
        return await reply
    except raw:
        raise
    except (RedisError, OSError) as error:
        raise StoreUnavailable(explain(error)) from error
    finally:
        # The client sends under `asyncio.wait_for`, which before Python 3.12 may swallow a cancellation.
        if task and task.cancelling() > cancelled_before:
            raise asyncio.CancelledError


async def _hashes(pipeline: Pipeline) -> list[Any]:
    """Read hashes in one round trip; None for a key that holds something else."""
    rows: list[Any] = await _guarded(pipeline.execute(raise_on_error=False))
    for position, row in enumerate(rows):
        if isinstance(row, ResponseError) and code_of(row) == "WRONGTYPE":
            rows[position] = None
        elif isinstance(row, RedisError):
            raise StoreUnavailable(explain(row)) from row
    return rows


def _flat(fields: Fields) -> list[str | bytes]:
    return [part for pair in fields.items() for part in pair]


def _answer(reply: list[Any], done: _Done) -> _Done | Existing | Expired:
    if reply[0] == _DONE:
        return done
    return Existing(bytes(reply[1])) if reply[0] == _THERE else Expired()


def _living(fields: dict[str, bytes | None] | dict[str, bytes], now_ms: int) -> dict[str, bytes] | None:
    expires = fields.get("expires_at_ms")
    if expires is None or not expires.isdigit() or int(expires) <= now_ms:
        return None
    return {name: value for name, value in fields.items() if value is not None}
