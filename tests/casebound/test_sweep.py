"""`casebound sweep` on real servers: what ended runs left is settled, and nothing else is touched."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
import pytest_asyncio
from google.protobuf.duration_pb2 import Duration
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyType
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest, ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError

from activities.contracts import BudgetLeft, PlanInput, PlannedTurn, PlannerRef
from activities.stored import RunBrief, StoredTurn
from boundary.contracts import InvocationStatus, JsonObject, JsonValue, ToolCall
from boundary.errors import ErrorCode
from boundary.keys import ToolCallKeyFactory
from boundary.memory_backend import MemoryBackend
from boundary.record import CanonicalInvocation
from boundary.redis_backend import RedisBackend, connect
from boundary.report import Verdict
from boundary.run_index import RunIndex
from boundary.store import InvocationStore, StoredInvocation
from boundary.tools import ToolContext
from casebound.client import run_handle
from casebound.sweep import ChainState, Sweep, SweptRun
from casebound.worker import Store, store_over
from tests.casebound import programs
from tests.support.calls import admitted, failed
from tests.support.redis_servers import connected
from tests.support.runs import Harness, RunHandle, call, calls, cite, claim, report
from tests.support.tools import FakeTool
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(120)

DAY = timedelta(days=1)
DAY_MS = 24 * 3600 * 1000

ONE_CALL = [
    calls(call("one", arguments={"q": 1})),
    report(claim("q was one", cite("one", pointer="/echo/q", quote="1"))),
]

Keys = dict[bytes, tuple[dict[bytes, bytes], int]]
"""Fields and the time at which the server drops the key, in Unix milliseconds, by key."""


@dataclass
class Running:
    """A run whose tool runs until it is released."""

    handle: RunHandle
    run_id: str
    released: threading.Event


@dataclass
class Desk:
    """Where runs are made and swept up."""

    client: Client
    store: Store
    harness: Harness
    url: str
    prefix: str
    folder: Path

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Running]:
        """Run a worker and a run whose call `one` is being executed until it is released, or told to stop."""
        released = threading.Event()

        def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
            while not released.is_set() and not context.stop.is_set():
                time.sleep(0.01)
            return {"echo": arguments}

        async with self.harness.worker(ONE_CALL, [FakeTool(work=work)]):
            handle = await self.harness.start(question="What\nhappened?")
            run_id = handle.first_execution_run_id or ""
            await wait_until(lambda: self.stored(run_id), description="the tool runs", timeout=30)
            yield Running(handle, run_id, released)

    async def terminated(self) -> str:
        """Leave a run that was terminated while its tool ran; returns its run id."""
        async with self.running() as run:
            await run.handle.terminate()
        return run.run_id

    async def stored(self, run_id: str, call_id: str = "one") -> StoredInvocation | None:
        """Read a record."""
        now_ms = await self.store.backend.now_ms()
        return (await self.store.invocations.read(run_id, [call_id], now_ms=now_ms)).get(call_id)

    async def record(self, run_id: str, call_id: str = "one") -> CanonicalInvocation:
        """Read a record that is there."""
        stored = await self.stored(run_id, call_id)
        assert stored is not None
        return stored.record

    async def sweep(self, **options: Any) -> list[SweptRun]:
        """Sweep every run of the store; options are those of `Sweep`."""
        sweeping = replace(Sweep(self.client, self.store, DAY), **options)
        return [run for run_id in await self.store.runs.ids() if (run := await sweeping.settle(run_id))]

    async def casebound(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        address = self.client.service_client.config.target_host
        servers = {"TEMPORAL_ADDRESS": address, "REDIS_URL": self.url, **more}
        return await asyncio.to_thread(programs.casebound, self.folder, *arguments, more=servers)

    def keys(self) -> Keys:
        """Read every hash of the test with its expiry."""
        with connected(self.url) as plain:
            names = cast("list[bytes]", plain.keys(f"{self.prefix}*"))
            hashes = [name for name in names if plain.type(name) == b"hash"]
            return {
                name: (cast("dict[bytes, bytes]", plain.hgetall(name)), plain.pexpiretime(name.decode()))
                for name in hashes
            }


@pytest_asyncio.fixture
async def desk(
    tmp_path: Path, temporal_client: Client, valkey_url: str, key_prefix: str, task_queue: str
) -> AsyncGenerator[Desk]:
    """The session's servers; everything else the test's own."""
    (tmp_path / "casebound.toml").write_text(f'[store]\nprefix = "{key_prefix}"\n')
    client = connect(valkey_url)
    store = await store_over(RedisBackend(client), key_prefix)
    harness = Harness(temporal_client, store, task_queue)
    yield Desk(temporal_client, store, harness, valkey_url, key_prefix, tmp_path)
    await client.aclose()


async def side_branch(desk: Desk, run_id: str, call_id: str, *, age_ms: int = 0) -> None:
    """Leave what a reset leaves: a turn that the last one does not descend from, its call PROJECTING."""
    now_ms = await desk.store.backend.now_ms()
    begun = admitted(call_id, run_id=run_id, now_ms=now_ms - age_ms, ttl_ms=age_ms + DAY_MS)
    plan = PlanInput(number=1, notes=(call_id,), budget=BudgetLeft(tool_calls=1, turns=1, run_bytes=1), deadline_ms=0)
    requested = (ToolCall(tool_call_id=call_id, tool_name="probe", arguments='{"q": 1}'),)
    turn = StoredTurn(input=plan, turn=PlannedTurn(turn_key=f"1:plan:{call_id}", calls=requested))
    await desk.store.runs.put_turn(run_id, turn.turn.turn_key, None, turn.model_dump_json().encode(), now_ms=now_ms)
    await desk.store.invocations.begin(begun, nonce="lost", now_ms=now_ms - age_ms)


async def unknown_to_temporal(desk: Desk, age_ms: int) -> str:
    """Leave a run of that age, its call `one` PROJECTING, that Temporal does not know; returns its run id."""
    run_id, now_ms = str(uuid4()), await desk.store.backend.now_ms()
    brief = RunBrief(
        run_id=run_id,
        workflow_id=f"casebound-{run_id}",
        question="Gone?",
        planner=PlannerRef(),
        deadline_ms=now_ms,
        expires_at_ms=now_ms + DAY_MS,
    )
    await desk.store.runs.open(
        run_id, brief.model_dump_json().encode(), expires_at_ms=brief.expires_at_ms, now_ms=now_ms
    )
    await side_branch(desk, run_id, "one", age_ms=age_ms)
    return run_id


async def reset_to_the_call(desk: Desk, handle: RunHandle) -> None:
    """Begin the workflow anew from before its first tool call; the execution so far is terminated."""
    history = await handle.fetch_history()
    [scheduled] = [
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        and event.activity_task_scheduled_event_attributes.activity_type.name == "probe"
    ]
    await desk.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=desk.client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=handle.id),
            reason="a test",
            request_id=str(uuid4()),
            workflow_task_finish_event_id=scheduled.workflow_task_completed_event_id,
            reset_reapply_type=ResetReapplyType.RESET_REAPPLY_TYPE_NONE,
        )
    )


def lost(record: CanonicalInvocation, code: ErrorCode = ErrorCode.WORKER_LOST) -> None:
    """Hold a record to what the sweep makes of a lost call."""
    assert record.error is not None
    assert (record.status, record.error.code) == (InvocationStatus.ERROR, code)


@pytest.mark.proves("INV-TTL-NEVER-EXTENDED")
async def test_what_a_terminated_run_left_is_settled_and_shown(desk: Desk) -> None:
    """Its running call becomes ERROR, WORKER_LOST; of all keys one field is changed; a second sweep finds nothing."""
    run_id = await desk.terminated()
    before = desk.keys()
    done = await desk.casebound("sweep", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["totals"] == {"runs": 1, "records": 1, "skipped": 0}
    [run] = printed["runs"]
    assert (run["run_id"], run["state"], run["question"]) == (run_id, "terminated", "What\nhappened?")
    assert run["settled"] == [{"tool_call_id": "one", "tool_name": "probe", "code": "WORKER_LOST"}]
    record = await desk.record(run_id)
    lost(record)
    assert record.settled_at is not None
    assert record.executions == 1
    changed = {name: held for name, held in desk.keys().items() if held != before[name]}
    assert list(changed) == [f"{desk.prefix}:{run_id}:one".encode()]
    [(name, (fields, expires))] = changed.items()
    old_fields, old_expires = before[name]
    assert expires == old_expires
    assert {key for key in fields if fields[key] != old_fields.get(key)} == {b"record"}
    shown = json.loads((await desk.casebound("show", run_id, "--json")).stdout)
    [listed] = shown["calls"]
    assert (listed["status"], listed["error"]["message"]) == ("ERROR", "the run ended before this call did")
    after = desk.keys()
    again = await desk.casebound("sweep", run_id)
    assert again.stdout.splitlines() == [
        f"{run_id}  terminated  nothing to settle  What happened?",
        "1 run: 0 records settled",
    ]
    assert desk.keys() == after


async def test_a_live_run_is_not_touched(desk: Desk) -> None:
    """Its tool runs; the sweep changes no byte of it, by name or with all others, and it ends with its proof."""
    async with desk.running() as run:
        before = desk.keys()
        done = await desk.casebound("sweep")
        named = await desk.casebound("sweep", run.handle.id)
        assert desk.keys() == before
        run.released.set()
        finished = await desk.harness.finished(run.handle, await run.handle.result())
    assert done.stdout.splitlines() == [f"{run.run_id}  running     -  What happened?", "1 run: 0 records settled"]
    assert named.stdout == done.stdout
    assert finished.result.verdict is Verdict.SUPPORTED
    assert finished.records["one"].record.executions == 1


async def test_a_reset_run_lives_though_its_first_execution_was_terminated(desk: Desk) -> None:
    """The chain's current execution counts; when it has ended by itself nothing is left to settle."""
    async with desk.running() as run:
        await reset_to_the_call(desk, run.handle)
        first = await desk.client.get_workflow_handle(run.handle.id, run_id=run.run_id).describe()
        assert first.status is WorkflowExecutionStatus.TERMINATED

        async def taken_over() -> bool:
            return (await desk.record(run.run_id)).executions == 2

        await wait_until(taken_over, description="the new execution runs the tool", timeout=30)
        before = desk.keys()
        [swept] = await desk.sweep()
        assert (swept.run_id, swept.state, swept.settled) == (run.run_id, ChainState.RUNNING, ())
        assert desk.keys() == before
        run.released.set()
        assert (await run_handle(desk.client, run.handle.id).result()).verdict is Verdict.SUPPORTED
    ended = desk.keys()
    [swept] = await desk.sweep()
    assert (swept.state, swept.settled, swept.skipped) == (ChainState.COMPLETED, (), None)
    assert desk.keys() == ended


