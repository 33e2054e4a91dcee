"""What a failure leaves in a run's history: a code and a bounded message, and nothing of the worker it happened on."""

from __future__ import annotations

import pytest

from boundary.contracts import JsonObject, JsonValue
from boundary.errors import ErrorCode
from boundary.tools import ToolContext, ToolFailure
from tests.replay.test_history_size import CALL_BYTES, CALL_EVENTS, calls_of
from tests.support.histories import text_of
from tests.support.runs import Harness, call, calls, report
from tests.support.tools import FakeTool


def failing(times: int) -> FakeTool:
    """A tool that fails so often, with a long message, before it answers."""
    left = [times]

    def work(arguments: JsonObject, context: ToolContext) -> JsonValue:
        left[0] -= 1
        if left[0] >= 0:
            raise ToolFailure("no answer " * 100, code=ErrorCode.UPSTREAM_UNAVAILABLE, retryable=True)
        return {"echo": arguments}

    return FakeTool(work=work)


@pytest.mark.parametrize("times", [1, 3], ids=["retried", "settled ERROR"])
async def test_a_call_that_failed_leaves_no_more_than_another(runs: Harness, times: int) -> None:
    """Six events, two kilobytes, however long the message and however often it was tried."""
    done = await runs.run([calls(call("one")), report()], [failing(times)])
    [step] = calls_of(done)
    assert len(step.sizes) == CALL_EVENTS
    assert sum(step.sizes) <= CALL_BYTES


async def test_no_stack_trace_and_no_path_of_the_worker_enters_the_history(runs: Harness) -> None:
    """A failed attempt is kept as the reason of the next; where in the code it was raised is for the worker's log."""
    done = await runs.run([calls(call("one")), report()], [failing(1)])
    history = text_of(done.history)
    assert "no answer" in history
    assert "site-packages" not in history
    assert ".py" not in history
