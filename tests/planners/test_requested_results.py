"""Every requested call gets exactly one result, in request order."""

from __future__ import annotations

import pytest

from activities.contracts import CallResult, TurnMode
from activities.planners.port import PastTurn
from activities.turns import requested_results
from boundary.contracts import CallError, EvidenceStatus, InvocationStatus, ReplacedText, ToolCall, call_error
from boundary.errors import ErrorCode
from tests.planners.support import record_of


def refused(error: CallError) -> CallResult:
    return CallResult(status=InvocationStatus.ERROR, evidence_status=EvidenceStatus.ERROR, error=error, stored=False)


REPLACED = ReplacedText(reason="not_text", bytes=0, sha256="0" * 64)


@pytest.mark.proves("INV-ONE-RESULT-EACH")
def test_stored_refused_and_excess_calls_each_get_one_result() -> None:
    """The second call has the first one's id and was refused for it: it does not get its result."""
    duplicate = call_error(ErrorCode.DUPLICATE_TOOL_CALL_ID, "seen before")
    invalid = call_error(ErrorCode.INVALID_TOOL_CALL_ID, "no text")
    past = PastTurn(
        number=1,
        mode=TurnMode.PLAN,
        calls=(
            ToolCall(tool_call_id="a", tool_name="search_logs"),
            ToolCall(tool_call_id="a", tool_name="search_logs"),
            ToolCall(tool_call_id=REPLACED, tool_name=REPLACED),
        ),
        results=(
            CallResult(),
            refused(duplicate),
            refused(invalid),
        ),
        excess_ids=("x", None),
    )
    results = requested_results(past, {"a": record_of("a", "search_logs", {"count": 1})})
    assert [result.tool_call_id for result in results] == ["a", "a", None, "x", None]
    assert results[0].agent_result == {"count": 1}
    codes = [result.error.code if result.error else None for result in results]
    assert codes == [
        None,
        ErrorCode.DUPLICATE_TOOL_CALL_ID,
        ErrorCode.INVALID_TOOL_CALL_ID,
        ErrorCode.BUDGET_EXCEEDED,
        ErrorCode.BUDGET_EXCEEDED,
    ]
    assert results[3].error is not None
    assert "at most 64 calls" in results[3].error.message


def test_a_record_that_is_gone_is_an_error_of_its_own() -> None:
    """READY in the history and nothing in the store is never a silent success."""
    past = PastTurn(1, TurnMode.PLAN, (ToolCall(tool_call_id="a", tool_name="t"),), (CallResult(),))
    (result,) = requested_results(past, {})
    assert result.status is InvocationStatus.ERROR
    assert result.error is not None
    assert result.error.code is ErrorCode.RECORD_EXPIRED


def test_a_call_without_an_outcome_still_gets_a_result() -> None:
    """The run ended the turn before the call was decided."""
    past = PastTurn(1, TurnMode.PLAN, (ToolCall(tool_call_id="a", tool_name="t"),), ())
    (result,) = requested_results(past, {})
    assert result.error is not None
    assert result.error.code is ErrorCode.RUN_NOT_ACTIVE


def test_calls_refused_in_a_turn_without_tools_are_told_to_report() -> None:
    """The limit they met is that no tools were left."""
    (result,) = requested_results(PastTurn(3, TurnMode.CONCLUDE, (), (), ("a",)), {})
    assert result.error is not None
    assert "hand in the report" in result.error.message
