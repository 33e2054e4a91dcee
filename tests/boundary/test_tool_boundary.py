"""The life of one call in the boundary, over every store, with tools that do anything."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from boundary.backend import Backend, Existing, Expired, Replaced
from boundary.contracts import (
    AdmittedCall,
    CallError,
    EvidenceStatus,
    InvocationStatus,
    JsonObject,
    JsonValue,
    ReplacedText,
    ToolCallOutcome,
    call_error,
)
from boundary.errors import AttemptFailed, ErrorCode, StaleAttempt, StoreUnavailable
from boundary.keys import ToolCallKeyFactory
from boundary.limits import RecordLimits
from boundary.memory_backend import MemoryBackend
from boundary.preflight import RunScope
from boundary.redaction import Redactor
from boundary.registry import ToolRegistry
from boundary.store import InvocationStore, Owned, StoredInvocation
from boundary.tool_boundary import ToolBoundary
from boundary.tools import Projection, Tool, ToolContext, ToolFailure
from tests.support.attempts import FakeAttempt
from tests.support.calls import NOW_MS, admitted
from tests.support.tools import CANARY, FakeAsyncTool, FakeTool, show_nothing, show_raw
from tests.support.waiting import wait_until

RUN = RunScope("run-a")
LIMITS = RecordLimits(request=2_000, raw=10_000, agent_result=4_000, record=12_000)

Build = Callable[..., ToolBoundary]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads of the boundary."""
    executor = ThreadPoolExecutor(8)
    yield executor
    executor.shutdown(wait=False, cancel_futures=True)


@pytest.fixture
def build(store: InvocationStore, pool: ThreadPoolExecutor) -> Build:
    """Make a boundary over the store in turn."""

    def make(*tools: Tool, limits: RecordLimits = LIMITS, over: InvocationStore = store) -> ToolBoundary:
        return ToolBoundary(ToolRegistry(tools), over, pool, limits, Redactor(["hunter2-hunter2"]))

    return make


async def record_of(store: InvocationStore, call_id: str = "call_1") -> StoredInvocation:
    return (await store.read("run-a", [call_id], now_ms=NOW_MS, raw=True))[call_id]


def returning(value: Any) -> Callable[[JsonObject, ToolContext], JsonValue]:
    return lambda arguments, context: value


def raising(error: BaseException) -> Callable[[JsonObject, ToolContext], JsonValue]:
    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise error

    return work


@pytest.mark.parametrize("tool", [FakeTool(), FakeAsyncTool()], ids=["thread", "async"])
async def test_a_good_call_is_recorded_whole_and_shown_projected(
    build: Build, store: InvocationStore, tool: FakeTool
) -> None:
    """Raw is stored, the agent's side is the projection, and the outcome holds digests and a preview only."""
    outcome = await build(tool).invoke(admitted(), RUN, FakeAttempt())
    stored = await record_of(store)
    assert stored.record.status is InvocationStatus.READY
    raw, agent = b'{"echo":{"q":1},"secret":"%s"}' % CANARY.encode(), b'{"echo":{"q":1}}'
    assert (stored.raw, stored.agent_result) == (raw, agent)
    assert outcome == ToolCallOutcome(
        record_sha256=hashlib.sha256(stored.encoded).hexdigest(),
        record_bytes=len(stored.encoded) + len(raw) + len(agent),
        raw_bytes=len(raw),
        agent_result_bytes=len(agent),
        preview='{"echo":{"q":1}}',
    )
    assert CANARY not in outcome.model_dump_json()


async def test_a_tool_that_finds_nothing_is_ready_without_evidence(build: Build, store: InvocationStore) -> None:
    """NO_EVIDENCE is a READY outcome: it looked and found nothing."""
    outcome = await build(FakeTool(show=show_nothing)).invoke(admitted(), RUN, FakeAttempt())
    assert (outcome.status, outcome.evidence_status) == (InvocationStatus.READY, EvidenceStatus.NO_EVIDENCE)


