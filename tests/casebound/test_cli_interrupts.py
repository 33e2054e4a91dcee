"""Ctrl-C on servers of one's own: stop with a report, cancel, leave."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from datetime import timedelta
from typing import Any, cast

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle

from casebound import progress
from casebound.client import find_run
from casebound.progress import PlainProgress
from tests.casebound import programs
from tests.casebound.attached import Place, answer, answer_first_only, until_second_call
from tests.support.tools import FakeTool, show_raw
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(120)


async def test_one_interrupt_stops_with_a_report(place: Place) -> None:
    """Ctrl-C once: the run concludes with the evidence at hand."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        process.send_signal(signal.SIGINT)
        code, out, err = await programs.ended(process)
    printed = json.loads(out)
    assert printed["outcome"] == "STOPPED", err
    assert printed["claims"][0]["standing"] == "proven"
    assert code == 0
    assert "stopping: the run concludes with the evidence at hand" in err


async def test_two_interrupts_cancel(place: Place) -> None:
    """Ctrl-C twice: exit code 4, every record settled, the summary there without a worker."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        code, out, err = await programs.ended(process)
    assert code == 4, err
    printed = json.loads(out)
    assert (printed["run_id"], printed["outcome"]) == (run_id, "CANCELLED")
    assert [call["status"] for call in printed["calls"]] == ["READY", "ERROR"]
    shown = await place.casebound("show", run_id, "--json")
    assert json.loads(shown.stdout)["outcome"] == "CANCELLED"


async def test_three_interrupts_leave_at_once(place: Place) -> None:
    """Even while nobody answers; the cancellation was requested all the same."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    while "stopping" not in await asyncio.to_thread(process.stderr.readline):
        pass
    process.send_signal(signal.SIGINT)
    while "cancelling" not in await asyncio.to_thread(process.stderr.readline):
        pass
    process.send_signal(signal.SIGINT)
    code, out, _ = await programs.ended(process)
    assert (code, out) == (4, "")
    async with place.worker(FakeTool(work=answer, show=show_raw)):
        found = await find_run(place.client, run_id)
        assert found is not None
        handle = place.client.get_workflow_handle(found.workflow_id)

        async def cancelled() -> bool:
            return (await handle.describe()).status is WorkflowExecutionStatus.CANCELED

        await wait_until(cancelled, description="the run is cancelled", timeout=30)


@pytest.mark.parametrize(
    ("interrupts", "code", "said"),
    [
        (1, 3, "no worker took the stop; the run goes on: casebound show"),
        (2, 4, "the run was cancelled but has not ended within 15 s; the run goes on: casebound show"),
    ],
)
async def test_without_a_worker_an_interrupt_does_not_wait_for_ever(
    place: Place, interrupts: int, code: int, said: str
) -> None:
    """The command leaves, saying where the run is to be found; in time also that its deadline has passed."""
    async with place.worker(FakeTool(work=answer_first_only, show=show_raw)):
        process = place.start("diagnose", "--runbook", "book.yaml", "--json", "--deadline", "10s")
        run_id = await programs.run_id_of(process)
        await until_second_call(place, run_id)
    assert process.stderr is not None
    read = [""]
    for word in ("stopping", "cancelling")[:interrupts]:
        process.send_signal(signal.SIGHUP)
        while word not in read[-1]:
            read.append(await asyncio.to_thread(process.stderr.readline))
    left, out, rest = await programs.ended(process)
    err = "".join(read) + rest
    assert (left, out) == (code, ""), err
    assert f"{said} {run_id}\n" in err
    assert interrupts == 1 or "the deadline has passed and no worker answers" in err


class Unheard:
    """A run whose queries nobody answers; they do not even fail."""

    async def query(self, *_: object, **__: object) -> object:
        """Wait for ever."""
        return await asyncio.get_running_loop().create_future()


async def test_that_nobody_answers_is_said_however_long_a_query_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """First that the run is unheard, then that its deadline has passed."""
    monkeypatch.setattr(progress, "UNHEARD_S", 0.01)
    said = io.StringIO()
    handle = cast("WorkflowHandle[Any, Any]", Unheard())
    watching = asyncio.create_task(
        progress.watch(handle, PlainProgress(said), "no worker answers", timedelta(seconds=0.02))
    )
    late = "the deadline has passed and no worker answers: the run concludes once one does"
    await wait_until(lambda: late in said.getvalue(), description="the deadline is said to have passed")
    watching.cancel()
    await asyncio.wait([watching])
    assert said.getvalue().splitlines() == ["no worker answers", late]
