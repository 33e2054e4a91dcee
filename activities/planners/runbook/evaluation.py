"""Computes expressions and templates over JSON values; no other object is reachable.

Above: `progress` and `reporting`. Below: `values`, `functions`. Each node costs at least one unit of the
meter and there are no loops in the language, so every evaluation ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from jinja2 import nodes

from activities.planners.runbook.expressions import Expression, Template
from activities.planners.runbook.filters import FILTERS
from activities.planners.runbook.functions import FUNCTIONS
from activities.planners.runbook.predicates import COMPARISONS, TESTS
from activities.planners.runbook.values import (
    CannotEvaluate,
    Meter,
    Missing,
    View,
    bounded_number,
    bounded_size,
    is_true,
    kind_of,
    lookup,
    number,
    to_text,
)
from boundary.contracts import JsonValue


class Scope:
    """The names an expression may read, and the meter of the turn."""

    def __init__(self, names: Mapping[str, JsonValue], meter: Meter) -> None:
        self.names = names
        self.meter = meter

    def having(self, **names: JsonValue) -> Scope:
        """Make a scope with some names more."""
        return Scope({**self.names, **names}, self.meter)

    def value(self, expression: Expression) -> JsonValue:
        """Evaluate an expression.

        Raises:
            CannotEvaluate: it has no value for the data at hand.
            TooMuchWork: the meter ran out.
        """
        return _in_our_words(lambda: self.compute(expression.node))

    def holds(self, condition: Expression | bool | None) -> bool:
        """Evaluate a condition; no condition holds.

        Raises:
            CannotEvaluate: it has no value for the data at hand.
        """
        if condition is None or isinstance(condition, bool):
            return condition is not False
        return is_true(self.value(condition))

    def rendered(self, template: Template) -> JsonValue:
        """Evaluate a template; a single expression keeps its type.

        Raises:
            CannotEvaluate: it has no value for the data at hand.
        """
        only = template.parts[0] if template.native else None
        if not isinstance(only, nodes.Expr):
            return self.text(template)
        value = self.value(Expression(only))
        if isinstance(value, View):
            raise CannotEvaluate(f"{value.label} is no value; name a field, as in .result")
        return value

    def text(self, template: Template) -> str:
        """Evaluate a template as text, whatever its type.

        Raises:
            CannotEvaluate: it has no value for the data at hand.
        """
        return _in_our_words(lambda: self.joined(template.parts))

    def compute(self, node: nodes.Expr) -> JsonValue:
        """Evaluate one node; Python's own errors pass through."""
        self.meter.spend()
        return _RULES[type(node)](self, node)

    def joined(self, parts: tuple[str | nodes.Expr, ...]) -> str:
        """Join literal texts and the texts of expressions; Python's own errors pass through."""
        texts: list[str] = []
        size = 0
        for part in parts:
            texts.append(part if isinstance(part, str) else to_text(self.compute(part), self.meter))
            size = bounded_size(size + len(texts[-1]))
        return "".join(texts)


def _in_our_words(evaluate: Callable[[], Any]) -> Any:
    """Turn what Python says of unfit operands into a reason for a person."""
    try:
        return evaluate()
    except ZeroDivisionError:
        raise CannotEvaluate("division by zero") from None
    except RecursionError:
        raise CannotEvaluate("the values are nested too deeply") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CannotEvaluate(f"the values do not fit: {str(error)[:200]}") from None


def _const(scope: Scope, node: nodes.Const) -> JsonValue:
    return node.value


def _name(scope: Scope, node: nodes.Name) -> JsonValue:
    if node.name not in scope.names:
        raise Missing(f"there is no {node.name!r} here")
    return scope.names[node.name]


def _field(scope: Scope, node: nodes.Getattr) -> JsonValue:
    return lookup(scope.compute(node.node), node.attr)