async def test_calls_of_every_branch_are_settled(desk: Desk) -> None:
    """A reset leaves turns that the last one does not descend from; their calls are the run's, too."""
    run_id = await desk.terminated()
    await side_branch(desk, run_id, "aside")
    [swept] = await desk.sweep()
    assert {call.tool_call_id for call in swept.settled} == {"one", "aside"}
    lost(await desk.record(run_id, "one"))
    lost(await desk.record(run_id, "aside"))


async def test_what_a_cancelled_run_left_is_cancelled(desk: Desk) -> None:
    """Its own code settled the call that ran; one that it could not is settled with the same code."""
    async with desk.running() as run:
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.handle.result()
    own = await desk.stored(run.run_id)
    await side_branch(desk, run.run_id, "aside")
    [swept] = await desk.sweep()
    assert swept.state is ChainState.CANCELLED
    assert [call.tool_call_id for call in swept.settled] == ["aside"]
    lost(await desk.record(run.run_id, "aside"), ErrorCode.CANCELLED)
    assert await desk.stored(run.run_id) == own


class Meanwhile(InvocationStore):
    """A store in which something happens to each record right after it was read."""

    taken_over = False

    async def read(self, run_id: str, tool_call_ids: Sequence[str], **options: Any) -> dict[str, StoredInvocation]:
        """See `InvocationStore.read`."""
        found = await super().read(run_id, tool_call_ids, **options)
        for stored in found.values():
            if self.taken_over:
                again = admitted(stored.record.tool_call_id, run_id=run_id, arguments='{"q": 1}')
                await super().begin(again, nonce="new", now_ms=options["now_ms"])
            else:
                await super().settle(stored, failed(), now_ms=options["now_ms"])
        return found


