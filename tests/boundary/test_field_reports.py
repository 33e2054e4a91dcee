"""Public reports about calls and answers of agents' tools, at the boundary; the other ones are in `tests/project`.

The doubles stand for tools of any kind, those of MCP servers too. The reports are named by repository and number.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from boundary.contracts import EvidenceStatus, InvocationStatus, JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.keys import ToolCallKeyFactory
from boundary.memory_backend import MemoryBackend
from boundary.preflight import RunScope
from boundary.registry import ToolRegistry
from boundary.store import InvocationStore
from boundary.tool_boundary import ToolBoundary
from boundary.tools import ToolContext, ToolFailure
from tests.support.attempts import FakeAttempt
from tests.support.calls import NOW_MS, admitted
from tests.support.tools import FakeTool, show_raw

RUN = RunScope("run-a")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads of the boundary."""
    with ThreadPoolExecutor(1) as executor:
        yield executor


@pytest.fixture
def store() -> InvocationStore:
    """A store in memory."""
    return InvocationStore(MemoryBackend(), ToolCallKeyFactory("casebound"))


@pytest.mark.proves("FIELD-UNPARSABLE-ARGUMENTS")
async def test_unparsable_arguments_run_nothing_and_are_kept_as_they_came(
    store: InvocationStore, pool: ThreadPoolExecutor
) -> None:
    """HolmesGPT/holmesgpt 906, NousResearch/hermes-agent 1796: not run with `{}`; the text stands in the record."""
    tool = FakeTool(schema={"type": "object"})
    text = '{"pattern": "err'
    outcome = await ToolBoundary(ToolRegistry([tool]), store, pool).invoke(admitted(arguments=text), RUN, FakeAttempt())
    assert outcome.error is not None
    assert (outcome.error.code, tool.executed) == (ErrorCode.INVALID_ARGUMENTS, [])
    [stored] = (await store.read("run-a", ["call_1"], now_ms=NOW_MS)).values()
    assert stored.record.request.arguments == text


@pytest.mark.proves("FIELD-TOLD-FAILURES")
async def test_a_text_that_only_begins_like_an_error_is_an_answer(
    store: InvocationStore, pool: ThreadPoolExecutor
) -> None:
    """openclaw/openclaw 67446: whether a call failed is the tool's to say, not its text's."""
    text = "Error: connection refused (3 times since noon)"
    tool = FakeTool(work=lambda arguments, context: {"text": text}, show=show_raw)
    outcome = await ToolBoundary(ToolRegistry([tool]), store, pool).invoke(admitted(), RUN, FakeAttempt())
    assert (outcome.status, outcome.evidence_status) == (InvocationStatus.READY, EvidenceStatus.EVIDENCE_FOUND)


@pytest.mark.proves("FIELD-TOLD-FAILURES")
async def test_a_failure_the_tool_told_is_no_evidence_whatever_its_text(
    store: InvocationStore, pool: ThreadPoolExecutor
) -> None:
    """zed-industries/zed 47095, appstrate/appstrate 1490, elizaOS/eliza 30037: an error with a text like an answer."""

    def told(arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise ToolFailure("3 rows found")

    outcome = await ToolBoundary(ToolRegistry([FakeTool(work=told)]), store, pool).invoke(
        admitted(), RUN, FakeAttempt()
    )
    assert (outcome.status, outcome.evidence_status) == (InvocationStatus.ERROR, EvidenceStatus.ERROR)
    assert outcome.error is not None
    assert outcome.error.code is ErrorCode.EXECUTION_ERROR
