"""The evidence store stops, freezes, crashes or forgets: runs wait for it, or end saying that it was lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from activities.contracts import RunOutcome
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from boundary.report import CitationStatus, Standing, Verdict
from tests.crash.private_valkey import PrivateValkey
from tests.crash.stage import Stage, heard, one_call, proved_once
from tests.crash.watched import Point
from tests.support.runs import replay
from workflows import activity_calls


async def test_a_call_waits_until_the_store_is_back_to_begin(breakable: Stage, valkey: PrivateValkey) -> None:
    """Down at begin: Temporal repeats the call, no tool starts without its record, then it runs once."""
    async with breakable.worker(one_call(), hold_at=Point.AFTER_TURN) as points:
        handle = await breakable.start()
        await heard(points, Point.AFTER_TURN)
        valkey.stop()
        points.release()
        await heard(points, "probe failed STORE_UNAVAILABLE")
        assert points.count("executed probe") == 0
        valkey.start()
        done = await breakable.harness.finished(handle, await handle.result())
    proved_once(done, executions=1)
    assert points.count("executed probe") == 1


@pytest.mark.proves("INV-SETTLE-IS-LAST")
@pytest.mark.parametrize("how", ["stopped", "killed", "frozen"])
async def test_a_result_survives_a_store_that_is_away_when_it_settles(
    breakable: Stage, valkey: PrivateValkey, how: str
) -> None:
    """The attempt keeps the result and repeats its settle, even one that the store carried out unheard."""
    async with breakable.worker(one_call(), hold_at=Point.BEFORE_SETTLE) as points:
        handle = await breakable.start()
        await heard(points, Point.BEFORE_SETTLE)
        {"stopped": valkey.stop, "killed": valkey.kill, "frozen": valkey.freeze}[how]()
        points.release()
        await heard(points, "settle failed: StoreUnavailable")
        valkey.thaw() if how == "frozen" else valkey.start()
        done = await breakable.harness.finished(handle, await handle.result())
    proved_once(done, executions=1)
    assert (points.count("executed probe"), points.count("probe returned")) == (1, 1)


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
async def test_a_run_that_never_gets_its_store_ends_store_lost(breakable: Stage, valkey: PrivateValkey) -> None:
    """Away from the start until the time is over: STORE_LOST, a completed run, an INCONCLUSIVE report."""
    async with breakable.worker(one_call()) as points:
        valkey.stop()
        handle = await breakable.start(deadline_s=5)
        result = await handle.result()
        valkey.start()
    done = await breakable.harness.finished(handle, result)
    assert (result.outcome, result.verdict) == (RunOutcome.STORE_LOST, Verdict.INCONCLUSIVE)
    assert (result.claims, done.records) == ((), {})
    assert not [text for text in points.said if text.startswith("asked")]


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
async def test_a_run_whose_store_leaves_for_good_ends_store_lost(breakable: Stage, valkey: PrivateValkey) -> None:
    """Away from the middle until the deadline: no turn can be had, the run says why and lists its settled call."""
    async with breakable.worker(one_call(), hold_at=Point.AFTER_SETTLE) as points:
        handle = await breakable.start(deadline_s=6)
        await heard(points, Point.AFTER_SETTLE)
        valkey.stop()
        points.release()
        result = await handle.result()
    valkey.start()
    done = await breakable.harness.finished(handle, result)
    assert (result.outcome, result.verdict, result.claims) == (RunOutcome.STORE_LOST, Verdict.INCONCLUSIVE, ())
    assert [(listed.tool_call_id, listed.status) for listed in result.calls] == [("one", InvocationStatus.READY)]
    assert done.records["one"].record.status is InvocationStatus.READY


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@pytest.mark.parametrize(
    ("point", "code"),
    [(Point.AFTER_TURN, None), (Point.IN_TOOL, ErrorCode.RECORD_EXPIRED), (Point.AFTER_SETTLE, None)],
)
async def test_a_run_whose_store_forgot_everything_ends_store_lost(
    breakable: Stage, valkey: PrivateValkey, point: Point, code: ErrorCode | None
) -> None:
    """Emptied while a turn, a tool or a settled call was on its way: nothing is claimed, the run completes."""
    async with breakable.worker(one_call(), hold_at=point) as points:
        handle = await breakable.start()
        await heard(points, point)
        valkey.flush()
        points.release()
        result = await handle.result()
        await replay(await handle.fetch_history())
    assert (result.outcome, result.verdict, result.claims) == (RunOutcome.STORE_LOST, Verdict.INCONCLUSIVE, ())
    assert [failed.error.code for failed in result.could_not_check] == ([code] if code else [])


@pytest.mark.proves("INV-ONLY-OWN-READY-EVIDENCE", "INV-PROVEN")
async def test_evidence_lost_before_the_check_is_never_proof(breakable: Stage, valkey: PrivateValkey) -> None:
    """Emptied while the report is checked: its citation is EXPIRED, its claim unproven."""
    async with breakable.worker(one_call(), hold_at=Point.IN_CHECK) as points:
        handle = await breakable.start()
        await heard(points, Point.IN_CHECK)
        valkey.flush()
        points.release()
        result = await handle.result()
        await replay(await handle.fetch_history())
    [claim] = result.claims
    assert [citation.status for citation in claim.citations] == [CitationStatus.EXPIRED]
    assert (claim.standing, result.verdict) == (Standing.UNPROVEN, Verdict.INCONCLUSIVE)


async def test_a_worker_with_another_store_does_not_serve_the_run(breakable: Stage, valkey: PrivateValkey) -> None:
    """The store was emptied between two workers: the second has another one, and gathers nothing into it."""
    async with breakable.worker(one_call(), hold_at=Point.AFTER_BEGIN) as points:
        handle = await breakable.start(deadline_s=10)
        await heard(points, Point.AFTER_BEGIN)
    valkey.flush()
    async with breakable.worker(one_call()) as other:
        result = await handle.result()
        await replay(await handle.fetch_history())
    assert other.count("probe failed STORE_UNAVAILABLE") >= 1
    assert other.count("executed probe") == 0
    assert result.outcome is RunOutcome.STORE_LOST


@pytest.mark.proves("INV-FINALIZER-SETTLES")
async def test_a_run_says_how_many_records_it_could_not_settle(
    breakable: Stage, valkey: PrivateValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store stays away past the deadline: the finalizer, hurried here, gives up; `unsettled` is 1, as it is."""
    monkeypatch.setattr(activity_calls, "CLOSING_MAX", timedelta(seconds=2))
    async with breakable.worker(one_call(), hold_at=Point.BEFORE_SETTLE) as points:
        handle = await breakable.start(deadline_s=6)
        await heard(points, Point.BEFORE_SETTLE)
        valkey.stop()
        points.release()
        result = await handle.result()
    valkey.start()
    done = await breakable.harness.finished(handle, result)
    assert (result.verdict, result.claims, result.unsettled) == (Verdict.INCONCLUSIVE, (), 1)
    assert done.records["one"].record.status is InvocationStatus.PROJECTING


@pytest.mark.proves("INV-FINALIZER-SETTLES", "INV-NONE-PROJECTING")
async def test_a_call_that_never_began_gets_its_record_from_the_finalizer(
    breakable: Stage, valkey: PrivateValkey
) -> None:
    """Down at begin for as long as the call may wait, then back: a tombstone, ERROR, never executed."""
    async with breakable.worker(one_call(), hold_at=Point.AFTER_TURN) as points:
        handle = await breakable.start(deadline_s=8)
        await heard(points, Point.AFTER_TURN)
        valkey.stop()
        points.release()
        await heard(points, "casebound.settle_calls failed STORE_UNAVAILABLE")
        valkey.start()
        result = await handle.result()
    done = await breakable.harness.finished(handle, result)
    record = done.records["one"].record
    assert record.error is not None
    assert (record.status, record.error.code, record.executions) == (
        InvocationStatus.ERROR,
        ErrorCode.STORE_UNAVAILABLE,
        0,
    )
    assert points.count("executed probe") == 0
