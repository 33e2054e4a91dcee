"""Whole runs at their limits: bytes of records that only texts make large, and reports whose quotes are."""

from __future__ import annotations

import json

import pytest
from temporalio.client import Client

from activities.contracts import RunOutcome
from boundary.contracts import EvidenceStatus, JsonObject, JsonValue
from boundary.limits import ARGUMENTS_MAX_BYTES, MIN_RECORD_BYTES
from boundary.memory_backend import MemoryBackend
from boundary.report import MAX_CITATIONS, MAX_CLAIMS, Verdict
from boundary.tools import Projection
from casebound.worker import store_over
from tests.support.runs import Harness, call, calls, cite, claim, report
from tests.support.tools import ANY_OBJECT, FakeTool


@pytest.mark.proves("INV-CAPACITY")
@pytest.mark.parametrize("text", ['"' * ARGUMENTS_MAX_BYTES, "\x01" * ARGUMENTS_MAX_BYTES], ids=["quotes", "controls"])
async def test_a_record_stays_within_its_grant_whatever_its_arguments_become_as_json(
    temporal_client: Client, task_queue: str, text: str
) -> None:
    """Argument text that JSON writes at twice or six times its length: the run's bytes hold all the same."""
    runs = Harness(temporal_client, await store_over(MemoryBackend(), "casebound"), task_queue)
    done = await runs.run([calls(call("one", arguments=text)), report()], [FakeTool()], max_run_bytes=MIN_RECORD_BYTES)
    assert done.records["one"].bytes <= MIN_RECORD_BYTES
    assert done.result.budget.run_bytes.used <= MIN_RECORD_BYTES


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@pytest.mark.parametrize("char", ["\U0001f525", "\x01", "x"], ids=["four bytes", "an escape", "one byte"])
async def test_a_report_that_cites_as_much_as_it_may_is_published(
    temporal_client: Client, task_queue: str, char: str
) -> None:
    """2,000 pointers to long texts: each shows the beginning of its text, and all of them fit into a payload."""

    def show(arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        return Projection({"text": char * 400}, EvidenceStatus.EVIDENCE_FOUND)

    runs = Harness(temporal_client, await store_over(MemoryBackend(), "casebound"), task_queue)
    one = claim("x", *[cite("one", pointer="/text")] * MAX_CITATIONS)
    done = await runs.run(
        [calls(call("one")), report(*[one] * MAX_CLAIMS)], [FakeTool(show=show, schema=ANY_OBJECT)], deadline_s=120
    )
    assert (done.result.outcome, done.result.verdict) == (RunOutcome.REPORTED, Verdict.SUPPORTED)
    assert len(json.dumps([checked.model_dump(mode="json") for checked in done.result.claims])) > 0