@pytest.mark.proves("INV-RECORD-BEFORE-EXECUTION")
async def test_the_record_exists_with_its_expiry_before_the_tool_runs(
    build: Build, store: InvocationStore, backend: Backend, keys: ToolCallKeyFactory
) -> None:
    """While the tool runs, its PROJECTING record and its TTL are there already."""
    seen: list[Any] = []

    async def look(arguments: JsonObject, context: ToolContext) -> JsonValue:
        [row] = await backend.read([keys.record("run-a", "call_1")], ["record", "expires_at_ms"], now_ms=NOW_MS)
        seen.append(row)
        return {"echo": arguments}

    await build(FakeAsyncTool(work_async=look)).invoke(admitted(), RUN, FakeAttempt())
    assert seen
    assert b'"status":"PROJECTING"' in seen[0]["record"]
    assert int(seen[0]["expires_at_ms"]) == admitted().grant.expires_at_ms


REFUSALS: list[tuple[str, AdmittedCall, FakeTool, RunScope, ErrorCode]] = [
    ("not active", admitted(), FakeTool(), RunScope("run-a", active=False), ErrorCode.RUN_NOT_ACTIVE),
    ("cancelled", admitted(), FakeTool(), RunScope("run-a", cancelled=True), ErrorCode.RUN_CANCELLED),
    ("late", admitted(deadline_ms=NOW_MS), FakeTool(), RUN, ErrorCode.DEADLINE_EXCEEDED),
    ("no bytes", admitted(grant_bytes=0), FakeTool(), RUN, ErrorCode.BUDGET_EXCEEDED),
    ("lacking tool", admitted(tool="gone"), FakeTool(), RUN, ErrorCode.TOOL_UNAVAILABLE),
    ("illegal tool", admitted(tool="No Tool"), FakeTool(), RUN, ErrorCode.UNKNOWN_TOOL),
    ("bad json", admitted(arguments='{"q": 1'), FakeTool(), RUN, ErrorCode.INVALID_ARGUMENTS),
    ("two keys", admitted(arguments='{"q": 1, "q": 2}'), FakeTool(), RUN, ErrorCode.INVALID_ARGUMENTS),
    ("a list", admitted(arguments="[]"), FakeTool(), RUN, ErrorCode.INVALID_ARGUMENTS),
    (
        "replaced",
        admitted(arguments=ReplacedText(reason="oversized", bytes=3_000_000, sha256="0" * 64)),
        FakeTool(),
        RUN,
        ErrorCode.INVALID_ARGUMENTS,
    ),
    ("schema", admitted(arguments='{"q": "one"}'), FakeTool(), RUN, ErrorCode.SCHEMA_VIOLATION),
    ("writes", admitted(), FakeTool(read_only=False), RUN, ErrorCode.NOT_READ_ONLY),
    (
        "own check",
        admitted(),
        FakeTool(refuse=lambda _: call_error(ErrorCode.NOT_READ_ONLY, "it deletes")),
        RUN,
        ErrorCode.NOT_READ_ONLY,
    ),
    ("large request", admitted(arguments="x" * 2_001), FakeTool(), RUN, ErrorCode.RESULT_TOO_LARGE),
]


