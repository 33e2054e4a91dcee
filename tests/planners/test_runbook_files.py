"""What a runbook file may hold, and what is said of one that cannot run."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.contracts import RUNBOOK_MAX_BYTES, CatalogEntry
from activities.planners.runbook import RunbookError, RunbookPlanner, load_runbook
from activities.planners.runbook.document import read_document
from tests.planners.support import FakeRun

MINIMAL = """\
name: minimal
steps:
  - id: a
    tool: search_logs
report:
  claims:
    - text: something
      cites: [{call: a}]
"""

SEARCH_LOGS = CatalogEntry(
    name="search_logs",
    description="",
    arguments_schema={
        "type": "object",
        "properties": {
            "source": {"type": "string"},
            "limit": {"type": "integer", "maximum": 100},
            "window": {"$ref": "#/$defs/window"},
        },
        "required": ["source"],
        "additionalProperties": False,
        "$defs": {"window": {"type": "object", "properties": {"minutes": {"type": "integer"}}}},
    },
    result_schema={
        "type": "object",
        "properties": {
            "matches": {
                "type": "array",
                "items": {"type": "object", "properties": {"text": {}}, "additionalProperties": False},
            },
            "total": {"type": "integer"},
        },
        "additionalProperties": False,
    },
)


def errors(text: str, *catalog: CatalogEntry) -> tuple[str, ...]:
    with pytest.raises(RunbookError) as raised:
        load_runbook(text, "incident.yaml", catalog or None)
    return raised.value.errors


def runbook(step: str = "", claim: str = "", head: str = "") -> str:
    """Write a runbook: step fields from line 5, claim fields after them."""
    return f"""\
name: test
{head}steps:
  - id: a
    tool: search_logs
{step}
report:
  claims:
    - text: something
      cites: [{{call: a}}]
{claim}
"""


def test_a_minimal_runbook_loads() -> None:
    """A name, a step, a claim that cites it."""
    loaded = load_runbook(MINIMAL)
    assert (loaded.name, loaded.question, [step.id for step in loaded.steps]) == ("minimal", None, ["a"])


def test_every_error_has_file_and_line_and_all_are_told_at_once() -> None:
    """In the order of lines, each with what would mend it."""
    text = """\
name: broken
vars: {log: sshd}
steps:
  - id: logins
    tool: search_logs
    arguments:
      source: "{{ vars.lag }}"
      text: "{{ later.result }}"
  - id: logins
    tool: search_logs
    when: logns.found
  - id: later
    tool: search_logs
    for_each: logins.result.matches
    arguments:
      text: |
        first line
        {{ itm.text }}
      more: "{{ 'x' | upcase }}"
  - id: later.1
    tool: Search
report:
  claims:
    - text: "{{ later.result }}"
      cites:
        - call: nothing
        - call: later
        - {call: logins, pointer: matches/0}
