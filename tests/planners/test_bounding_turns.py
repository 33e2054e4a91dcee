"""Whatever a planner hands in becomes a turn that the store and the history can take."""

from __future__ import annotations

import json
from collections import deque
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.contracts import PlanInput, TurnMode
from activities.planners.port import RequestedCall, Turn
from activities.stored import StoredTurn
from activities.turns import bound_turn, turn_key
from boundary.contracts import ReplacedText
from boundary.limits import ARGUMENTS_MAX_BYTES, REPORT_MAX_BYTES, TURN_MAX_BYTES, TURN_MAX_CALLS
from boundary.report import MAX_CLAIMS
from tests.planners.support import plan_input

HISTORY_MAX = 512 * 1024


def bound(turn: Any, mode: TurnMode = TurnMode.PLAN) -> StoredTurn:
    plan = plan_input(mode=mode)
    stored = bound_turn(turn, turn_key=turn_key(plan), plan=plan)
    encoded = stored.turn.model_dump_json().encode("utf-8")
    assert len(encoded) < HISTORY_MAX
    assert StoredTurn.model_validate_json(stored.model_dump_json().encode("utf-8")) == stored
    return stored


def call(call_id: Any = "a", name: Any = "search_logs", arguments: Any = "{}") -> RequestedCall:
    return RequestedCall(call_id, name, arguments)


def claims(*texts: str) -> dict[str, Any]:
    return {"claims": [{"text": text, "citations": [{"tool_call_id": "a", "quote": "something"}]} for text in texts]}


def test_a_good_turn_stays_as_it_is() -> None:
    """Ids, names and argument text are kept to the letter."""
    turn = bound(Turn(calls=[call("call_1", "search_logs", ' {"a" : 1} '), call("fc_1|call_2")], tokens=17)).turn
    assert [(one.tool_call_id, one.arguments) for one in turn.calls] == [
        ("call_1", ' {"a" : 1} '),
        ("fc_1|call_2", "{}"),
    ]
    assert (turn.tokens, turn.excess, turn.faults, turn.reported) == (17, 0, (), False)


@pytest.mark.parametrize(
    ("call_id", "kept"),
    [(None, None), ("", None), ("a b", "a b"), ("ü", "ü")],
)
def test_a_missing_id_is_none_and_a_short_illegal_one_is_kept(call_id: str | None, kept: str | None) -> None:
    """Admission says what is wrong with an id; it can only do so if it sees it."""
    assert bound(Turn(calls=[call(call_id)])).turn.calls[0].tool_call_id == kept


@pytest.mark.parametrize(
    ("value", "reason"),
    [(5, "not_text"), ({"a": 1}, "not_text"), ("\ud800", "not_unicode"), ("x" * 257, "oversized")],
)
def test_an_id_that_cannot_be_kept_is_replaced_by_its_digest(value: Any, reason: str) -> None:
    """The history holds the reason, the size and the digest, never the text."""
    replaced = bound(Turn(calls=[call(value)])).turn.calls[0].tool_call_id
    assert isinstance(replaced, ReplacedText)
    assert replaced.reason == reason
    assert len(replaced.sha256) == 64


def test_a_tool_name_over_64_characters_is_replaced_and_a_short_illegal_one_kept() -> None:
    """No tool has such a name; an illegal one is refused at admission."""
    turn = bound(Turn(calls=[call(name="x" * 65), call(name="rm -rf /")])).turn
    assert isinstance(turn.calls[0].tool_name, ReplacedText)
    assert turn.calls[1].tool_name == "rm -rf /"