@pytest.mark.parametrize(("call", "tool", "run", "code"), [case[1:] for case in REFUSALS], ids=[c[0] for c in REFUSALS])
async def test_a_refused_call_leaves_an_error_record_and_runs_nothing(
    build: Build, store: InvocationStore, call: AdmittedCall, tool: FakeTool, run: RunScope, code: ErrorCode
) -> None:
    """Every verdict of the preflight is a value with one ERROR record."""
    tool.executed.clear()
    outcome = await build(tool).invoke(call, run, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is code
    record = (await record_of(store)).record
    assert (record.status, record.error) == (InvocationStatus.ERROR, outcome.error)
    assert tool.executed == []


async def test_an_illegal_id_and_another_runs_call_never_touch_the_store(build: Build, store: InvocationStore) -> None:
    """MISSING, INVALID and RUN_MISMATCH are values without a record of their own."""
    for call, code in (
        (admitted(""), ErrorCode.MISSING_TOOL_CALL_ID),
        (admitted("a b"), ErrorCode.INVALID_TOOL_CALL_ID),
        (admitted(run_id="run-b"), ErrorCode.RUN_MISMATCH),
    ):
        outcome = await build(FakeTool()).invoke(call, RUN, FakeAttempt())
        assert outcome.error is not None
        assert outcome.error.code is code
        assert outcome.record_sha256 is None
    assert await store.read("run-b", ["call_1"], now_ms=NOW_MS) == {}


@pytest.mark.proves("FIELD-REPEATED-IDS")
async def test_an_expired_and_a_duplicate_call_are_values(build: Build, store: InvocationStore) -> None:
    """RECORD_EXPIRED and DUPLICATE_TOOL_CALL_ID come back as values, the record is left alone."""
    boundary, tool = build(FakeTool()), FakeTool()
    expired = await boundary.invoke(admitted("gone", ttl_ms=0), RUN, FakeAttempt())
    assert expired.error is not None
    assert expired.error.code is ErrorCode.RECORD_EXPIRED
    await boundary.invoke(admitted(), RUN, FakeAttempt())
    before = (await record_of(store)).encoded
    duplicate = await build(tool).invoke(admitted(turn=2), RUN, FakeAttempt())
    assert duplicate.error is not None
    assert duplicate.error.code is ErrorCode.DUPLICATE_TOOL_CALL_ID
    assert (await record_of(store)).encoded == before
    assert tool.executed == []


BREAKING: list[tuple[str, FakeTool, ErrorCode]] = [
    ("raises", FakeTool(work=raising(RuntimeError("boom"))), ErrorCode.EXECUTION_ERROR),
    ("says so", FakeTool(work=raising(ToolFailure("no such source"))), ErrorCode.EXECUTION_ERROR),
    ("exits", FakeTool(work=raising(SystemExit(3))), ErrorCode.EXECUTION_ERROR),
    ("interrupts", FakeAsyncTool(work=raising(KeyboardInterrupt())), ErrorCode.EXECUTION_ERROR),
    ("cancels itself", FakeAsyncTool(work=raising(asyncio.CancelledError())), ErrorCode.EXECUTION_ERROR),
    ("returns bytes", FakeTool(work=returning(b"x"), show=show_raw), ErrorCode.EXECUTION_ERROR),
    ("returns NaN", FakeTool(work=returning(float("nan")), show=show_raw), ErrorCode.EXECUTION_ERROR),
    ("returns a set", FakeTool(work=returning({1}), show=show_raw), ErrorCode.EXECUTION_ERROR),
    ("upstream", FakeTool(work=raising(ToolFailure("down", code=ErrorCode.UPSTREAM_UNAVAILABLE))),
     ErrorCode.UPSTREAM_UNAVAILABLE),
    ("large raw", FakeTool(work=returning("x" * 10_001), show=show_raw), ErrorCode.RESULT_TOO_LARGE),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "code"), [case[1:] for case in BREAKING], ids=[case[0] for case in BREAKING])