@pytest.mark.proves("INV-SETTLED-NEVER-CHANGES", "INV-LAST-BEGIN-WINS")
@pytest.mark.parametrize("taken_over", [False, True], ids=["settled", "taken over"])
async def test_a_record_that_changed_since_it_was_read_stays(desk: Desk, taken_over: bool) -> None:
    """Its worker's late settle, or an execution that a reset began meanwhile, wins over the sweep."""
    run_id = await desk.terminated()
    record = await desk.record(run_id)
    assert record.status is InvocationStatus.PROJECTING
    changing = Meanwhile(desk.store.backend, ToolCallKeyFactory(desk.prefix))
    changing.taken_over = taken_over
    [swept] = await desk.sweep(store=replace(desk.store, invocations=changing))
    assert (swept.state, swept.settled) == (ChainState.TERMINATED, ())
    after = await desk.record(run_id)
    if taken_over:
        assert (after.status, after.owner, after.executions) == (InvocationStatus.PROJECTING, "new", 2)
    else:
        lost(after, ErrorCode.EXECUTION_ERROR)


async def test_a_record_that_is_gone_is_not_made_anew(desk: Desk) -> None:
    """A turn names the call; the store lost, or never had, its record."""
    run_id = await desk.terminated()
    with connected(desk.url) as plain:
        plain.delete(f"{desk.prefix}:{run_id}:one")
    before = desk.keys()
    [swept] = await desk.sweep()
    assert (swept.state, swept.settled) == (ChainState.TERMINATED, ())
    assert desk.keys() == before


