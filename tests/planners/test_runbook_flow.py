"""A runbook is followed in order, as many steps a turn as need no answer that is still to come."""

from __future__ import annotations

import json
from typing import Any

import pytest

from activities.contracts import TurnMode
from activities.planners.port import PastTurn, PlannerError
from activities.planners.runbook import RunbookPlanner
from activities.turns import bound_turn, turn_key
from boundary.contracts import ToolCall
from boundary.errors import ErrorCode
from tests.planners.support import FakeRun, failed, follow, ids, plan_input, take_turn, texts

BRUTE_FORCE = """\
name: ssh brute force
question: Who is brute-forcing SSH?
vars: {log: sshd, least: 50}
steps:
  - id: failures
    tool: count_logs
    arguments:
      source: "{{ vars.log }}"
      pattern: 'Failed password .* from (?P<address>[0-9.]+)'
      group_by: [address]
  - id: accepted
    tool: search_logs
    arguments: {source: "{{ vars.log }}", text: Accepted password}
  - id: each
    tool: search_logs
    for_each: failures.result.groups | selectattr("count", ">=", vars.least)
    when: item.address not in accepted.result | tojson
    arguments: {source: "{{ vars.log }}", text: "{{ item.address }}", limit: "{{ index + 1 }}"}
  - id: block
    tool: search_knowledge
    when: each.found
    arguments: {query: "block {{ each.results | selectattr('found') | map(attribute='item.address') | join(' ') }}"}
report:
  claims:
    - text: "{{ item.address }} failed {{ item.count }} times"
      for_each: failures.result.groups
      cites:
        - call: failures
          pointer: "{{ pointer('groups', index, 'count') }}"
          quote: "{{ item.count }}"
    - text: "No address that failed got in"
      kind: absence
      when: accepted.empty
      cites: [{call: accepted}]
    - text: "{{ item.item.address }} was last seen at {{ item.result.last }}"
      for_each: each.results
      when: item.found
      cites: [{call: "{{ item.call }}", pointer: /last}]
"""

GROUPS = [
    {"address": "183.62.140.253", "count": 286},
    {"address": "187.141.143.180", "count": 80},
    {"address": "5.36.59.76", "count": 8},
]


def answer(tool: str, arguments: Any) -> Any:
    if tool == "count_logs":
        return {"groups": GROUPS}
    if arguments.get("text", "").startswith("183"):
        return {"last": "11:04:43"}
    return {"pages": []} if tool == "search_knowledge" else None


def steps(*lines: str, claims: str = "    - {text: x, when: 'steps.a.found', cites: [{call: \"{{ 'a' }}\"}]}") -> str:
    return "\n".join(["name: t", "steps:", *(f"  - {line}" for line in lines), "report:", "  claims:", claims, ""])


async def test_a_runbook_runs_from_its_first_step_to_its_report() -> None:
    """Steps that need no answer go together; the others wait for the turn after it."""
    run = FakeRun(runbook=BRUTE_FORCE)
    turns = await follow(RunbookPlanner(), run, answer)
    assert [ids(turn) for turn in turns] == [["failures", "accepted"], ["each.1", "each.2"], ["block"], []]
    assert json.loads(turns[0].calls[0].arguments) == {
        "source": "sshd",
        "pattern": "Failed password .* from (?P<address>[0-9.]+)",
        "group_by": ["address"],
    }
    assert [json.loads(call.arguments)["limit"] for call in turns[1].calls] == [1, 2]
    assert json.loads(turns[2].calls[0].arguments) == {"query": "block 183.62.140.253"}
    assert texts(turns[3]) == [
        "183.62.140.253 failed 286 times",
        "187.141.143.180 failed 80 times",
        "5.36.59.76 failed 8 times",
        "No address that failed got in",
        "183.62.140.253 was last seen at 11:04:43",
    ]
    assert turns[3].report["claims"][1]["citations"] == [
        {"tool_call_id": "failures", "pointer": "/groups/1/count", "quote": "80"}
    ]


async def test_the_same_run_gives_the_same_turn() -> None:
    """On any worker, however often it is asked: nothing is kept but the store."""
    run = FakeRun(runbook=BRUTE_FORCE)
    await follow(RunbookPlanner(), run, answer)
    for length in range(len(run.past) + 1):
        earlier = FakeRun(runbook=BRUTE_FORCE, past=run.past[:length], records=run.records)
        assert await take_turn(RunbookPlanner(), earlier) == await take_turn(RunbookPlanner(), earlier)


