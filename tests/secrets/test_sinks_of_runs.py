"""Secrets planted where a run meets the world, searched for in everything that keeps or shows the run."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from activities.contracts import PlanInput, RunOutcome
from activities.planners.port import PlannerError, RunView, Turn
from activities.planners.scripted import Scripted
from activities.stored import RunBrief
from boundary.contracts import CallError, JsonObject, JsonValue, call_error
from boundary.errors import ErrorCode
from boundary.redaction import Redactor
from boundary.tools import Projection, Tool, ToolContext, ToolFailure
from casebound.render import run_json
from casebound.run_view import KnownRun, view_run
from casebound.settings import Settings, WorkerSettings
from tests.secrets import planted, sinks
from tests.secrets.planted import FORMS, found_in, secret, text
from tests.secrets.sinks import Logs
from tests.support.runs import Finished, Harness, RunHandle, call, calls, cite, claim, report
from tests.support.tools import FakeTool, show_raw
from tests.support.waiting import wait_until

NUMBERS = range(len(FORMS))


async def everything(runs: Harness, handle: RunHandle, done: Finished, logs: Logs) -> dict[str, str]:
    """All sinks of a run that has ended."""
    found = dict(sinks.of_history(done.history))
    found |= dict(await sinks.of_description(handle, "at the end"))
    found |= await sinks.of_store(runs.store.backend, runs.prefix)
    found["logs"] = "\n".join(logs.lines)
    view = await view_run(KnownRun(done.result.run_id, handle.id, result=done.result), runs.store, Redactor())
    found["report"] = run_json(view)
    return found


async def run_to_its_end(runs: Harness, script: list[Scripted], tools: list[Tool], logs: Logs) -> dict[str, str]:
    """Carry a run out and gather its sinks; what a worker tells of it is asked while there is one."""
    async with runs.worker(script, tools):
        handle = await runs.start(max_tool_calls=len(FORMS) * len(TOOLS))
        result = await handle.result()
        asked = dict(await sinks.of_queries(handle))
    done = await runs.finished(handle, result)
    return asked | await everything(runs, handle, done, logs)


def _answer(arguments: JsonObject, context: ToolContext) -> JsonValue:
    number = arguments["q"]
    return {"text": text("output", number), "value": planted.values("output", number)}


def _fail(arguments: JsonObject, context: ToolContext) -> JsonValue:
    raise ToolFailure(text("failure", arguments["q"]))


def _fail_once(arguments: JsonObject, context: ToolContext) -> JsonValue:
    raise ToolFailure(text("again", arguments["q"]), code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)


def _raise(arguments: JsonObject, context: ToolContext) -> JsonValue:
    try:
        raise KeyError(text("exception", arguments["q"]))
    except KeyError as error:
        raise RuntimeError(text("exception", arguments["q"])) from error


def _show_badly(arguments: JsonObject, raw: Any, budget_bytes: int) -> Projection:
    raise ValueError(text("projector", arguments["q"]))


def _refuse(arguments: JsonObject) -> CallError:
    return call_error(ErrorCode.INVALID_ARGUMENTS, text("check", arguments["q"]))


TOOLS: list[Tool] = [
    FakeTool("answers", work=_answer, show=show_raw),
    FakeTool("fails", work=_fail),
    FakeTool("retries", work=_fail_once, max_attempts=2),
    FakeTool("raises", work=_raise),
    FakeTool("shows", show=_show_badly),
    FakeTool("refuses", refuse=_refuse),
]


@pytest.mark.proves("INV-NO-SECRET-SHOWN", "FIELD-SECRETS-IN-RESULTS")
@pytest.mark.timeout(120)
async def test_no_secret_of_a_tool_is_kept_or_shown_anywhere_but_in_raw(runs: Harness, logs: Logs) -> None:
    """In its answer, its failure, its exception, its projector's exception, its refusal; in every form."""
    asked = [
        calls(*(call(f"{tool.definition.name}-{number}", tool.definition.name, {"q": number}) for number in some))
        for tool, some in zip(TOOLS, [NUMBERS, *[NUMBERS[start::2] for start in (0, 1, 0, 1, 0)]], strict=True)
    ]
    cited = claim("It answered.", cite("answers-1", pointer="/text"), cite("answers-0", quote="could not connect to"))
    found = await run_to_its_end(runs, [*asked, report(cited)], TOOLS, logs)
    records = [value for name, value in found.items() if name.endswith(":record")]
    assert len(records) == len(FORMS) * 7 // 2
    for place in ("output", "failure", "again", "exception", "projector", "check"):
        assert found_in(found, place) == []
    assert '"standing": "proven"' in found["report"]


