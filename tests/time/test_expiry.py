"""Records expire by the server's clock, when the run said they would, and nothing moves that time."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.contracts import RECORD_TTL_MARGIN_S, PlanInput, RunInput, RunOutcome, TurnMode
from activities.planners.port import Turn
from boundary.contracts import InvocationStatus, JsonObject, JsonValue, ToolBoundaryResult
from boundary.errors import ErrorCode
from boundary.keys import ToolCallKeyFactory
from boundary.redis_backend import RedisBackend, connect
from boundary.report import CitationStatus, Standing, Verdict
from boundary.store import InvocationStore, Owned
from boundary.tools import ToolContext, ToolFailure
from casebound.worker import Store
from tests.support.calls import HOUR_MS, NOW_MS, admitted, ready
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeAsyncTool, FakeTool
from tests.time.expiry_workflow import CALL_ID, TOOL, CallWaitCheck, Waited, WaitInput
from workflows.conclusion import LAST_MOMENT_MS

HOUR_S = 3600


@dataclass
class ExpiryWatcher:
    """Looks at the expiry of a run's record: the field that decides, whatever the time is."""

    store: Store
    prefix: str
    run_id: str = ""
    seen: list[int] = field(default_factory=list)

    async def look(self) -> int:
        """Read it without any rule."""
        key = ToolCallKeyFactory(self.prefix).record(self.run_id, CALL_ID)
        [row] = await self.store.backend.read([key], ["expires_at_ms"], now_ms=0)
        assert row is not None
        return int(row["expires_at_ms"])

    async def look_and_answer(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        """The work of a tool: fails once, so that the record is taken over and updated, then answers."""
        self.seen.append(await self.look())
        if len(self.seen) == 1:
            raise ToolFailure("not yet", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)
        return {"echo": "evidence of this run"}


async def wait_and_check(env: WorkflowEnvironment, harness: Harness, watcher: ExpiryWatcher, *, wait_s: int) -> Waited:
    """Run `CallWaitCheck` with a record that lives for an hour."""
    script = [report(claim("seen", cite(CALL_ID, quote="evidence of this run")))]
    queue = f"{harness.task_queue}-wait"
    request = WaitInput(activities=harness.task_queue, ttl_s=HOUR_S, wait_s=wait_s)
    handle = await env.client.start_workflow(CallWaitCheck.run, request, id=queue, task_queue=queue)
    watcher.run_id = handle.result_run_id or ""
    runner = UnsandboxedWorkflowRunner()
    async with (
        harness.worker(script, [FakeAsyncTool(TOOL, work_async=watcher.look_and_answer)]),
        Worker(env.client, task_queue=queue, workflows=[CallWaitCheck], workflow_runner=runner),
    ):
        return await handle.result()


@pytest.fixture
def watcher(any_store: Store, key_prefix: str) -> ExpiryWatcher:
    """A look at each store in turn."""
    return ExpiryWatcher(any_store, key_prefix)


@pytest.fixture
def virtual_runs_on(any_store: Store, time_skipping: WorkflowEnvironment, task_queue: str) -> Harness:
    """Runs over each store in turn, each with a virtual clock."""
    return Harness(time_skipping.client, any_store, task_queue)


async def test_a_citation_of_a_record_that_expired_before_the_report_is_expired(
    time_skipping: WorkflowEnvironment, virtual_runs_on: Harness, watcher: ExpiryWatcher
) -> None:
    """An hour of virtual time after the call its record is gone, whatever the store still holds."""
    waited = await wait_and_check(time_skipping, virtual_runs_on, watcher, wait_s=HOUR_S)
    assert waited.outcome.status is InvocationStatus.READY
    [checked] = waited.checked.claims
    assert [citation.status for citation in checked.citations] == [CitationStatus.EXPIRED]
    assert checked.standing is Standing.UNPROVEN
    assert waited.checked.verdict is Verdict.INCONCLUSIVE
    assert len(waited.checked.faults) == 1


@pytest.mark.proves("INV-TTL-NEVER-EXTENDED", "INV-EVIDENCE-OUTLIVES-REPORT")
async def test_a_citation_is_ok_until_its_record_expires_and_nothing_moves_that_time(
    time_skipping: WorkflowEnvironment, virtual_runs_on: Harness, watcher: ExpiryWatcher
) -> None:
    """Created, taken over, counted, settled, read and cited after 59 minutes: one expiry throughout, as granted."""
    waited = await wait_and_check(time_skipping, virtual_runs_on, watcher, wait_s=HOUR_S - 60)
    [checked] = waited.checked.claims
    assert [citation.status for citation in checked.citations] == [CitationStatus.OK]
    assert checked.standing is Standing.PROVEN
    assert waited.outcome.executions == 2
    assert [*watcher.seen, await watcher.look()] == [waited.expires_at_ms] * 3


@pytest.mark.proves("INV-TTL-NEVER-EXTENDED")
async def test_no_read_or_update_moves_the_servers_own_expiry(redis_url: str, key_prefix: str) -> None:
    """What the server will delete, and when, is fixed by the creation; later times of the caller change nothing."""
    client = connect(redis_url)
    store = InvocationStore(RedisBackend(client), ToolCallKeyFactory(key_prefix))
    one = admitted()
    key = ToolCallKeyFactory(key_prefix).record(one.run_id, one.tool_call_id)

    async def left_ms() -> int:
        return int(await client.pttl(key))

    begun = await store.begin(one, nonce="a", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    before = await left_ms()
    assert 0 < before <= HOUR_MS
    counted = await store.count_failure(begun.held, now_ms=NOW_MS + 1000)
    again = await store.begin(one, nonce="b", now_ms=NOW_MS + 2000)
    assert isinstance(again, Owned)
    assert again.held.record.failures == counted.record.failures == 1
    await store.settle(again.held, ready(), now_ms=NOW_MS + 3000)
    found = await store.read(one.run_id, [one.tool_call_id], now_ms=NOW_MS + HOUR_MS - 1, raw=True)
    assert found[one.tool_call_id].record.settled
    assert not await store.read(one.run_id, [one.tool_call_id], now_ms=NOW_MS + HOUR_MS)
    assert 0 < await left_ms() <= before
    await client.aclose()


@pytest.mark.proves("INV-EVIDENCE-OUTLIVES-REPORT")
@given(deadline_s=st.floats(min_value=0.001, max_value=10**8), short_by_s=st.floats(min_value=0.001, max_value=10**8))
def test_a_ttl_that_would_end_before_the_report_is_refused_before_a_run_starts(
    deadline_s: float, short_by_s: float
) -> None:
    """A record_ttl shorter than deadline + margin makes no input; one of exactly that length does."""
    least = deadline_s + RECORD_TTL_MARGIN_S
    assert RunInput(question="?", deadline_s=deadline_s, record_ttl_s=least).ttl_s == least
    assert RunInput(question="?", deadline_s=deadline_s).ttl_s >= least
    if least - short_by_s > 0:
        assume(least - short_by_s < least)
        with pytest.raises(ValidationError, match="too short"):
            RunInput(question="?", deadline_s=deadline_s, record_ttl_s=least - short_by_s)


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("-inf")])
def test_a_ttl_that_is_no_time_is_refused(ttl: float) -> None:
    """Zero, negative, not a number."""
    with pytest.raises(ValidationError):
        RunInput(question="?", record_ttl_s=ttl)