"""
    assert errors(text) == (
        "incident.yaml:7: there is no var 'lag'; did you mean 'log'?",
        "incident.yaml:8: step 'later' has not run by then; only steps before this one can be read",
        "incident.yaml:9: id 'logins' stands twice, first on line 4; choose another",
        "incident.yaml:11: there is no step or name 'logns'; did you mean 'logins'?",
        "incident.yaml:18: there is no step or name 'itm'; did you mean 'item'?",
        "incident.yaml:19: there is no filter 'upcase'; there are: " + _filters(),
        "incident.yaml:20: id 'later.1' clashes with a call of step 'later', which has for_each",
        "incident.yaml:21: 'Search' is no tool name; a name is written out, without expressions",
        "incident.yaml:24: step 'later' has no field 'result'; it has for_each, use .results[0].result",
        "incident.yaml:26: there is no step 'nothing' to cite; there are: later, later.1, logins",
        'incident.yaml:27: step \'later\' has for_each: cite one of its calls, as in "later.1" or "{{ item.call }}"',
        "incident.yaml:28: pointer 'matches/0' must begin with /, as in /groups/0/count",
    )


def _filters() -> str:
    from activities.planners.runbook.filters import FILTERS

    return ", ".join(sorted(FILTERS)[:24])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "1: a runbook is an object with the fields name, steps and report"),
        ("- a", "1: a runbook is an object with the fields name, steps and report"),
        ("name: x\nsteps: []\n", "1: runbook: the field 'report' is missing"),
        ("name: x\nname: y\n", "2: 'name' stands twice, first on line 1; remove one"),
        ("name: x\nsteps: {{ y }}\n", '2: put quotes around a value that begins with {{, as in "{{ x }}"'),
        ("name: x: y\n", "1: not YAML: mapping values are not allowed here; put quotes around a value that holds"),
        ("name: &n x\nquestion: *n\n", "1: anchors and aliases (&x, *x) are not available"),
        ("name: !!python/object/apply:os.system [x]\n", "1: the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
        ("name: x\n---\nname: y\n", "2: a runbook is one YAML document"),
        ("name: 'x\n", "2: not YAML: found unexpected end of stream"),
        ("name: \x00\n", "1: not YAML: unacceptable character #x0000"),
        ("a: " + "[" * 100, "1: nested deeper than 24 levels"),
        ("name: 1e999\n", "1: 1e999 is too large a number"),
        (
            "x" * (RUNBOOK_MAX_BYTES + 1),
            f"1: the runbook has {RUNBOOK_MAX_BYTES + 1} bytes; at most {RUNBOOK_MAX_BYTES}",
        ),
        (MINIMAL.replace("name: minimal", "name: 5"), "1: name: expected a text (put quotes around it)"),
        (MINIMAL.replace("    tool:", "    tol:"), "4: steps[0]: there is no field 'tol'; did you mean 'tool'?"),
        (MINIMAL.replace("call: a", "cal: a"), "8: report.claims[0].cites[0]: there is no field 'cal'; did you mean"),
        (
            MINIMAL.replace("something\n", "something\n      when: 5\n"),
            "8: report.claims[0].when: expected a text (put",
        ),
        (
            MINIMAL.replace("something\n", "something\n      kind: guess\n"),
            "8: report.claims[0].kind: expected 'finding' or",
        ),
        (runbook("    for_each: [" + "1, " * 65 + "]"), "5: for_each has 65 items; at most 64"),
        (runbook(head="").replace("id: a", "id: item"), "3: id 'item' means something else in expressions"),
        (runbook().replace("id: a", "id: a b"), "3: id 'a b': 1..250 printable ASCII characters without space"),
        (
            runbook("  - {id: x-1, tool: t}\n  - {id: x_1, tool: t}"),
            "6: id 'x_1' is read as 'x_1', as is 'x-1', first on line 5",
        ),
        (runbook("    when: a b"), "5: there is text after the end of the expression"),
        (runbook("    when: 'vars.'"), "5: bad expression: "),
        (runbook("    when: item.x"), "5: 'item' exists only under for_each"),
        (runbook('    arguments: {x: "{{ a }"}'), "5: bad template: "),
        (runbook('    arguments: {x: "{{ a.result }}"}'), "5: step 'a' has not run by then"),
        (runbook('    arguments: {x: "{{ range(1, 2, 3) }}"}'), "5: function 'range': too many positional arguments"),
        (runbook('    arguments: {x: "{{ open(1) }}"}'), "5: there is no function 'open'"),
        (runbook("    arguments: {x: \"{{ [1] | map('nope') }}\"}"), "5: 'map' does not know the filter 'nope'"),
        (runbook(claim="      when: a.result.x is foo"), "10: there is no test 'foo'"),
        (runbook(claim="      when: a.fund"), "10: step 'a' has no field 'fund'; did you mean 'found'?"),
    ],
)
def test_what_cannot_run_is_said_with_its_line(text: str, error: str) -> None:
    """Before the run starts."""
    assert any(line.startswith(f"incident.yaml:{error}") for line in errors(text)), errors(text)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (
            "    arguments: {sorce: x, source: y}",
            "5: search_logs: there is no argument 'sorce'; did you mean 'source'?",
        ),
        ("    arguments: {limit: 5}", "5: search_logs: the argument 'source' is missing"),
        ("    arguments: {source: x, limit: many}", "5: search_logs: arguments.limit: expected integer"),
        (
            "    arguments:\n      source: x\n      limit: 101",
            "7: search_logs: arguments.limit: expected a number <= 100",
        ),
        (
            "    arguments: {source: x, window: {minutes: no}}",
            "5: search_logs: arguments.window.minutes: expected integer",
        ),
    ],
)
def test_literal_arguments_are_held_against_the_tools_schema(step: str, error: str) -> None:
    """`no` is a text: YAML 1.2, not 1.1."""
    (line,) = errors(runbook(step), SEARCH_LOGS)
    assert line.startswith(f"incident.yaml:{error}")


def test_arguments_that_a_template_will_give_are_left_to_the_boundary() -> None:
    """Only their names are known before the run."""
    text = runbook('    arguments: {source: "{{ vars.x }}", limit: "{{ vars.x }}"}', head="vars: {x: y}\n")
    load_runbook(text, catalog=[SEARCH_LOGS])


def test_an_unknown_tool_is_told_with_the_nearest_one() -> None:
    """Only where the catalog is known; the command line may check a file without one."""
    text = runbook().replace("search_logs", "serch_logs")
    load_runbook(text)
    assert errors(text, SEARCH_LOGS) == ("incident.yaml:4: there is no tool 'serch_logs'; did you mean 'search_logs'?",)


def test_a_path_that_the_tools_result_cannot_have_is_an_error() -> None:
    """A typo would otherwise skip the claim at the end of a long run."""
    head = "    arguments: {source: x}"
    claim = '      when: a.result.totl > 0 and a.result.matches[0].txt == "x" and a.result.matches[0].text'
    assert errors(runbook(head, claim), SEARCH_LOGS) == (
        "incident.yaml:10: the result of 'a' (search_logs) has no field 'totl'; did you mean 'total'?",
        "incident.yaml:10: the result of 'a' (search_logs) has no field 'txt'; did you mean 'text'?",
    )


def test_values_follow_yaml_1_2() -> None:
    """`no` and `on` are texts, `12:30` and dates too, octal needs 0o, underscores make no number."""
    text = (
        "{a: no, on: yes, b: 12:30:45, c: 2015-07-29, d: 0o17, e: 017, f: 1_000, g: ~, h: True, i: 0x1F, j: 1e3, k: .5}"
    )
    assert read_document(text).data == {
        "a": "no",
        "on": "yes",
        "b": "12:30:45",
        "c": "2015-07-29",
        "d": 15,
        "e": 17,
        "f": "1_000",
        "g": None,
        "h": True,
        "i": 31,
        "j": 1000.0,
        "k": 0.5,
    }


def test_a_merge_key_is_an_unknown_field() -> None:
    """YAML 1.2 has none."""
    assert errors(MINIMAL + "<<: {}\n")[0].startswith("incident.yaml:9: runbook: there is no field '<<'")


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None), max_size=60) | st.text("[]{}:,-#&*!|>'\"%@ \n\tab{{}}", max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    """As a file, as a template or as an expression: a `RunbookError` or a runbook, nothing else."""
    for whole in (
        text,
        MINIMAL.replace("something", text),
        runbook(f"    when: {text!r}\n    arguments: {{x: {text!r}}}"),
    ):
        with contextlib.suppress(RunbookError):
            load_runbook(whole)


def test_the_planner_checks_the_brief_before_the_run() -> None:
    """With the catalog, under the runbook's name."""
    planner = RunbookPlanner()
    closed = SEARCH_LOGS.model_copy(update={"arguments_schema": {"type": "object"}})
    assert planner.check(FakeRun(runbook=MINIMAL, catalog=(closed,)).brief) is None
    assert planner.check(FakeRun().brief) == "the runbook planner needs a runbook"
    broken: Any = planner.check(FakeRun(runbook=MINIMAL, catalog=(SEARCH_LOGS,)).brief)
    assert broken == "incident.yaml:3: search_logs: the argument 'source' is missing"