def test_argument_text_over_its_limit_is_replaced() -> None:
    """At the limit it is kept, one byte over it is not; bytes count, not characters."""
    at_limit = bound(Turn(calls=[call(arguments="x" * ARGUMENTS_MAX_BYTES)])).turn.calls[0].arguments
    over = bound(Turn(calls=[call(arguments="ü" * (ARGUMENTS_MAX_BYTES // 2) + "x")])).turn.calls[0].arguments
    assert isinstance(at_limit, str)
    assert over == ReplacedText(
        reason="oversized", bytes=ARGUMENTS_MAX_BYTES + 1, sha256=cast(ReplacedText, over).sha256
    )


def test_arguments_given_as_an_object_become_their_json_text() -> None:
    """Some providers hand over parsed arguments; nothing is repaired, NaN stays what strict JSON refuses."""
    turn = bound(Turn(calls=[call(arguments={"a": [1, 2**70]}), call(arguments={"a": float("nan")})])).turn
    assert [one.arguments for one in turn.calls] == ['{"a":[1,1180591620717411303424]}', '{"a":NaN}']


def test_arguments_that_are_no_json_are_replaced() -> None:
    """Cycles, deep nesting, sets, lists and numbers."""
    cycle: dict[str, Any] = {}
    cycle["again"] = cycle
    deep: Any = 1
    for _ in range(10_000):
        deep = {"a": deep}
    for arguments in (cycle, deep, {"a": {1}}, {1: 2}, [1], 5, object(), {"a": "\ud800"}):
        assert isinstance(bound(Turn(calls=[call(arguments=arguments)])).turn.calls[0].arguments, ReplacedText)


def test_calls_beyond_the_count_are_refused_and_their_ids_kept() -> None:
    """Each of 10,000 calls gets its one result: 64 may be admitted, the others are named as excess."""
    stored = bound(Turn(calls=[call(f"c{index}") for index in range(10_000)]))
    assert len(stored.turn.calls) == TURN_MAX_CALLS
    assert stored.turn.excess == 10_000 - TURN_MAX_CALLS
    assert stored.excess_ids == tuple(f"c{index}" for index in range(TURN_MAX_CALLS, 10_000))


def test_everything_from_the_first_call_that_does_not_fit_is_excess() -> None:
    """A small call after a refused one is refused, too: the order of results is the order of calls."""
    big = call(arguments="x" * ARGUMENTS_MAX_BYTES)
    count = TURN_MAX_BYTES // ARGUMENTS_MAX_BYTES
    stored = bound(Turn(calls=[*[big] * (count + 1), call("small")]))
    assert len(stored.turn.calls) == count
    assert stored.excess_ids == ("a", "small")


def test_text_that_grows_sixfold_in_json_is_measured_as_it_stands_in_the_history() -> None:
    """64 calls of control characters would otherwise be 1.5 MB."""
    stored = bound(Turn(calls=[call("\x01" * 256, "\x01" * 64, "\x01" * ARGUMENTS_MAX_BYTES) for _ in range(64)]))
    assert len(stored.turn.calls) == 2
    assert stored.turn.excess == 62


def test_excess_ids_are_bounded_themselves() -> None:
    """Illegal ids are none; beyond 256 KiB of ids the others are none; beyond 100,000 entries there are none."""
    long_ids = [call("x" * 250 + str(index)) for index in range(2_000)]
    stored = bound(Turn(calls=[*[call()] * TURN_MAX_CALLS, call("a b"), *long_ids, *[call()] * 150_000]))
    assert stored.excess_ids[0] is None
    assert stored.excess_ids[1] == "x" * 250 + "0"
    assert stored.excess_ids[2_000] is None
    assert len(stored.excess_ids) == 100_000
    assert stored.turn.excess == 152_001


@pytest.mark.parametrize("mode", [TurnMode.CONCLUDE, TurnMode.REPAIR])
def test_calls_in_a_turn_without_tools_are_excess(mode: TurnMode) -> None:
    """They are refused, and the planner is told to hand in the report."""
    stored = bound(Turn(calls=[call()]), mode)
    assert (stored.turn.calls, stored.turn.excess, stored.excess_ids) == ((), 1, ("a",))
    assert stored.turn.faults == ("no tools are left; hand in the report",)
    assert not stored.turn.reported


def test_a_report_wins_over_calls_beside_it() -> None:
    """The calls are refused; that there were any is a fault where calls were possible."""
    turn = Turn(calls=[call()], report=claims("x"))
    planned = bound(turn)
    assert planned.report is not None
    assert (planned.turn.calls, planned.turn.excess, len(planned.turn.faults)) == ((), 1, 1)
    assert bound(turn, TurnMode.CONCLUDE).turn.faults == ()


@pytest.mark.parametrize("mode", list(TurnMode))
def test_a_turn_with_neither_calls_nor_report_is_a_fault(mode: TurnMode) -> None:
    """An empty turn would otherwise be asked for again for ever."""
    assert bound(Turn(), mode).turn.faults == ("the turn has neither calls nor a report",)


def test_a_report_is_kept_and_the_ids_it_cites_are_named_once() -> None:
    """In the order of their first citation."""
    report = claims("one", "two")
    report["claims"][0]["citations"] += [{"tool_call_id": "b"}, {"tool_call_id": "a"}]
    stored = bound(Turn(report=report))
    assert stored.report is not None
    assert [claim.text for claim in stored.report.claims] == ["one", "two"]
    assert (stored.turn.reported, stored.turn.cites, stored.turn.faults) == (True, ("a", "b"), ())


BAD_REPORTS: list[tuple[Any, str]] = [
    ([], "report: "),
    ("it is broken", "report: "),
    ({"claims": [{"text": ""}]}, "claim 1, text: "),
    ({"claims": [{"text": "x" * 4001}]}, "claim 1, text: String should have at most 4000"),
    ({"claims": [{"text": 5}]}, "claim 1, text: "),
    ({"claims": [{"text": "x", "kind": "guess"}]}, "claim 1, kind: "),
    ({"claims": [{"text": "\ud800"}]}, "claim 1, text: expected valid Unicode"),
    ({"claims": [{"text": "x", "citations": [{}]}]}, "claim 1, citation 1, tool_call_id: "),
    ({"claims": [{"text": "x"}], "score": float("nan")}, "score: expected a finite number"),
    ({"claims": [{"text": "x"}] * (MAX_CLAIMS + 1)}, "claims: "),
    ({"claims": "x" * (REPORT_MAX_BYTES + 1)}, "report: more than 262144 bytes"),
    ({"claims": [{"text": b"x"}]}, "claim 1, text: expected a JSON value"),
    ({1: 2}, "report: expected texts as keys"),
]


@pytest.mark.parametrize(("report", "fault"), BAD_REPORTS)
def test_a_report_that_cannot_be_taken_says_where_and_what_was_expected(report: Any, fault: str) -> None:
    """The repair turn gets path, expectation and limit; the report itself is not kept."""
    stored = bound(Turn(report=report))
    assert stored.turn.reported
    assert stored.report is None
    assert stored.turn.cites == ()
    assert stored.turn.faults[0].startswith(fault)


def test_faults_are_bounded() -> None:
    """At most 20 of at most 300 characters, the last saying how many more."""
    report = {"claims": [{"text": "", "kind": "x" * 1000}] * 50, "x" * 5000: object()}
    faults = bound(Turn(report=report)).turn.faults + bound(Turn(report={"claims": report["claims"]})).turn.faults
    assert len(faults) == 21
    assert faults[-1] == "and 81 more"
    assert all(len(fault) <= 300 for fault in faults)


def test_the_largest_report_still_fits_the_history_with_its_cited_ids() -> None:
    """2,000 different ids of 100 characters."""
    report = {
        "claims": [
            {"text": "x", "citations": [{"tool_call_id": f"{claim}-{number}".ljust(100, "x")} for number in range(20)]}
            for claim in range(100)
        ]
    }
    assert len(bound(Turn(report=report)).turn.cites) in (0, 2000)


@pytest.mark.parametrize(("tokens", "kept"), [(-5, 0), (10**30, 10**9), (1.5, 0), (True, 0), ("7", 0), (None, 0)])
def test_absurd_tokens_are_clamped(tokens: Any, kept: int) -> None:
    """A provider's figure is charged only if it can be one."""
    assert bound(Turn(calls=[call()], tokens=tokens)).turn.tokens == kept


@pytest.mark.parametrize(
    "turn", [None, 5, "x", {"calls": []}, Turn(calls=cast(Any, deque([call()]))), Turn(calls=cast(Any, 5))]
)
def test_what_is_no_turn_is_an_empty_one(turn: Any) -> None:
    """A planner's bug is a fault of its turn, not of the worker."""
    assert bound(turn).turn.faults == ("the turn has neither calls nor a report",)


def test_what_is_no_call_still_gets_its_place() -> None:
    """Every requested call gets one result, so none may vanish."""
    turn = bound(Turn(calls=cast(Any, [None, {"tool_call_id": "a"}, call("b")]))).turn
    assert [one.tool_call_id for one in turn.calls] == [None, None, "b"]


class Loud(str):
    """A text that lies about itself."""

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def test_subclasses_become_plain_values() -> None:
    """What is stored is text, whatever methods it came with."""
    turn = bound(Turn(calls=[call(Loud("a"), Loud("b"), Loud("{}"))])).turn
    assert [type(value) for value in (turn.calls[0].tool_call_id, turn.calls[0].arguments)] == [str, str]
    assert bound(Turn(report={Loud("claims"): [{"text": Loud("x")}]})).report is not None


def test_shared_parts_that_would_write_out_to_gigabytes_are_refused_at_the_limit() -> None:
    """Ten lists of ten lists, ten deep."""
    bomb: Any = ["x"]
    for _ in range(10):
        bomb = [bomb] * 10
    assert bound(Turn(report={"claims": bomb})).turn.faults[0].startswith("report: more than")
    assert isinstance(bound(Turn(calls=[call(arguments={"a": bomb})])).turn.calls[0].arguments, ReplacedText | str)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20)
    | st.binary(max_size=5)
    | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.sampled_from(["claims", "text", "citations", "tool_call_id", "kind", 5]), inner, max_size=5
        )
    ),
    max_leaves=20,
)
any_call = st.builds(RequestedCall, anything, anything, anything) | anything
any_turn = st.builds(Turn, st.lists(any_call, max_size=80) | anything, anything, anything) | anything


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@settings(max_examples=300, deadline=None)
@given(any_turn, st.sampled_from(list(TurnMode)))
def test_nothing_a_planner_returns_raises(turn: Any, mode: TurnMode) -> None:
    """And every call asked for is either kept or counted as excess."""
    stored = bound(turn, mode)
    asked = turn.calls if isinstance(turn, Turn) and isinstance(turn.calls, list | tuple) else ()
    assert len(stored.turn.calls) + stored.turn.excess == len(asked)
    assert (stored.report is None) or stored.turn.reported


def test_the_key_of_a_turn_ignores_the_clock_and_nothing_else() -> None:
    """A retried activity asks with a later deadline; a new note or mode asks anew."""
    key = turn_key(plan_input(2))
    assert key == turn_key(plan_input(2, deadline_ms=9_999))
    assert key.startswith("2:plan:")
    assert len(key) == len("2:plan:") + 16
    others = {turn_key(plan_input(2, notes=["look at disk"])), turn_key(plan_input(2, TurnMode.REPAIR, faults=["x"]))}
    assert len(others | {key}) == 3


def test_the_key_of_a_turn_does_not_change_when_the_input_gets_a_field_more() -> None:
    """Runs in flight find their stored turns after an upgrade: defaults are not part of the key."""

    class LaterInput(PlanInput):
        new: int = 0

    plan = plan_input(2, notes=["a"])
    assert turn_key(LaterInput(**json.loads(plan.model_dump_json()))) == turn_key(plan)


def test_remarks_are_kept_as_bounded_valid_text() -> None:
    """What a planner says for people is stored, whatever it is: at most 100 texts of 300 characters."""
    remarks: Any = ["step 'b' was skipped", 7, "\ud800x", "y" * 400, *["z"] * 200]
    stored = bound_turn(Turn(remarks=remarks), turn_key="k", plan=plan_input(1))
    assert stored.remarks[:2] == ("step 'b' was skipped", "?x")
    assert len(stored.remarks[2]) == 300
    assert len(stored.remarks) == 100
