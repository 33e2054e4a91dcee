"""The expression language: Jinja2's grammar over JSON values, and nothing that could hang or escape."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.planners.runbook.evaluation import Scope
from activities.planners.runbook.expressions import ExpressionError, parse_expression, parse_template
from activities.planners.runbook.values import CannotEvaluate, Meter, Missing, TooMuchWork
from activities.planners.runbook.views import answered, skipped
from tests.planners.support import failed, record_of

GROUPS = [
    {"key": "183.62.140.253", "count": 286},
    {"key": "187.141.143.180", "count": 80},
    {"key": "103.99.0.122", "count": 36},
]
NAMES: dict[str, Any] = {
    "x": 3,
    "word": "Failed password for root from 10.0.0.1 port 22",
    "groups": GROUPS,
    "tables": {"items": [1, 2], "keys": "k", "a/b": 1},
    "nested": [[1, 2], [3]],
    "logins": answered("step 'logins'", record_of("logins", "count_logs", {"groups": GROUPS})),
    "lost": answered("step 'lost'", record_of("lost", "count_logs", failed())),
    "unused": skipped("step 'unused'", "its `when` does not hold"),
    "big": "y" * 60_000,
    "long": list(range(5_000)),
}


def value(source: str) -> Any:
    return Scope(NAMES, Meter()).value(parse_expression(source))


def rendered(source: str) -> Any:
    return Scope(NAMES, Meter()).rendered(parse_template(source))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("7 // 2 + 7 % 4", 6),
        ("-x", -3),
        ("'a' + 'b' ~ 1 ~ none ~ true", "ab1nulltrue"),
        ("[1] + [2, 3]", [1, 2, 3]),
        ("{'a': x}.a", 3),
        ("1 < x <= 3 and x != 4", True),
        ("x if x > 5 else 'small'", "small"),
        ("x in [1, 2, 3] and 4 not in [1]", True),
        ("'Failed' in word", True),
        ("'key' in groups[0]", True),
        ("not groups", False),
        ("groups[0].key", "183.62.140.253"),
        ("groups[-1]['count']", 36),
        ("groups[:2] | length", 2),
        ("word[:6]", "Failed"),
        ("tables.items", [1, 2]),
        ("tables.keys", "k"),
        ("nothing | default('none')", "none"),
        ("groups[9].key | default('none')", "none"),
        ("0 | default(5, true)", 5),
        ("groups[9] is defined", False),
        ("groups[0].nope is undefined", True),
        ("groups | map(attribute='key') | join(', ')", "183.62.140.253, 187.141.143.180, 103.99.0.122"),
        ("groups | pluck('count') | sum", 402),
        ("groups | sum(attribute='count')", 402),
        ("groups | selectattr('count', '>', 50) | pluck('count')", [286, 80]),
        ("groups | rejectattr('count', '>', 50) | pluck('count')", [36]),
        ("[1, 0, 2] | select | list", [1, 2]),
        ("['a', 'bc'] | select('search', '^b') | first", "bc"),
        ("['a', 'B'] | map('upper') | list", ["A", "B"]),
        ("groups | min(attribute='count')", GROUPS[2]),
        ("groups | sort(attribute='key') | pluck('key') | last", "187.141.143.180"),
        ("[3, 1, 2] | sort(reverse=true)", [3, 2, 1]),
        ("[1, true, 1.0, '1', 1] | unique | length", 4),
        ("nested | flatten | reverse", [3, 2, 1]),
        ("{'a': 1} | items", [["a", 1]]),
        ("word | regex_first('from (\\S+)', 1)", "10.0.0.1"),
        ("word | regex_first('(?P<user>root)', 'user')", "root"),
        ("word | regex_all('[0-9]+') | map('int') | max", 22),
        ("word is search('password') and word is contains('root')", True),
        ("'12' | int + 1", 13),
        ("'1.5' | float", 1.5),
        ("2.567 | round(1)", 2.6),
        ("2.5 | round | string", "2"),
        ("' a ' | trim | upper | replace('A', 'bb')", "BB".lower()),
        ("'a,b' | split(',')", ["a", "b"]),
        ("'abcdef' | truncate(3)", "ab…"),
        ("groups[0] | tojson", '{"key":"183.62.140.253","count":286}'),
        ("'a\"b' | tojson", '"a\\"b"'),
        ("find_index(groups, 'key', '103.99.0.122')", 2),
        ("find_index(groups, 'count', 100, '<')", 1),
        ("find_index(['a', 'b'], none, 'b')", 1),
        ("pointer('groups', find_index(groups, 'count', 80), 'count')", "/groups/1/count"),
        ("pointer('a/b', '~')", "/a~1b/~0"),
        ("range(3)", [0, 1, 2]),
        ("range(2, 4)", [2, 3]),
        ("logins.result.groups[0].count", 286),
        ("logins.found and not logins.empty", True),
        ("lost.failed and lost.error.code == 'EXECUTION_TIMEOUT'", True),
        ("[logins, lost] | selectattr('failed') | pluck('call')", ["lost"]),
        ("unused.status", "SKIPPED"),
        ("lost.result.groups | default([])", []),
        ("18446744073709551617 + 0", 2**64 + 1),
    ],
)
def test_expressions_have_the_values_one_expects(source: str, expected: Any) -> None:
    """Fields are data: `tables.items` is the field, never a method."""
    result = value(source)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ x }}", 3),
        ("  {{ groups[:1] }}\n", GROUPS[:1]),
        ("{{ none }}", None),
        ("x = {{ x }}", "x = 3"),
        ("{{ x }}{{ x }}", "33"),
        ("{{ true }} {{ none }} {{ [1, 'a'] }}", 'true null [1,"a"]'),
        ("plain", "plain"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("a{# a remark #}b", "ab"),
        ("{{ '{{' }} }}", "{{ }}"),
    ],
)
def test_a_text_that_is_one_expression_keeps_its_type(source: str, expected: Any) -> None:
    """Anything else is a text, its values written as JSON writes them."""
    assert rendered(source) == expected


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("groups[9].key", "there is no item 9, only 3"),
        ("groups[0].kee", "there is no field 'kee'; there are: key, count"),
        ("lost.result.groups", "step 'lost' has no 'result': the call failed (EXECUTION_TIMEOUT)"),
        ("unused.result", "step 'unused' has no 'result': it was skipped: its `when` does not hold"),
        ("word | regex_first('nope')", "nothing matches 'nope'"),
        ("find_index(groups, 'key', 'x')", "find_index found no item whose key == x"),
        ("[] | first", "there is no item 0, only 0"),
        ("none.x", "null has no field 'x'"),
    ],
)
def test_what_is_not_there_is_missing_with_a_reason(source: str, reason: str) -> None:
    """The reason names the step and why it has nothing."""
    with pytest.raises(Missing) as raised:
        value(source)
    assert raised.value.message == reason


@pytest.mark.parametrize(
    "source",
    [
        "1 / 0",
        "1 + 'a'",
        "'a' < 1",
        "true + 1",
        "'abc' | int",
        "groups | sum",
        "[1, 'a'] | sort",
        "logins and true",
        "word | regex_first('(?=x)')",
        "word | regex_first('x', 3)",
        "1e308 * 10",
        "5 | length",
        "[1] | map('replace')",
        "[1] | map('map', 'nope')",
        "['a'] | map('select', 'nope')",
        "word[::0]",
        "{1: 2}",
        "'\\ud800' | regex_first('x')",
        "9" * 4200 + " * " + "9" * 4200,
        "range(9999)",
        "[logins] | tojson",
    ],
)
def test_what_does_not_fit_cannot_be_evaluated(source: str) -> None:
    """One kind of failure, whatever Python would have raised."""
    with pytest.raises(CannotEvaluate):
        value(source)


HOSTILE = [
    "''.__class__.__mro__",
    "''['__class__']",
    "logins.__class__",
    "logins.fields",
    "groups.append(1)",
    "'{0.__class__}'.format(x)",
    "'%s' | format(x)",
    "self",
    "range.__globals__",
    "cycler.__init__.__globals__",
    "lipsum(999999)",
    "x | attr('__class__')",
    "groups | map(attribute='__class__') | list",
    "(1).__class__",
    "namespace()",
    "joiner()",
    "dict(a=1)",
    "[].__len__()",
    "x.real",
    "'%1000000000d' % 1",
    "'a' * 1000000000",
    "[1] * 1000000000",
    "9 ** 999999999",
    "'x'.ljust(1000000000)",
    "'x' | center(1000000000)",
    "range(1000000000)",
    "range(1000) | map('default', range(1000), true) | map('string') | join",
    "big | replace('y', big)",
    "big ~ big ~ big",
    "[big, big, big] | join(big)",
    "[big, big] | tojson",
    "long | select('in', long) | select('in', long)",
    "word | regex_all('((((((((((a{100}){100}){100})')",
    "(" * 3000 + "1" + ")" * 3000,
    "[" * 3000,
    "1" + "+1" * 3000,
    "not " * 3000 + "1",
    "x" + "[0]" * 3000,
    "1" + "|abs" * 3000,
    "9" * 9000,
]


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
@pytest.mark.parametrize("source", HOSTILE)
def test_a_hostile_expression_neither_escapes_nor_hangs(source: str) -> None:
    """No Python object is reachable, nothing grows without bound, and the worker has its answer at once."""
    began = time.monotonic()
    with pytest.raises((ExpressionError, CannotEvaluate, TooMuchWork)):
        value(source)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(10 ** 9) %}x{% endfor %}",
        "{% set x = 1 %}",
        "{% if x %}a{% endif %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% include 'x' %}",
        "{% import 'os' as os %}",
        "{% extends 'x' %}",
        "{% call f() %}{% endcall %}",
        "{% filter upper %}a{% endfilter %}",
        "{% with a = 1 %}{% endwith %}",
        "{{ 'x' }}" * 5_000,
        "{{ big }}{{ big }}",
    ],
)
def test_a_hostile_template_neither_escapes_nor_hangs(source: str) -> None:
    """Statements do not exist: `for_each`, `when` and filters say all that is needed."""
    with pytest.raises((ExpressionError, CannotEvaluate)):
        rendered(source)


def test_the_meter_is_a_turns_and_counts_the_same_each_time() -> None:
    """Work, not time, ends an evaluation, so that a retried turn ends the same."""
    expression = parse_expression("long | sort | reverse | length")
    spent = []
    for _ in range(2):
        meter = Meter(10**6)
        Scope(NAMES, meter).value(expression)
        spent.append(meter._left)  # pyright: ignore[reportPrivateUsage] - the count is what is tested
    assert spent[0] == spent[1] < 10**6
    with pytest.raises(TooMuchWork, match="more than 1000 units"):
        Scope(NAMES, Meter(1000)).value(expression)


WORDS = (
    "x word groups logins lost nothing 1 'a' [ ] ( ) { } {{ }} | . : , + * / % ~ == < in not is if else and map first "
    "sort default select join result key 0 - regex_first range find_index defined none"
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join) | st.text(max_size=20))
def test_any_expression_has_a_value_or_one_of_our_errors(source: str) -> None:
    """Whatever is written, and whatever the data is."""
    for evaluate in (value, rendered):
        with contextlib.suppress(ExpressionError, CannotEvaluate):
            evaluate(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"'\bfoo\d+\['", r"\bfoo\d+\["),
        (r"'\x41\1\a\f\N'", r"\x41\1\a\f\N"),
        (r"'one\ntwo\tthree\r'", "one\ntwo\tthree\r"),
        (r"'it\'s'", "it's"),
        (r'"say \"so\""', 'say "so"'),
        (r"'\\'", r"\\"),
        (r"'é\u00e9'", r"é\u00e9"),
        (r"'x foobar' | regex_first('\bfoo\w+')", "foobar"),
    ],
)
def test_a_backslash_in_a_string_is_a_backslash(source: str, expected: str) -> None:
    """Patterns stand in strings as they are; only the quote itself is written with a backslash."""
    assert value(source) == expected
    assert rendered("{{ " + source + " }}") == expected
