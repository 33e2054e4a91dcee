"""Somebody alters in the store what a run has recorded: the run completes, and never cites it as it was."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import RunView, Turn
from activities.stored import RunBrief
from boundary.contracts import InvocationStatus, ToolBoundaryResult
from boundary.errors import ErrorCode
from boundary.memory_backend import MemoryBackend
from boundary.redaction import Redactor
from boundary.report import CitationStatus, Standing, Verdict
from boundary.store import Owned, Settled
from casebound.run_view import KnownRun, view_run
from tests.support.calls import NOW_MS, admitted, ready
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import FakeTool

Alter = Callable[[bytes], bytes | None]
"""Makes of a field's value another; None: takes the field away."""


@dataclass
class Altering:
    """Asks, lets somebody alter the store, looks at its result, and cites it."""

    alter: Callable[[str], Awaitable[None]]
    seen: dict[str, ToolBoundaryResult] = field(default_factory=dict[str, ToolBoundaryResult])

    def check(self, brief: RunBrief) -> str | None:
        """Accept every brief."""
        return None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Call once, then report."""
        if plan.number == 1:
            return calls(call("a", arguments={"q": 7}))
        if plan.number == 2:
            await self.alter(plan.run_id)
        self.seen = await run.results(["a"])
        return report(claim("Seven.", cite("a", pointer="/echo/q", quote="7")))


async def alter_field(harness: Harness, key: str, name: str, alter: Alter) -> None:
    """Alter one field of one key, which is there."""
    backend = harness.store.backend
    if isinstance(backend, MemoryBackend):
        held: dict[str, bytes] = vars(backend)["_data"][key]
        value = alter(held.pop(name))
        if value is not None:
            held[name] = value
        return
    client: Any = vars(backend)["_client"]
    value = alter(await client.hget(key, name))
    await (client.hdel(key, name) if value is None else client.hset(key, name, value))


def _evidence_taken_back(record: bytes) -> bytes:
    return record.replace(b"EVIDENCE_FOUND", b"NO_EVIDENCE")


def _never_settled(record: bytes) -> bytes:
    kept = ("agent_result", "raw")
    fields = {name: value for name, value in json.loads(record).items() if name != "settled_at"}
    fields |= {"status": "PROJECTING", "evidence_status": "UNKNOWN"}
    fields["sha256"] = {name: value for name, value in fields["sha256"].items() if name not in kept}
    return json.dumps(fields).encode()


def _not_json(held: bytes) -> bytes:
    return b"\xff no JSON"


def _not_a_record(held: bytes) -> bytes:
    return held[:10]


def _other_json(held: bytes) -> bytes:
    return held.replace(b"7", b"8")


def _longer(held: bytes) -> bytes:
    return held + b" "


def _taken_away(held: bytes) -> None:
    return None


GONE = ErrorCode.RECORD_EXPIRED


@pytest.mark.proves("INV-ONLY-OWN-READY-EVIDENCE", "INV-PROVEN")
@pytest.mark.parametrize(
    ("name", "alter", "citation", "view"),
    [
        ("agent_result", _other_json, CitationStatus.DIGEST_MISMATCH, GONE),
        ("agent_result", _not_json, CitationStatus.DIGEST_MISMATCH, GONE),
        ("agent_result", _taken_away, CitationStatus.DIGEST_MISMATCH, GONE),
        ("record", _evidence_taken_back, CitationStatus.DIGEST_MISMATCH, None),
        ("record", _never_settled, CitationStatus.DIGEST_MISMATCH, "left out"),
        ("record", _not_a_record, CitationStatus.EXPIRED, "left out"),
        ("record", _taken_away, CitationStatus.EXPIRED, "left out"),
    ],
)
async def test_an_altered_record_is_cited_by_nobody(
    runs_on: Harness, name: str, alter: Alter, citation: CitationStatus, view: str | None
) -> None:
    """The planner is told, where it could be misled; EvidenceGuard refuses; the run ends as any other."""

    async def somebody(run_id: str) -> None:
        await alter_field(runs_on, f"{runs_on.prefix}:{run_id}:a", name, alter)

    planner = Altering(somebody)
    async with runs_on.worker(planner, [FakeTool()]):
        result = await (await runs_on.start()).result()
    assert (result.outcome, result.verdict) == (RunOutcome.REPORTED, Verdict.INCONCLUSIVE)
    [one] = result.claims
    assert (one.standing, [checked.status for checked in one.citations]) == (Standing.UNPROVEN, [citation])
    shown = await view_run(KnownRun(result.run_id, "", result=result), runs_on.store, Redactor())
    assert [called.tool_call_id for called in shown.calls] == ["a"]
    assert view != GONE or shown.calls[0].status is InvocationStatus.ERROR
    if view == "left out":
        assert planner.seen == {}
    else:
        seen = planner.seen["a"]
        assert (seen.error.code if seen.error else None) == view
        assert view is None or (seen.status, seen.agent_result) == (InvocationStatus.ERROR, None)


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@pytest.mark.parametrize(
    ("name", "alter"),
    [("brief", _taken_away), ("brief", _not_a_record), ("turn", _taken_away), ("turn", _not_json)],
)
async def test_a_run_whose_index_was_altered_has_lost_its_store(runs_on: Harness, name: str, alter: Alter) -> None:
    """Without its brief or its turns there is nothing to go on with: STORE_LOST, not a failed planner."""

    async def somebody(run_id: str) -> None:
        key = f"{runs_on.prefix}-run:{run_id}"
        fields = await runs_on.store.backend.read_all(key, now_ms=await runs_on.store.backend.now_ms()) or {}
        [found] = [held for held in fields if held == name or held.startswith(f"{name}:")]
        await alter_field(runs_on, key, found, alter)

    class AskedAgain(Altering):
        async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
            """Let the second turn be stored, so that the third has to read."""
            if plan.number == 2:
                await self.alter(plan.run_id)
                return calls(call("b", arguments={"q": 8}))
            await run.past_turns()
            return await super().next_turn(plan, run)

    async with runs_on.worker(AskedAgain(somebody), [FakeTool()]):
        result = await (await runs_on.start()).result()
    assert (result.outcome, result.verdict, result.claims) == (RunOutcome.STORE_LOST, Verdict.INCONCLUSIVE, ())
    shown = await view_run(KnownRun(result.run_id, "", result=result), runs_on.store, Redactor())
    assert shown.outcome is RunOutcome.STORE_LOST


@pytest.mark.parametrize("alter", [_not_json, _taken_away, _longer])
async def test_a_repeated_call_with_an_altered_result_still_has_its_outcome(runs_on: Harness, alter: Alter) -> None:
    """A retried activity reads it again: what the history holds needs the record only."""
    store = runs_on.store.invocations
    begun = await store.begin(admitted(), nonce="one", now_ms=NOW_MS)
    assert isinstance(begun, Owned)
    first = await store.settle(begun.held, ready(), now_ms=NOW_MS)
    await alter_field(runs_on, f"{runs_on.prefix}:run-a:call_1", "agent_result", alter)
    again = await store.begin(admitted(), nonce="two", now_ms=NOW_MS)
    assert isinstance(again, Settled)
    assert again.stored.outcome(300) == first.outcome(300).model_copy(update={"preview": ""})
    view = again.stored.agent_view()
    assert (view.status, view.agent_result) == (InvocationStatus.ERROR, None)
    assert view.error is not None
    assert "is not the one that was recorded" in view.error.message
    assert (await store.read("run-a", ["call_1"], now_ms=NOW_MS, agent=False, raw=True))["call_1"].raw == ready().raw
