"""Temporal is killed and started again, or cannot be reached for a while: runs go on where they were.

Side by side on one server: runs that the fault meets in a tool, in a settle, in the planner, between turns.
Their workers need no restart. CASEBOUND_SOAK=1 cuts the network for a minute, and for two.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client

from casebound.converter import casebound_data_converter
from tests.crash.stage import Stage, heard, one_call, open_stage, proved_once
from tests.crash.watched import Point, Points
from tests.support.private_temporal import PrivateTemporal
from tests.support.runs import Finished, RunHandle
from tests.support.tcp_proxy import Cut, tcp_proxy
from workflows.activity_calls import HEARTBEAT_TIMEOUT

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
CUTS_S = (60.0, 120.0) if SOAK else (HEARTBEAT_TIMEOUT.total_seconds() + 3,)
"""Longer than the heartbeat time-out: the server gives up what the worker goes on with."""

BACK_S = 60.0
"""Longest wait for a run to end once the server is back; the SDK asks again less and less often."""

pytestmark = pytest.mark.timeout(150 + 2 * max(CUTS_S))


@dataclass(frozen=True)
class Meeting:
    """Where the fault meets a run."""

    point: Point
    executions: tuple[int, ...] = (1,)
    """What its call's record may say in the end."""
    ends_meanwhile: bool = True
    """What waits at the point goes on while the server is away; else only when it is back."""
    only: str | None = None


TOOL_ENDS = Meeting(Point.IN_TOOL)
TOOL_LASTS = Meeting(Point.IN_TOOL, (1, 2), ends_meanwhile=False)
SETTLED = Meeting(Point.BEFORE_REPORT, only="probe")
PLANNER_ENDS = Meeting(Point.IN_PLANNER)
PLANNER_LASTS = Meeting(Point.IN_PLANNER, ends_meanwhile=False)
BETWEEN_TURNS = Meeting(Point.BEFORE_REPORT, only="casebound.plan")
CHECK_LASTS = Meeting(Point.IN_CHECK, ends_meanwhile=False)


@dataclass(frozen=True)
class Met:
    """A run at its point, and its worker's way."""

    meeting: Meeting
    stage: Stage
    handle: RunHandle
    points: Points

    async def finished(self) -> Finished:
        """Wait until the run ends as it must."""
        async with asyncio.timeout(BACK_S):
            done = await self.stage.harness.finished(self.handle, await self.handle.result())
        [stored] = done.records.values()
        assert stored.record.executions in self.meeting.executions, self.points.said
        proved_once(done, executions=stored.record.executions)
        assert self.points.count("settled") == 1, self.points.said
        assert [turn.input.number for turn in done.turns] == [1, 2], self.points.said
        return done


@pytest_asyncio.fixture
async def temporal(tmp_path: Path) -> AsyncIterator[PrivateTemporal]:
    """A Temporal server to break."""
    server = PrivateTemporal(tmp_path)
    await server.start()
    yield server
    server.kill()


@pytest_asyncio.fixture
async def shaky(
    temporal: PrivateTemporal, valkey_url: str, key_prefix: str, task_queue: str, tmp_path: Path
) -> AsyncIterator[Stage]:
    """A stage on that server."""
    client = await temporal.connect()
    async with open_stage(client, valkey_url, key_prefix, task_queue, tmp_path) as stage:
        yield stage


@asynccontextmanager
async def met(stage: Stage, workers: Client, meetings: Sequence[Meeting], queue: str) -> AsyncGenerator[list[Met]]:
    """Bring a run to each point, with a worker and a task queue of its own; workers go on until the block ends."""

    async def bring(number: int, meeting: Meeting) -> Met:
        own = replace(stage, task_queue=f"{stage.task_queue}-{queue}-{number}")
        serving = replace(own, client=workers)
        points = await opened.enter_async_context(serving.worker(one_call(), hold_at=meeting.point, only=meeting.only))
        handle = await own.start()
        await heard(points, meeting.point, within_s=BACK_S)
        return Met(meeting, own, handle, points)

    async with AsyncExitStack() as opened:
        yield [await bring(number, meeting) for number, meeting in enumerate(meetings)]


def go_on(all_met: Sequence[Met], *, meanwhile: bool) -> None:
    """Let those go on whose time it is."""
    for one in all_met:
        if one.meeting.ends_meanwhile is meanwhile:
            one.points.release()


@pytest.mark.proves("INV-ONE-RECORD", "INV-NONE-PROJECTING")
async def test_runs_outlive_a_killed_temporal(shaky: Stage, temporal: PrivateTemporal) -> None:
    """Killed and started with the database it had: each run completes, with one record, under the same worker."""
    meetings = (TOOL_ENDS, TOOL_LASTS, SETTLED, PLANNER_ENDS, PLANNER_LASTS, BETWEEN_TURNS, CHECK_LASTS)
    async with met(shaky, await temporal.connect(), meetings, "killed") as all_met:
        temporal.kill()
        go_on(all_met, meanwhile=True)
        for one in all_met:
            if one.meeting in (TOOL_ENDS, SETTLED):
                await heard(one.points, "probe returned")
        await temporal.start()
        go_on(all_met, meanwhile=False)
        await asyncio.gather(*[one.finished() for one in all_met])


@pytest.mark.proves("INV-ONE-RECORD", "INV-NONE-PROJECTING", "INV-CANCELLED-ONLY-ON-REQUEST")
@pytest.mark.parametrize("seconds", CUTS_S)
async def test_runs_outlive_a_temporal_that_cannot_be_reached(
    shaky: Stage, temporal: PrivateTemporal, seconds: float
) -> None:
    """Refused or silent past the heartbeat time-out: what was settled meanwhile counts, the rest is taken over."""
    meetings = (TOOL_ENDS, TOOL_LASTS, SETTLED, PLANNER_ENDS)
    async with AsyncExitStack() as opened:
        proxies = {how: await opened.enter_async_context(tcp_proxy(temporal.address)) for how in Cut}
        all_met: list[Met] = []
        for how, proxy in proxies.items():
            workers = await Client.connect(proxy.address, data_converter=casebound_data_converter)
            all_met += await opened.enter_async_context(met(shaky, workers, meetings, how.name.lower()))
        for how, proxy in proxies.items():
            proxy.cut(how)
        go_on(all_met, meanwhile=True)
        await asyncio.sleep(seconds)  # the time away is what is tried
        for one in all_met:
            if one.meeting in (TOOL_ENDS, SETTLED):
                assert one.points.count("probe returned") >= 1, one.points.said
        for proxy in proxies.values():
            proxy.restore()
        for one in all_met:
            if one.meeting is TOOL_LASTS:
                await heard(one.points, Point.IN_TOOL, times=2, within_s=BACK_S)
        go_on(all_met, meanwhile=False)
        for one in all_met:
            await one.finished()
