"""A runbook's report says what the steps gave; whether that is proven is EvidenceGuard's word."""

from __future__ import annotations

from typing import Any

import pytest

from activities.contracts import TurnMode
from activities.planners.runbook import RunbookPlanner
from activities.turns import bound_turn, turn_key
from boundary.limits import REPORT_MAX_BYTES
from tests.planners.support import FakeRun, failed, follow, plan_input, take_turn, texts

STEPS = """\
name: t
steps:
  - {id: found, tool: t, arguments: {x: 1}}
  - {id: empty, tool: t, arguments: {x: 2}}
  - {id: lost, tool: t, arguments: {x: 3}}
  - {id: never, tool: t, when: found.empty}
report:
  claims:
"""


def answer(tool: str, arguments: Any) -> Any:
    return {1: {"rows": ["a", "b"], "n": 2}, 2: None, 3: failed()}[arguments["x"]]


async def reported(*claims: str) -> Any:
    run = FakeRun(runbook=STEPS + "".join(f"    - {claim}\n" for claim in claims))
    return (await follow(RunbookPlanner(), run, answer))[-1]


@pytest.mark.parametrize(
    ("claim", "kept"),
    [
        ("{text: x, cites: [{call: found}]}", True),
        ("{text: x, kind: absence, cites: [{call: empty}]}", True),
        ("{text: x, kind: absence, cites: [{call: found}]}", True),
        ("{text: x, cites: [{call: empty}]}", True),
        ("{text: x, cites: [{call: lost}]}", True),
        ("{text: x, kind: absence, cites: [{call: lost}]}", True),
        ("{text: x, cites: [{call: never}]}", False),
        ("{text: x, cites: [{call: found}, {call: lost}]}", True),
        ('{text: x, cites: [{call: "{{ question }}"}]}', True),
        ("{text: x, cites: [{call: found}, {call: never}]}", False),
        ("{text: x, when: false, cites: [{call: found}]}", False),
        ("{text: x, when: found.result.n > 2, cites: [{call: found}]}", False),
        ("{text: x, when: found.result.m > 2, cites: [{call: found}]}", False),
        ('{text: "{{ lost.result.n }}", cites: [{call: found}]}', False),
        ('{text: x, cites: [{call: found, quote: "{{ found.result.m }}"}]}', False),
        ('{text: x, cites: [{call: "{{ never.call }}"}]}', False),
        ("{text: x, for_each: lost.result, cites: [{call: found}]}", False),
        ('{text: "{{ lost.error.message }}", when: lost.failed, cites: [{call: found}]}', True),
    ],
)
async def test_a_claim_is_left_out_where_its_data_is_missing_and_nowhere_else(claim: str, kept: bool) -> None:
    """What cites a failed or empty call is handed in: EvidenceGuard judges it, and people see its word."""
    turn = await reported(claim)
    assert len(turn.report["claims"]) == kept


async def test_quotes_and_pointers_are_texts() -> None:
    """A number is quoted as JSON writes it, which is what the check compares with."""
    turn = await reported(
        '{text: "{{ found.result.n }} rows\\n", cites: [{call: found, pointer: /n, quote: "{{ found.result.n }}"}, '
        "{call: found, pointer: /n, quote: 2}, {call: found, pointer: ''}]}"
    )
    assert turn.report == {
        "claims": [
            {
                "text": "2 rows",
                "kind": "finding",
                "citations": [
                    {"tool_call_id": "found", "pointer": "/n", "quote": "2"},
                    {"tool_call_id": "found", "pointer": "/n", "quote": "2"},
                    {"tool_call_id": "found", "pointer": ""},
                ],
            }
        ]
    }


async def test_a_claim_for_each_item_has_item_and_index() -> None:
    """The index counts from 0, as pointers do."""
    turn = await reported(
        '{text: "row {{ item }}", for_each: found.result.rows, cites: [{call: found, pointer: "/rows/{{ index }}"}]}'
    )
    assert texts(turn) == ["row a", "row b"]
    assert [claim["citations"][0]["pointer"] for claim in turn.report["claims"]] == ["/rows/0", "/rows/1"]


async def test_a_citation_for_each_call_carries_an_absence() -> None:
    """That nothing was found anywhere rests on every call; more than 20 citations no claim can have."""
    steps = STEPS.replace(
        "{id: empty, tool: t, arguments: {x: 2}}", "{id: empty, tool: t, for_each: 'range(COUNT)', arguments: {x: 2}}"
    )
    claim = "    - {text: x, kind: absence, cites: [{for_each: empty.calls, call: '{{ item }}'}]}\n"
    few = await follow(RunbookPlanner(), FakeRun(runbook=steps.replace("COUNT", "3") + claim), answer)
    assert few[-1].report["claims"][0]["citations"] == [{"tool_call_id": f"empty.{number}"} for number in (1, 2, 3)]
    for count in ("0", "21"):
        turn = (await follow(RunbookPlanner(), FakeRun(runbook=steps.replace("COUNT", count) + claim), answer))[-1]
        assert turn.report == {"claims": []}
        assert turn.remarks == [f"claim 1 was left out: it would have {count} citations; 1 to 20 are possible"]


