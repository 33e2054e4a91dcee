"""The preflight: a fixed order of checks, the first fault is the verdict; and the registry it reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundary.contracts import (
    MESSAGE_MAX,
    AdmittedCall,
    CallError,
    EvidenceStatus,
    Grant,
    JsonObject,
    JsonValue,
    ReplacedText,
    call_error,
)
from boundary.errors import ErrorCode
from boundary.limits import JSON_MAX_DEPTH, RecordLimits
from boundary.preflight import Failed, Passed, RunScope, preflight
from boundary.registry import ToolRegistry
from boundary.schema_gate import InvalidTool
from boundary.tools import Projection, ToolContext, ToolDefinition, ToolFailure

NOW = 1_700_000_000_000
LIMITS = RecordLimits(request=2000)
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"pattern": {"type": "string"}},
    "additionalProperties": False,
}
SEARCH = ToolDefinition("search_logs", "Searches.", SCHEMA, {"type": "object"})


@dataclass
class ProbeTool:
    """A tool that refuses what it is told to refuse and never executes."""

    definition: ToolDefinition = SEARCH
    refusal: CallError | Exception | None = None
    checked: list[JsonObject] = field(default_factory=list[JsonObject])

    def check(self, arguments: JsonObject) -> CallError | None:
        self.checked.append(arguments)
        if isinstance(self.refusal, Exception):
            raise self.refusal
        return self.refusal

    def execute(self, arguments: JsonObject, context: ToolContext) -> JsonValue:
        raise AssertionError("preflight executes nothing")

    def project(self, arguments: JsonObject, raw: JsonValue, budget_bytes: int) -> Projection:
        return Projection(raw, EvidenceStatus.EVIDENCE_FOUND)


GRANT = Grant(deadline_ms=NOW + 60_000, expires_at_ms=NOW + 600_000, bytes=10_000, timeout_ms=1000, attempts=3)
CALL = AdmittedCall(
    run_id="run-1",
    tool_call_id="call_1",
    tool_name="search_logs",
    arguments='{"pattern":"x"}',
    turn=1,
    position=0,
    call_index=1,
    grant=GRANT,
)
RUN = RunScope("run-1")
REFUSED = call_error(ErrorCode.NOT_READ_ONLY, "the statement writes")


def verdict(
    call: AdmittedCall = CALL, run: RunScope = RUN, tool: ProbeTool | None = None, now_ms: int = NOW
) -> Passed | Failed:
    """Preflight with the one tool."""
    return preflight(call, run, ToolRegistry([tool or ProbeTool()]), LIMITS, now_ms)


def refused(verdict: Passed | Failed) -> CallError:
    """The error of a verdict that must have failed."""
    assert isinstance(verdict, Failed)
    return verdict.error


def with_arguments(arguments: str | ReplacedText) -> AdmittedCall:
    """The good call with other argument text."""
    return CALL.model_copy(update={"arguments": arguments})


def with_grant(**changes: int) -> AdmittedCall:
    """The good call with another grant."""
    return CALL.model_copy(update={"grant": GRANT.model_copy(update=changes)})


def test_a_good_call_passes_with_its_arguments_parsed() -> None:
    """The verdict carries what the boundary needs to execute."""
    tool = ProbeTool()
    passed = verdict(tool=tool)
    assert isinstance(passed, Passed)
    assert passed.tool is tool
    assert passed.definition is SEARCH
    assert passed.arguments == {"pattern": "x"}
    assert tool.checked == [{"pattern": "x"}]


@pytest.mark.proves("FIELD-EMPTY-ARGUMENTS")
def test_empty_argument_text_means_no_arguments() -> None:
    """It runs once where nothing is required."""
    passed = verdict(with_arguments(""))
    assert isinstance(passed, Passed)
    assert passed.arguments == {}


@pytest.mark.proves("FIELD-EMPTY-ARGUMENTS")
def test_empty_argument_text_still_has_to_fit_the_schema() -> None:
    """`{}` is not a way around a required field."""
    tool = ProbeTool(replace(SEARCH, arguments_schema={**SCHEMA, "required": ["pattern"]}))
    assert refused(verdict(with_arguments(""), tool=tool)).code is ErrorCode.SCHEMA_VIOLATION


@pytest.mark.parametrize(
    ("call", "run", "code"),
    [
        (CALL.model_copy(update={"tool_call_id": ""}), RUN, ErrorCode.MISSING_TOOL_CALL_ID),
        (CALL.model_copy(update={"tool_call_id": "a b"}), RUN, ErrorCode.INVALID_TOOL_CALL_ID),
        (CALL.model_copy(update={"tool_call_id": "x" * 257}), RUN, ErrorCode.INVALID_TOOL_CALL_ID),
        (CALL, RunScope("run-2"), ErrorCode.RUN_MISMATCH),
        (CALL, RunScope("run-1", active=False), ErrorCode.RUN_NOT_ACTIVE),
        (CALL, RunScope("run-1", cancelled=True), ErrorCode.RUN_CANCELLED),
        (CALL, RunScope("run-1", active=False, cancelled=True), ErrorCode.RUN_CANCELLED),
        (with_grant(deadline_ms=NOW), RUN, ErrorCode.DEADLINE_EXCEEDED),
        (with_grant(bytes=0), RUN, ErrorCode.BUDGET_EXCEEDED),
        (with_grant(attempts=0), RUN, ErrorCode.BUDGET_EXCEEDED),
        (CALL.model_copy(update={"tool_name": "count_logs"}), RUN, ErrorCode.TOOL_UNAVAILABLE),
        (CALL.model_copy(update={"tool_name": "Count Logs"}), RUN, ErrorCode.UNKNOWN_TOOL),
        (CALL.model_copy(update={"tool_name": "x" * 5000}), RUN, ErrorCode.UNKNOWN_TOOL),
        (with_arguments('{"pattern":"' + "ü" * 1000 + '"}'), RUN, ErrorCode.RESULT_TOO_LARGE),
        (with_grant(bytes=14), RUN, ErrorCode.RESULT_TOO_LARGE),
        (with_arguments('{"pattern":'), RUN, ErrorCode.INVALID_ARGUMENTS),
        (with_arguments('{"pattern":1}'), RUN, ErrorCode.SCHEMA_VIOLATION),
    ],
)
def test_each_fault_has_its_code(call: AdmittedCall, run: RunScope, code: ErrorCode) -> None:
    """Stable codes, bounded messages."""
    error = refused(verdict(call, run))
    assert error.code is code
    assert 0 < len(error.message) <= MESSAGE_MAX


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            with_arguments('{"pattern":"' + "x" * 3000 + '"}'),
            "request: the argument text has 3014 bytes, the limit is 2000",
        ),
        (with_grant(bytes=14), "byte grant: the argument text has 15 bytes, the limit is 14"),
    ],
)
def test_a_request_over_a_limit_names_the_limit(call: AdmittedCall, said: str) -> None:
    """Which limit, how much, how much is allowed."""
    assert said in refused(verdict(call)).message


@pytest.mark.parametrize("reason", ["oversized", "not_unicode", "not_text"])
def test_replaced_arguments_are_refused_by_reason_size_and_limit(reason: str) -> None:
    """The text is gone; what it was is said."""
    text = ReplacedText.model_validate({"reason": reason, "bytes": 70_000, "sha256": "0" * 64})
    error = refused(verdict(with_arguments(text)))
    assert error.code is ErrorCode.INVALID_ARGUMENTS
    assert all(part in error.message for part in (reason, "70000 bytes", "limit", "2000"))


def test_a_tool_that_is_not_read_only_never_passes() -> None:
    """Whatever its own check says."""
    tool = ProbeTool(replace(SEARCH, read_only=False))
    assert refused(verdict(tool=tool)).code is ErrorCode.NOT_READ_ONLY
    assert tool.checked == []


def test_the_tools_own_refusal_is_the_verdict() -> None:
    """Its code and message reach the agent as they are."""
    assert refused(verdict(tool=ProbeTool(refusal=REFUSED))) == REFUSED


def test_a_tools_check_may_refuse_by_its_own_exception() -> None:
    """`ToolFailure` is the tool's own word, safe to show."""
    failure = ToolFailure("no such source", code=ErrorCode.INVALID_ARGUMENTS)
    error = refused(verdict(tool=ProbeTool(refusal=failure)))
    assert error == call_error(ErrorCode.INVALID_ARGUMENTS, "no such source")