@pytest.mark.proves("INV-EVIDENCE-OUTLIVES-REPORT")
async def test_a_run_that_takes_all_its_time_still_proves_its_first_call(virtual_runs_on: Harness) -> None:
    """With the shortest TTL there may be, the evidence of the first second stands when the last report is checked."""
    deadline_s = 600.0
    stuck = FakeTool("stuck", work=unavailable, max_attempts=10_000)
    script = [calls(call("first")), *[until_it_concludes] * 500]
    done = await virtual_runs_on.run(
        script,
        [FakeTool(), stuck],
        deadline_s=deadline_s,
        record_ttl_s=deadline_s + RECORD_TTL_MARGIN_S,
        max_turns=2000,
    )
    assert done.result.outcome is RunOutcome.DEADLINE_EXCEEDED
    assert done.result.ended_at_ms - done.result.started_at_ms >= deadline_s * 900 - LAST_MOMENT_MS
    assert [checked.standing for checked in done.result.claims] == [Standing.PROVEN]
    for stored in done.records.values():
        assert stored.record.expires_at.timestamp() * 1000 > done.result.ended_at_ms


def until_it_concludes(plan: PlanInput, results: list[list[ToolBoundaryResult]]) -> Turn:
    """Ask for the stuck tool as long as there is time; then report on the first call."""
    if plan.mode is TurnMode.PLAN:
        return calls(call(f"turn-{plan.number}", "stuck"))
    return report(claim("q was seen", cite("first", pointer="/echo")))


def unavailable(arguments: JsonObject, context: ToolContext) -> JsonValue:
    """Fail in a way that may pass."""
    raise ToolFailure("no answer", code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)