async def test_items_beyond_64_are_told_in_a_claim_of_their_own() -> None:
    """It has no proof, so the report is PARTIAL at best: it never passes for the whole."""
    turn = await reported('{text: "{{ item }}", for_each: "range(70)", cites: [{call: found}]}')
    assert len(turn.report["claims"]) == 65
    assert texts(turn)[-1] == "Claim 1 of the runbook speaks of the first 64 of 70 items only."
    assert turn.report["claims"][-1]["citations"] == []


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        ('{text: "{{ item }}", for_each: "range(60)", cites: [{call: found}]}', 2),
        ('{text: "{{ item }} ' + "ü" * 3990 + '", for_each: "range(50)", cites: [{call: found}]}', 1),
    ],
)
async def test_a_report_never_outgrows_what_a_report_may_hold(claim: str, count: int) -> None:
    """Neither in claims nor in bytes; what did not fit is told."""
    turn = await reported(*[claim] * count)
    plan = plan_input()
    stored = bound_turn(turn, turn_key=turn_key(plan), plan=plan)
    assert stored.turn.faults == ()
    assert stored.report is not None
    assert len(stored.report.model_dump_json()) < REPORT_MAX_BYTES
    assert texts(turn)[-1].endswith("more claims of the runbook do not fit into this report.")


async def test_concluding_early_reports_what_is_at_hand() -> None:
    """Steps that were never reached count as skipped, and no call is made any more."""
    text = STEPS.replace("arguments: {x: 3}", "when: found.found, arguments: {x: 3}") + (
        "    - {text: one, cites: [{call: found}]}\n"
        "    - {text: two, cites: [{call: lost}]}\n"
        '    - {text: "{{ lost.reason }}", when: lost.skipped, cites: [{call: found}]}\n'
    )
    run = FakeRun(runbook=text)
    plan = plan_input()
    run.settle(
        bound_turn(await take_turn(RunbookPlanner(), run), turn_key=turn_key(plan), plan=plan),
        answer,
    )
    turn = await take_turn(RunbookPlanner(), run, TurnMode.CONCLUDE)
    assert turn.calls == ()
    assert texts(turn) == ["one", "the run concluded before it"]
    assert turn.remarks == ["claim 2 was left out: it cites 'lost', which was not called"]


async def test_concluding_before_the_first_call_is_an_empty_report() -> None:
    """INCONCLUSIVE, not a failure."""
    run = FakeRun(runbook=STEPS + "    - {text: one, cites: [{call: found}]}\n")
    turn = await take_turn(RunbookPlanner(), run, TurnMode.CONCLUDE)
    assert turn.report == {"claims": []}
    assert turn.remarks == ["claim 1 was left out: it cites 'found', which was not called"]


async def test_a_repaired_report_is_the_same_report() -> None:
    """A runbook cannot think again: a claim whose quote is not there is published as unproven, never withdrawn."""
    run = FakeRun(runbook=STEPS + "    - {text: one, cites: [{call: found, quote: not in there}]}\n")
    turn = (await follow(RunbookPlanner(), run, answer))[-1]
    faults = ["claim 1, citation 1 (found): QUOTE_NOT_FOUND: the quote is in no text value of the result"]
    assert await take_turn(RunbookPlanner(), run, TurnMode.REPAIR, faults) == turn


@pytest.mark.parametrize(
    ("claim", "note"),
    [
        (
            '{text: "{{ found.result.long }}", cites: [{call: found}]}',
            "text: String should have at most 4000 characters",
        ),
        (
            '{text: x, cites: [{call: found, quote: "{{ found.result.long }}"}]}',
            "citation 1, quote: String should have at most 2000 characters",
        ),
        (
            '{text: "{{ found.result.bad }}", cites: [{call: found}]}',
            "text: expected valid Unicode, found a lone surrogate",
        ),
    ],
)
async def test_a_claim_that_no_report_can_hold_becomes_one_that_says_so(claim: str, note: str) -> None:
    """It does not cost the others their place."""

    def long_answer(tool: str, arguments: Any) -> Any:
        return {"long": "x" * 5_000, "bad": "\ud800"}

    run = FakeRun(runbook=STEPS + f"    - {claim}\n    - {{text: short, cites: [{{call: found}}]}}\n")
    turn = (await follow(RunbookPlanner(), run, long_answer))[-1]
    assert texts(turn) == [f"Claim 1 of the runbook could not be reported: {note}", "short"]
    assert turn.report["claims"][0]["citations"] == []