async def test_only_results_that_the_runbook_reads_are_fetched() -> None:
    """Whether a call found something is known without them."""
    text = steps(
        "{id: a, tool: t}",
        "{id: b, tool: t, when: a.found}",
        "{id: c, tool: t, when: b.result.x == 1}",
    )
    run = FakeRun(runbook=text)
    turns = await follow(RunbookPlanner(), run, lambda tool, arguments: {"x": 1})
    assert [ids(turn) for turn in turns] == [["a"], ["b"], ["c"], []]
    assert set(run.read) == {"b"}


async def test_a_step_whose_condition_does_not_hold_is_skipped() -> None:
    """The next step does not wait for it."""
    text = steps("{id: a, tool: t}", "{id: b, tool: t, when: a.empty}", "{id: c, tool: t, when: b.skipped}")
    turns = await follow(RunbookPlanner(), FakeRun(runbook=text), lambda tool, arguments: {"x": 1})
    assert [ids(turn) for turn in turns] == [["a"], ["c"], []]


async def test_a_step_that_reads_a_failed_call_is_skipped_and_the_run_goes_on() -> None:
    """A condition may ask whether it failed; a template that needs its result has none."""
    text = steps(
        "{id: a, tool: t}",
        '{id: b, tool: t, arguments: {x: "{{ a.result.first }}"}}',
        '{id: c, tool: t, when: a.failed, arguments: {code: "{{ a.error.code }}"}}',
        claims="    - {text: x, cites: [{call: a}]}",
    )
    run = FakeRun(runbook=text)
    turns = await follow(RunbookPlanner(), run, lambda tool, arguments: arguments or failed())
    assert [ids(turn) for turn in turns] == [["a"], ["c"], []]
    assert json.loads(turns[1].calls[0].arguments) == {"code": "EXECUTION_TIMEOUT"}
    assert turns[2].remarks == [
        "step 'b' was skipped: step 'a' has no 'result': the call failed (EXECUTION_TIMEOUT)",
    ]


async def test_a_step_that_reads_what_was_not_found_is_skipped() -> None:
    """An empty answer is an answer; what is not in it is missing."""
    text = steps("{id: a, tool: t}", "{id: b, tool: t, for_each: a.result.groups}", "{id: c, tool: t, when: b.skipped}")
    turns = await follow(RunbookPlanner(), FakeRun(runbook=text), lambda tool, arguments: None)
    assert [ids(turn) for turn in turns] == [["a"], ["c"], []]


async def test_an_items_id_is_its_place_in_the_list() -> None:
    """Skipped items leave gaps, so that results, items and ids stay side by side."""
    text = steps(
        "{id: a, tool: t, for_each: [1, 2, '{{ 1 + 2 }}'], when: item != 2, arguments: {x: '{{ item }}'}}",
        "{id: b, tool: t, arguments: {all: '{{ a.results | pluck(\"status\") }}', calls: '{{ a.calls }}'}}",
    )
    turns = await follow(RunbookPlanner(), FakeRun(runbook=text, question="q"), lambda tool, arguments: arguments)
    assert ids(turns[0]) == ["a.1", "a.3"]
    assert json.loads(turns[1].calls[0].arguments) == {"all": ["READY", "SKIPPED", "READY"], "calls": ["a.1", "a.3"]}


async def test_a_for_each_over_nothing_makes_no_call() -> None:
    """And is skipped, not empty: nothing was looked at."""
    text = steps("{id: a, tool: t, for_each: '[]'}", "{id: b, tool: t, when: a.skipped and not a.empty}")
    turns = await follow(RunbookPlanner(), FakeRun(runbook=text), lambda tool, arguments: {"x": 1})
    assert [ids(turn) for turn in turns] == [["b"], []]


async def test_a_for_each_over_too_many_items_is_refused_and_the_report_says_so() -> None:
    """Looking at the first 64 silently would be a wrong answer; ending the run would lose the right ones."""
    text = steps(
        "{id: a, tool: t}",
        "{id: b, tool: t, for_each: a.result.rows}",
        "{id: c, tool: t, for_each: a.result.rows, when: item > 0}",
        "{id: d, tool: t, when: b.skipped}",
    )
    turns = await follow(RunbookPlanner(), FakeRun(runbook=text), lambda tool, arguments: {"rows": [0] * 65})
    assert [ids(turn) for turn in turns] == [["a"], ["d"], []]
    refusal = "its for_each has 65 items, at most 64; take some, as in list[:64]"
    assert texts(turns[2]) == ["x", f"Step 'b' of the runbook was not carried out: {refusal}."]
    assert turns[2].report["claims"][1]["citations"] == []