def test_a_bug_in_a_tools_check_is_a_value_that_names_only_its_type() -> None:
    """The text of a foreign exception may hold anything."""
    error = refused(verdict(tool=ProbeTool(refusal=ValueError("password=hunter2"))))
    assert error.code is ErrorCode.EXECUTION_ERROR
    assert error.message == "the tool's own check failed with ValueError"


@dataclass(frozen=True)
class Scene:
    """Everything preflight looks at; faults change it."""

    call: AdmittedCall = CALL
    run: RunScope = RUN
    tool: ProbeTool = field(default_factory=ProbeTool)
    now_ms: int = NOW


def no_id(scene: Scene) -> Scene:
    return replace(scene, call=scene.call.model_copy(update={"tool_call_id": " "}))


def other_run(scene: Scene) -> Scene:
    return replace(scene, run=RunScope("run-2"))


def late(scene: Scene) -> Scene:
    return replace(scene, now_ms=GRANT.deadline_ms)


def unknown(scene: Scene) -> Scene:
    return replace(scene, call=scene.call.model_copy(update={"tool_name": "read_tea_leaves"}))


def long(scene: Scene) -> Scene:
    return replace(scene, call=scene.call.model_copy(update={"arguments": f"{scene.call.arguments}{' ' * 3000}"}))