async def test_a_dry_run_changes_nothing(desk: Desk) -> None:
    """It says what would be settled."""
    run_id = await desk.terminated()
    before = desk.keys()
    done = await desk.casebound("sweep", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{run_id}  terminated  1 record to settle  What happened?",
        "  one (probe): WORKER_LOST",
        "1 run: 1 record to settle; nothing was changed",
    ]
    assert desk.keys() == before


@pytest.mark.proves("INV-SETTLED-NEVER-CHANGES")
async def test_expired_and_foreign_keys_are_left_alone(desk: Desk) -> None:
    """What is no index of a run is not listed, what cannot be read is told; nothing is changed."""
    now_ms = await desk.store.backend.now_ms()
    living: dict[str, str | bytes] = {"expires_at_ms": str(now_ms + DAY_MS)}
    index = f"{desk.prefix}-run:"
    hashes: dict[str, dict[str, str | bytes]] = {
        f"{index}expired": {"brief": "{}", "expires_at_ms": str(now_ms - 1)},
        f"{index}no-expiry": {"brief": "{}"},
        f"{index}no-brief": living,
        f"{index}unreadable": {"brief": "{}", **living},
        f"{index}with:colon": {"brief": "{}", **living},
        f"{desk.prefix}x-run:other-prefix": {"brief": "{}", **living},
    }
    with connected(desk.url) as plain:
        for name, fields in hashes.items():
            plain.hset(name, mapping=fields)  # pyright: ignore[reportArgumentType] - str and bytes mixed are fine
            plain.pexpire(name, DAY_MS)
        plain.set(f"{index}text", "no hash", px=DAY_MS)
    before = desk.keys()
    done = await desk.casebound("sweep")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "unreadable  unknown     skipped",
        "  its index cannot be read by this version",
        "1 run, 1 skipped: 0 records settled",
    ]
    assert desk.keys() == before