async def test_raw_keeps_what_a_tool_said(runs: Harness) -> None:
    """The record's raw response is what came back, whole; only the rest is masked."""
    done = await runs.run([calls(call("a", "answers", {"q": 1})), report()], TOOLS)
    assert secret("output", 1) in (done.records["a"].raw or b"").decode()
    assert done.records["a"].record.redactions > 0


async def test_no_secret_is_shown_of_a_tool_at_work(runs: Harness, logs: Logs) -> None:
    """What it says of its progress is in the heartbeats, which the UI shows and a time-out keeps."""
    go_on = threading.Event()
    runs.settings = Settings(worker=WorkerSettings(graceful_shutdown_s=0, threads=len(FORMS)))

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        context.progress(text("progress", arguments["q"]))
        go_on.wait(60)
        return {}

    tool = FakeTool("works", work=work, show=show_raw)
    asked = calls(*(call(f"works-{number}", "works", {"q": number}) for number in NUMBERS))
    async with runs.worker([asked, report()], [tool]):
        handle = await runs.start(max_parallel_calls=len(FORMS), max_record_bytes=1024 * 1024)

        async def all_beat() -> bool:
            pending = (await handle.describe()).raw_description.pending_activities
            return sum(bool(one.heartbeat_details.payloads) for one in pending) == len(FORMS)

        await wait_until(all_beat, description="the tools' progress is seen", timeout=30)
        found = dict(await sinks.of_description(handle, "at work")) | dict(await sinks.of_queries(handle))
        go_on.set()
        result = await handle.result()
    found |= await everything(runs, handle, await runs.finished(handle, result), logs)
    assert found_in(found, "progress") == []


class _Failing:
    """Fails as the run's question says: `raises 3` in the third form."""

    def check(self, brief: RunBrief) -> str | None:
        """Say of some briefs that they cannot be used."""
        kind, number = brief.question.split()
        if kind == "raises-in-check":
            raise ConnectionError(text("exception", int(number)))
        return text("exception", int(number)) if kind == "refuses" else None

    async def next_turn(self, plan: PlanInput, run: RunView) -> Turn:
        """Produce no turn."""
        kind, number = run.brief.question.split()
        said = text("exception", int(number))
        if kind == "raises":
            raise ConnectionError(said) from OSError(said)
        raise PlannerError(said, retryable=kind == "fails-for-now")


@pytest.mark.proves("FIELD-OWN-SECRETS")
@pytest.mark.parametrize("kind", ["raises", "fails", "fails-for-now", "refuses", "raises-in-check"])
@pytest.mark.timeout(120)
async def test_no_secret_of_a_failing_planner_is_kept_or_shown(runs: Harness, logs: Logs, kind: str) -> None:
    """Its error is the run's: in the result, the history, the progress and the report."""
    some = NUMBERS[::2] if kind == "raises" else NUMBERS[::6]
    async with runs.worker(_Failing()):
        handles = [await runs.start(question=f"{kind} {number}", deadline_s=20) for number in some]
        results = await asyncio.gather(*(handle.result() for handle in handles))
        asked = [await sinks.of_queries(handle) for handle in handles]
    for number, handle, result, told in zip(some, handles, results, asked, strict=True):
        assert result.outcome is RunOutcome.PLANNER_FAILED
        found = dict(told) | await everything(runs, handle, await runs.finished(handle, result), logs)
        assert found_in(found, "exception") == []
        assert kind == "raises-in-check" or "[redacted]" in found["report"], FORMS[number]


async def test_a_secret_that_a_planner_writes_into_its_report_is_masked(runs: Harness, logs: Logs) -> None:
    """In claims, in remarks, and in a quote that stands in no evidence; a quote of evidence stays as it is."""
    asked = calls(*(call(f"answers-{number}", "answers", {"q": number}) for number in NUMBERS))
    claims = [
        claim(
            text("claim", number),
            cite("answers-0", quote=text("quote", number)),
            cite("answers-0", pointer="/text"),
        )
        for number in NUMBERS
    ]
    wrote = Turn(report={"claims": claims}, remarks=[text("claim", number) for number in NUMBERS])
    found = await run_to_its_end(runs, [asked, wrote], TOOLS, logs)
    assert found_in(found, "claim") == []
    assert {sink.rpartition(" in ")[2].split(":")[2] for sink in found_in(found, "quote")} <= {"turn"}
    assert found["report"].count("[redacted]") >= len(FORMS)