def not_json(scene: Scene) -> Scene:
    return replace(scene, call=scene.call.model_copy(update={"arguments": f"{scene.call.arguments},"}))


def unfit(scene: Scene) -> Scene:
    text = str(scene.call.arguments).replace('"x"', "1")
    return replace(scene, call=scene.call.model_copy(update={"arguments": text}))


def writing(scene: Scene) -> Scene:
    return replace(scene, tool=replace(scene.tool, definition=replace(SEARCH, read_only=False)))


def refusing(scene: Scene) -> Scene:
    return replace(scene, tool=replace(scene.tool, refusal=call_error(ErrorCode.REPEATED_CALL, "the tool says no")))


IN_ORDER = {
    no_id: ErrorCode.INVALID_TOOL_CALL_ID,
    other_run: ErrorCode.RUN_MISMATCH,
    late: ErrorCode.DEADLINE_EXCEEDED,
    unknown: ErrorCode.TOOL_UNAVAILABLE,
    long: ErrorCode.RESULT_TOO_LARGE,
    not_json: ErrorCode.INVALID_ARGUMENTS,
    unfit: ErrorCode.SCHEMA_VIOLATION,
    writing: ErrorCode.NOT_READ_ONLY,
    refusing: ErrorCode.REPEATED_CALL,
}


@given(st.sets(st.sampled_from(list(IN_ORDER)), min_size=1))
def test_of_several_faults_the_first_in_the_order_is_the_verdict(faults: set[object]) -> None:
    """However many things are wrong with a call, its code does not depend on chance."""
    scene = Scene()
    for fault in IN_ORDER:
        if fault in faults:
            scene = fault(scene)
    first = next(code for fault, code in IN_ORDER.items() if fault in faults)
    assert refused(verdict(scene.call, scene.run, scene.tool, scene.now_ms)).code is first


@given(st.text(), st.text(), st.text(alphabet=st.characters()))
def test_whatever_a_planner_wrote_the_verdict_is_a_value(tool_call_id: str, tool_name: str, arguments: str) -> None:
    """Preflight never raises for it."""
    call = CALL.model_copy(update={"tool_call_id": tool_call_id, "tool_name": tool_name, "arguments": arguments})
    assert isinstance(verdict(call), Failed)
    only_text = with_arguments(arguments)
    assert isinstance(verdict(only_text), Passed | Failed)


@pytest.mark.parametrize("arguments", ["[" * 1500, '{"pattern":' * 100, '"\ud800"', '{"pattern":"\ud800"}'])
def test_hostile_argument_text_is_invalid_arguments(arguments: str) -> None:
    """Deep nesting and lone surrogates included."""
    assert JSON_MAX_DEPTH < 100
    assert refused(verdict(with_arguments(arguments))).code is ErrorCode.INVALID_ARGUMENTS


def test_the_registry_gives_tools_by_name() -> None:
    """And knows their names in order."""
    other = ProbeTool(replace(SEARCH, name="list_logs"))
    registry = ToolRegistry([other, ProbeTool()])
    assert registry.names == ("list_logs", "search_logs")
    assert [definition.name for definition in registry.definitions] == ["list_logs", "search_logs"]
    assert registry.get("nope") is None
    registered = registry.get("list_logs")
    assert registered is not None
    assert registered.tool is other


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (replace(SEARCH, name="casebound.plan"), "must match"),
        (replace(SEARCH, name="Search"), "must match"),
        (replace(SEARCH, arguments_schema={}), "search_logs"),
        (replace(SEARCH, result_schema={"$ref": "http://a"}), "only #/..."),
        (replace(SEARCH, timeout_ms=0), "timeout_ms"),
        (replace(SEARCH, max_calls=0), "max_calls"),
    ],
)
def test_a_tool_that_breaks_a_rule_is_not_registered(definition: ToolDefinition, said: str) -> None:
    """The worker does not start with it."""
    with pytest.raises(InvalidTool) as caught:
        ToolRegistry([ProbeTool(definition)])
    assert said in caught.value.message


@pytest.mark.proves("FIELD-SAME-TOOL-NAME")
def test_two_tools_of_one_name_are_not_registered() -> None:
    """Nobody could say which one ran."""
    with pytest.raises(InvalidTool, match="names must differ"):
        ToolRegistry([ProbeTool(), ProbeTool()])