async def test_a_run_that_temporal_forgot_has_ended(desk: Desk) -> None:
    """Older than the namespace keeps ended runs: settled. Younger: it may be another namespace's, and alive."""
    old = await unknown_to_temporal(desk, DAY_MS)
    young = await unknown_to_temporal(desk, DAY_MS // 2)
    done = await desk.casebound("sweep", "--json")
    runs = {run["run_id"]: run for run in json.loads(done.stdout)["runs"]}
    assert {run["state"] for run in runs.values()} == {"forgotten"}
    assert (len(runs[old]["settled"]), runs[old]["skipped"]) == (1, None)
    assert runs[young]["settled"] == []
    assert runs[young]["skipped"] == (
        "namespace 'default', which keeps ended runs for 1d, does not know it: is it the run's own?"
    )
    lost(await desk.record(old))
    assert (await desk.record(young)).status is InvocationStatus.PROJECTING
    assert [len(run.settled) for run in await desk.sweep(forgotten_after=None)] == [0, 0]
    [swept] = [run for run in await desk.sweep(forgotten_after=timedelta(0)) if run.run_id == young]
    assert len(swept.settled) == 1


async def test_a_live_run_is_not_touched_from_another_namespace(desk: Desk) -> None:
    """Temporal does not know it there, nor where the namespace itself is not known: that is exit code 2."""
    other = f"other-{desk.harness.task_queue}"
    await desk.client.workflow_service.register_namespace(
        RegisterNamespaceRequest(
            namespace=other, workflow_execution_retention_period=Duration(seconds=int(DAY.total_seconds()))
        )
    )
    async with desk.running() as run:
        before = desk.keys()

        async def swept() -> subprocess.CompletedProcess[str] | None:
            done = await desk.casebound("sweep", run.run_id, TEMPORAL_NAMESPACE=other)
            return done if done.returncode == 0 else None  # a new namespace takes a moment to be known

        done = await wait_until(swept, description="the namespace is there", timeout=30, interval=0.5)
        nowhere = await desk.casebound("sweep", TEMPORAL_NAMESPACE="nowhere")
        assert desk.keys() == before
        run.released.set()
        await desk.harness.finished(run.handle, await run.handle.result())
    assert done is not None
    assert "forgotten   skipped" in done.stdout
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
    assert "has no namespace 'nowhere'" in nowhere.stderr


async def test_a_run_nobody_knows_stops_the_sweep_before_it_begins(desk: Desk) -> None:
    """Exit code 2, and the run named beside it is not settled."""
    run_id = await desk.terminated()
    before = desk.keys()
    done = await desk.casebound("sweep", run_id, "0199-nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no run '0199-nobody'" in done.stderr
    assert desk.keys() == before


async def test_a_named_run_whose_evidence_expired_is_told(desk: Desk) -> None:
    """Temporal knows it; the store does not."""
    run_id = await desk.terminated()
    with connected(desk.url) as plain:
        plain.delete(*desk.keys())
    done = await desk.casebound("sweep", run_id)
    assert (done.returncode, done.stdout) == (0, "0 runs: 0 records settled\n")
    assert f"run {run_id}: the store keeps nothing of it any more" in done.stderr


async def test_every_run_of_a_large_store_is_listed_once(desk: Desk) -> None:
    """More keys than a server looks at in one answer, records among them."""
    now_ms = await desk.store.backend.now_ms()
    ids = sorted(str(uuid4()) for _ in range(1500))
    with connected(desk.url) as plain, plain.pipeline() as pipeline:
        for run_id in ids:
            for name in (f"{desk.prefix}-run:{run_id}", f"{desk.prefix}:{run_id}:one"):
                pipeline.hset(name, "expires_at_ms", now_ms)
                pipeline.pexpire(name, DAY_MS)
        pipeline.execute()
    assert await desk.store.runs.ids() == ids


async def test_the_store_in_memory_lists_its_runs_too(key_prefix: str) -> None:
    """The reference that the other is held to; the runs of another prefix are not its own."""
    backend = MemoryBackend()
    for prefix in (key_prefix, f"{key_prefix}x"):
        runs = RunIndex(backend, ToolCallKeyFactory(prefix))
        await runs.open(f"run-of-{prefix}", b"{}", expires_at_ms=DAY_MS, now_ms=0)
    assert await RunIndex(backend, ToolCallKeyFactory(key_prefix)).ids() == [f"run-of-{key_prefix}"]