async def test_a_tool_that_breaks_settles_error_and_its_raw_is_not_kept(
    build: Build, store: InvocationStore, tool: FakeTool, code: ErrorCode
) -> None:
    """Whatever a tool raises or returns, the call has one ERROR outcome, and nothing escapes."""
    outcome = await build(tool).invoke(admitted(), RUN, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is code
    stored = await record_of(store)
    assert stored.record.status is InvocationStatus.ERROR
    assert stored.raw is None
    assert stored.agent_result is None


def project_badly(kind: str) -> Callable[[JsonObject, JsonValue, int], Projection]:
    def show(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        if kind == "raises":
            raise KeyError("shape")
        if kind == "not json":
            return Projection({1, 2}, EvidenceStatus.EVIDENCE_FOUND)
        return Projection({}, EvidenceStatus.UNKNOWN)

    return show


@pytest.mark.parametrize("kind", ["raises", "not json", "unknown status"])
async def test_a_projector_that_fails_keeps_the_raw_response(build: Build, store: InvocationStore, kind: str) -> None:
    """PROJECTION_ERROR: the evidence is kept whole, the agent sees an error."""
    tool = FakeTool(work=returning({"rows": [1, 2]}), show=project_badly(kind))
    outcome = await build(tool).invoke(admitted(), RUN, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.PROJECTION_ERROR
    assert (await record_of(store)).raw == b'{"rows":[1,2]}'


async def test_a_lone_surrogate_stays_exact_in_raw_and_is_replaced_for_the_agent(
    build: Build, store: InvocationStore
) -> None:
    """Raw round-trips as it is; what a planner reads is valid Unicode, and a literal backslash-u stays text."""
    tool = FakeTool(work=returning(["\ud800x", "\\ud800", "😀"]), show=show_raw)
    await build(tool).invoke(admitted(), RUN, FakeAttempt())
    stored = await record_of(store)
    assert json.loads(stored.raw or b"") == ["\ud800x", "\\ud800", "😀"]
    assert json.loads((stored.agent_result or b"").decode()) == ["\ufffdx", "\\ud800", "😀"]


@pytest.mark.proves("FIELD-HUGE-TEXT")
async def test_an_agent_result_over_its_limit_keeps_raw_and_says_which_limit(
    build: Build, store: InvocationStore
) -> None:
    """RESULT_TOO_LARGE names the part, its bytes and the limit; size and digest of what was dropped stay."""
    tool = FakeTool(work=returning("y" * 5_000), show=show_raw)
    outcome = await build(tool).invoke(admitted(), RUN, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.RESULT_TOO_LARGE
    for part in ("agent result", "5002", "4000"):
        assert part in outcome.error.message
    stored = await record_of(store)
    body = b'"' + b"y" * 5_000 + b'"'
    assert stored.raw == body
    assert stored.record.sizes.agent_result == 5_002
    assert stored.record.sha256.agent_result == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize(
    ("grant", "limits"),
    [(3_000, LIMITS), (1_000_000, LIMITS.model_copy(update={"record": 3_000}))],
    ids=["byte grant", "record limit"],
)
async def test_a_record_over_its_grant_or_limit_drops_its_bodies(
    build: Build, store: InvocationStore, grant: int, limits: RecordLimits
) -> None:
    """The record with its bodies must fit the grant and the record limit; else they leave size and digest."""
    tool = FakeTool(work=returning("z" * 3_900), show=show_nothing)
    outcome = await build(tool, limits=limits).invoke(admitted(grant_bytes=grant), RUN, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.RESULT_TOO_LARGE
    stored = await record_of(store)
    assert stored.raw is None
    assert stored.record.sizes.raw == 3_902
    assert outcome.record_bytes == len(stored.encoded) <= 3_000


async def test_secrets_are_masked_before_the_agent_result_is_stored(build: Build, store: InvocationStore) -> None:
    """A secret in tool output stands in raw only: not in agent result, preview or error."""
    leaky = FakeTool(work=returning({"line": "login with hunter2-hunter2 ok"}), show=show_raw)
    outcome = await build(leaky).invoke(admitted(), RUN, FakeAttempt())
    stored = await record_of(store)
    assert stored.raw is not None
    assert b"hunter2" in stored.raw
    assert b"hunter2" not in (stored.agent_result or b"")
    assert stored.record.redactions == 1
    failing = FakeTool(work=raising(RuntimeError("cannot reach redis://u:hunter2-hunter2@host")))
    broken = await build(failing).invoke(admitted("call_2"), RUN, FakeAttempt())
    assert "hunter2" not in outcome.model_dump_json() + broken.model_dump_json()


async def test_retryable_failures_are_counted_until_the_last_settles(build: Build, store: InvocationStore) -> None:
    """Failures + 1 and an exception, twice; the third failure settles ERROR with the tool's own code."""
    down = FakeTool(work=raising(ToolFailure("refused", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)))
    boundary = build(down)
    for failures in (1, 2):
        with pytest.raises(AttemptFailed) as caught:
            await boundary.invoke(admitted(), RUN, FakeAttempt())
        assert caught.value.code is ErrorCode.UPSTREAM_UNAVAILABLE
        record = (await record_of(store)).record
        assert (record.status, record.failures) == (InvocationStatus.PROJECTING, failures)
    outcome = await boundary.invoke(admitted(), RUN, FakeAttempt())
    assert outcome.error == CallError(code=ErrorCode.UPSTREAM_UNAVAILABLE, message="refused")
    record = (await record_of(store)).record
    assert (record.executions, record.failures) == (3, 3)
    assert len(down.executed) == 3


@pytest.mark.proves("FIELD-NEVER-ANSWERS")
async def test_a_slow_tool_is_left_at_its_time_out_and_its_late_result_goes_nowhere(
    build: Build, store: InvocationStore
) -> None:
    """A thread cannot be killed: it is told to stop, the call is settled, what it returns later is discarded."""
    told, release = threading.Event(), threading.Event()

    def stuck(arguments: JsonObject, context: ToolContext) -> JsonValue:
        while not context.stop.is_set():
            release.wait(0.01)
        told.set()
        return {"echo": "late"}

    outcome = await build(FakeTool(work=stuck)).invoke(admitted(timeout_ms=300), RUN, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.EXECUTION_TIMEOUT
    await wait_until(told.is_set, description="the thread sees the stop flag")
    assert (await record_of(store)).record.error == outcome.error


async def test_a_deadline_during_the_tool_settles_deadline_exceeded(build: Build) -> None:
    """Where the run's deadline comes before the tool's time-out, the error says so."""

    async def sleep(arguments: JsonObject, context: ToolContext) -> JsonValue:
        await asyncio.Event().wait()
        return None

    call = admitted(deadline_ms=NOW_MS + 400)
    outcome = await build(FakeAsyncTool(work_async=sleep)).invoke(call, RUN, FakeAttempt())
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.DEADLINE_EXCEEDED


class Hanging:
    """A tool body that says when it started and ends only when it is left."""

    def __init__(self) -> None:
        self.started = asyncio.Event()

    async def __call__(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        self.started.set()
        await asyncio.Event().wait()
        return None


@pytest.mark.proves("INV-CANCELLED-ONLY-ON-REQUEST")
@pytest.mark.parametrize("requested", [True, False], ids=["by the run", "by anything else"])
async def test_only_a_requested_cancellation_settles_cancelled(
    build: Build, store: InvocationStore, requested: bool
) -> None:
    """Shutdown, pause, reset and lost attempts write nothing: the record stays PROJECTING for the next begin."""
    body = Hanging()
    attempt = FakeAttempt(cancelled=requested)
    task = asyncio.create_task(build(FakeAsyncTool(work_async=body)).invoke(admitted(), RUN, attempt))
    await body.started.wait()
    task.cancel()
    if requested:
        outcome = await task
        assert outcome.error is not None
        assert outcome.error.code is ErrorCode.CANCELLED
    else:
        with pytest.raises(asyncio.CancelledError):
            await task
    status = (await record_of(store)).record.status
    assert status is (InvocationStatus.ERROR if requested else InvocationStatus.PROJECTING)


async def test_an_attempt_that_lost_its_call_raises_stale_and_leaves_the_new_owner(
    build: Build, store: InvocationStore
) -> None:
    """STALE_ATTEMPT: another attempt took over while the tool ran; its record is not touched."""

    async def be_overtaken(arguments: JsonObject, context: ToolContext) -> JsonValue:
        assert isinstance(await store.begin(admitted(), nonce="thief", now_ms=NOW_MS), Owned)
        return {"echo": 1}

    with pytest.raises(StaleAttempt):
        await build(FakeAsyncTool(work_async=be_overtaken)).invoke(admitted(), RUN, FakeAttempt())
    record = (await record_of(store)).record
    assert (record.owner, record.status) == ("thief", InvocationStatus.PROJECTING)


class Outage(MemoryBackend):
    """A store that is not reachable for some replaces; each may have been written before the reply was lost."""

    def __init__(self, lost: Sequence[bool]) -> None:
        super().__init__()
        self.lost = list(lost)

    async def replace(self, key: str, *, expected: bytes, fields: Any, now_ms: int) -> Replaced | Existing | Expired:
        """Fail as told: True writes first and loses the reply."""
        if self.lost:
            if self.lost.pop(0):
                await super().replace(key, expected=expected, fields=fields, now_ms=now_ms)
            raise StoreUnavailable("gone")
        return await super().replace(key, expected=expected, fields=fields, now_ms=now_ms)


@pytest.mark.parametrize("lost", [[False], [True], [False, True], [True, False, False]], ids=str)
async def test_a_result_survives_in_the_attempt_until_the_store_is_back(
    build: Build, keys: ToolCallKeyFactory, lost: list[bool]
) -> None:
    """Store down at settle: the identical write is repeated, an own settled record is success, the tool runs once."""
    store = InvocationStore(Outage(lost), keys)
    tool = FakeTool()
    outcome = await build(tool, over=store).invoke(admitted(), RUN, FakeAttempt())
    assert outcome.status is InvocationStatus.READY
    assert len(tool.executed) == 1
    assert (await record_of(store)).record.executions == 1


async def test_a_store_that_stays_down_past_the_deadline_fails_the_attempt(
    build: Build, keys: ToolCallKeyFactory
) -> None:
    """At the grant's deadline the attempt gives up with STORE_UNAVAILABLE; the finalizer has the rest."""
    store = InvocationStore(Outage([False] * 99), keys)
    attempt = FakeAttempt()

    def late(arguments: JsonObject, context: ToolContext) -> JsonValue:
        attempt.time_ms = admitted().grant.deadline_ms
        return {"echo": 1}

    with pytest.raises(StoreUnavailable):
        await build(FakeTool(work=late), over=store).invoke(admitted(), RUN, attempt)


class LostReply(MemoryBackend):
    """A store whose first answer to `create` is lost after the write."""

    lose = True

    async def create(self, key: str, fields: Any, *, identity: str, expires_at_ms: int, now_ms: int) -> Any:
        """Write, then fail once."""
        answer = await super().create(key, fields, identity=identity, expires_at_ms=expires_at_ms, now_ms=now_ms)
        if self.lose:
            self.lose = False
            raise StoreUnavailable("reply lost")
        return answer


async def test_a_lost_reply_to_create_is_still_the_first_execution(build: Build, keys: ToolCallKeyFactory) -> None:
    """The record with our own nonce means "created": no second execution is counted."""
    store = InvocationStore(LostReply(), keys)
    await build(FakeTool(), over=store).invoke(admitted(), RUN, FakeAttempt())
    assert (await record_of(store)).record.executions == 1


async def test_a_lost_reply_to_a_take_over_loses_no_owner(build: Build, keys: ToolCallKeyFactory) -> None:
    """The record with our own nonce means "taken over": the call has two owners, and the tool runs once."""
    store = InvocationStore(Outage([True]), keys)
    assert isinstance(await store.begin(admitted(), nonce="lost", now_ms=NOW_MS), Owned)
    tool = FakeTool()
    outcome = await build(tool, over=store).invoke(admitted(), RUN, FakeAttempt())
    assert outcome.status is InvocationStatus.READY
    assert (outcome.executions, len(tool.executed)) == (2, 1)