def _item(scope: Scope, node: nodes.Getitem) -> JsonValue:
    owner = scope.compute(node.node)
    if not isinstance(node.arg, nodes.Slice):
        return lookup(owner, scope.compute(node.arg))
    if not isinstance(owner, list | str):
        raise CannotEvaluate(f"{kind_of(owner)} cannot be cut")
    whole = cast("list[JsonValue] | str", owner)
    bounds = [None if part is None else scope.compute(part) for part in (node.arg.start, node.arg.stop, node.arg.step)]
    cut = whole[slice(*bounds)]
    scope.meter.spend(1 + len(cut) // 16)
    return cut


def _list(scope: Scope, node: nodes.List | nodes.Tuple) -> list[JsonValue]:
    return [scope.compute(item) for item in node.items]


def _object(scope: Scope, node: nodes.Dict) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for pair in node.items:
        key = scope.compute(pair.key)
        if not isinstance(key, str):
            raise CannotEvaluate("a key of an object must be a text")
        fields[key] = scope.compute(pair.value)
    return fields


def _arguments(
    scope: Scope, node: nodes.Call | nodes.Filter | nodes.Test
) -> tuple[list[JsonValue], dict[str, JsonValue]]:
    return [scope.compute(arg) for arg in node.args], {str(one.key): scope.compute(one.value) for one in node.kwargs}


def _call(scope: Scope, node: nodes.Call) -> JsonValue:
    args, kwargs = _arguments(scope, node)
    name = node.node.name if isinstance(node.node, nodes.Name) else ""
    return FUNCTIONS[name](scope.meter, *args, **kwargs)


def _filter(scope: Scope, node: nodes.Filter) -> JsonValue:
    if node.node is None:
        raise CannotEvaluate("a filter needs a value")
    args, kwargs = _arguments(scope, node)
    try:
        value = scope.compute(node.node)
    except Missing:
        if node.name != "default":
            raise
        return args[0] if args else kwargs.get("default", "")
    return FILTERS[node.name](scope.meter, value, *args, **kwargs)


def _test(scope: Scope, node: nodes.Test) -> bool:
    if node.name in ("defined", "undefined"):
        try:
            scope.compute(node.node)
        except Missing:
            return node.name == "undefined"
        return node.name == "defined"
    args, kwargs = _arguments(scope, node)
    return TESTS[node.name](scope.meter, scope.compute(node.node), *args, **kwargs)


def _comparison(scope: Scope, node: nodes.Compare) -> bool:
    left = scope.compute(node.expr)
    for operand in node.ops:
        right = scope.compute(operand.expr)
        if not COMPARISONS[operand.op](scope.meter, left, right):
            return False
        left = right
    return True


def _and(scope: Scope, node: nodes.And) -> JsonValue:
    left = scope.compute(node.left)
    return scope.compute(node.right) if is_true(left) else left


def _or(scope: Scope, node: nodes.Or) -> JsonValue:
    left = scope.compute(node.left)
    return left if is_true(left) else scope.compute(node.right)


def _not(scope: Scope, node: nodes.Not) -> bool:
    return not is_true(scope.compute(node.node))


def _choice(scope: Scope, node: nodes.CondExpr) -> JsonValue:
    if is_true(scope.compute(node.test)):
        return scope.compute(node.expr1)
    return "" if node.expr2 is None else scope.compute(node.expr2)


def _negative(scope: Scope, node: nodes.Neg) -> int | float:
    return -number(scope.compute(node.node))


def _positive(scope: Scope, node: nodes.Pos) -> int | float:
    return number(scope.compute(node.node))


def _concat(scope: Scope, node: nodes.Concat) -> str:
    return scope.joined(tuple(node.nodes))


def _sum(scope: Scope, node: nodes.Add) -> JsonValue:
    left, right = scope.compute(node.left), scope.compute(node.right)
    if isinstance(left, str) and isinstance(right, str):
        bounded_size(len(left) + len(right))
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        both: list[JsonValue] = [*left, *right]
        scope.meter.spend(len(both))
        return both
    return bounded_number(number(left) + number(right))


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[Scope, Any], int | float]:
    def rule(scope: Scope, node: nodes.BinExpr) -> int | float:
        return bounded_number(compute(number(scope.compute(node.left)), number(scope.compute(node.right))))

    return rule


_RULES: dict[type[nodes.Node], Callable[[Scope, Any], JsonValue]] = {
    nodes.Const: _const,
    nodes.Name: _name,
    nodes.Getattr: _field,
    nodes.Getitem: _item,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Dict: _object,
    nodes.Call: _call,
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.Compare: _comparison,
    nodes.And: _and,
    nodes.Or: _or,
    nodes.Not: _not,
    nodes.CondExpr: _choice,
    nodes.Neg: _negative,
    nodes.Pos: _positive,
    nodes.Concat: _concat,
    nodes.Add: _sum,
    nodes.Sub: _arithmetic(lambda left, right: left - right),
    nodes.Mul: _arithmetic(lambda left, right: left * right),
    nodes.Div: _arithmetic(lambda left, right: left / right),
    nodes.FloorDiv: _arithmetic(lambda left, right: left // right),
    nodes.Mod: _arithmetic(lambda left, right: left % right),
}
"""How each node is computed; `expressions` lets no other node through, beside parts of these."""