async def test_a_turn_stays_within_its_limits_of_calls_and_bytes() -> None:
    """The rest goes into the next turn; nothing is ever excess."""
    many = steps(
        "{id: a, tool: t, for_each: 'range(60)'}", "{id: b, tool: t, for_each: 'range(60)'}", "{id: c, tool: t}"
    )
    turns = await follow(RunbookPlanner(), FakeRun(runbook=many), lambda tool, arguments: {"x": 1})
    assert [len(turn.calls) for turn in turns] == [64, 57, 0]
    big = "x" * 15_000
    wide = steps(f"{{id: a, tool: t, for_each: 'range(40)', arguments: {{x: {big}}}}}")
    turns = await follow(RunbookPlanner(), FakeRun(runbook=wide), lambda tool, arguments: {"x": 1})
    assert [len(turn.calls) for turn in turns] == [17, 17, 6, 0]


async def test_an_id_that_is_no_name_is_read_with_underscores_or_through_steps() -> None:
    """`my_id` or `steps["my-id"]`; a computed id waits for every step before it."""
    text = steps(
        "{id: my-id, tool: t}",
        "{id: b, tool: t, when: 'steps[\"my-id\"].result.x == 1 and my_id.found'}",
        '{id: c, tool: t, when: \'steps[["my", "id"] | join("-")].found\'}',
        claims="    - {text: x, cites: [{call: my-id}]}",
    )
    turns = await follow(RunbookPlanner(), FakeRun(runbook=text), lambda tool, arguments: {"x": 1})
    assert [ids(turn) for turn in turns] == [["my-id"], ["b"], ["c"], []]
    assert texts(turns[3]) == ["x"]


async def test_a_refused_call_is_a_failed_step() -> None:
    """Whether admission, the boundary or the tool refused it."""
    text = steps("{id: a, tool: t}", "{id: b, tool: t, when: 'a.error.code == \"BUDGET_EXCEEDED\"'}")
    run = FakeRun(runbook=text)
    refusal = failed(ErrorCode.BUDGET_EXCEEDED, "no calls are left")
    turns = await follow(RunbookPlanner(), run, lambda tool, arguments: refusal)
    assert [ids(turn) for turn in turns] == [["a"], ["b"], []]


async def test_a_call_that_was_excess_is_not_asked_for_again() -> None:
    """It was refused, and that is its one result."""
    run = FakeRun(runbook=steps("{id: a, tool: t}"), past=[PastTurn(1, TurnMode.PLAN, (), (), ("a",))])
    assert (await take_turn(RunbookPlanner(), run)).report == {"claims": []}


async def test_a_record_that_is_gone_fails_its_step() -> None:
    """A step with READY in the history and no record is not read as empty."""
    text = steps("{id: a, tool: t}", "{id: b, tool: t, when: a.failed or a.result.x}")
    run = FakeRun(runbook=text)
    plan = plan_input()
    turn = await take_turn(RunbookPlanner(), run)
    run.settle(bound_turn(turn, turn_key=turn_key(plan), plan=plan), lambda tool, arguments: {"x": 0})
    run.records.clear()
    assert ids(await take_turn(RunbookPlanner(), run)) == ["b"]


async def test_a_call_without_an_outcome_does_not_stop_the_runbook() -> None:
    """A run that ended a turn early concludes."""
    run = FakeRun(runbook=steps("{id: a, tool: t}"))
    run.past = [PastTurn(1, TurnMode.PLAN, (ToolCall(tool_call_id="a", tool_name="t"),), ())]
    assert (await take_turn(RunbookPlanner(), run)).report == {"claims": []}


async def test_a_broken_runbook_is_a_planner_error() -> None:
    """It was refused before the run; a run that has one all the same ends in order."""
    for text in (None, "name: x", "{{"):
        with pytest.raises(PlannerError):
            await take_turn(RunbookPlanner(), FakeRun(runbook=text))


async def test_a_runbook_that_needs_too_much_work_is_a_planner_error() -> None:
    """64 items, each sorting a long list many times over: the meter ends it."""
    sort = " | sort" * 40
    text = steps(
        "{id: a, tool: t}", f"{{id: b, tool: t, for_each: 'range(64)', when: a.result.rows{sort} | length > 0}}"
    )
    with pytest.raises(PlannerError, match="units of work in one turn"):
        await follow(RunbookPlanner(), FakeRun(runbook=text), lambda tool, arguments: {"rows": list(range(20_000))})
