"""Parses expressions and templates with Jinja2's grammar and says what each of them reads.

Jinja2 is the parser only: nothing is compiled and no Python object is reachable (see
`docs/decisions/0010-runbook-expressions.md`). What the grammar allows beyond values, filters, tests and a few
functions is refused here, before a run starts. Above: `loader`. Below: `evaluation` computes the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jinja2 import TemplateSyntaxError, nodes
from jinja2.parser import Parser

from activities.planners.runbook.filters import FILTERS
from activities.planners.runbook.functions import FUNCTIONS, signature_fault
from activities.planners.runbook.grammar import Grammar
from activities.planners.runbook.predicates import TESTS, Function
from activities.planners.runbook.suggest import suggest

TEMPLATE_MAX = 16 * 1024
"""Characters of one expression or template; no call may carry more argument text."""

NODES_MAX = 1000
"""Parts of one expression; with no loops in the language it bounds the work of evaluating it."""

DEPTH_MAX = 50
"""Nesting of one expression."""

_GRAMMAR = Grammar(keep_trailing_newline=True)

_VALUES = (
    nodes.Const,
    nodes.Name,
    nodes.List,
    nodes.Tuple,
    nodes.Dict,
    nodes.Pair,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Slice,
    nodes.Call,
    nodes.Keyword,
    nodes.Filter,
    nodes.Test,
    nodes.Compare,
    nodes.Operand,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Neg,
    nodes.Pos,
    nodes.Add,
    nodes.Sub,
    nodes.Mul,
    nodes.Div,
    nodes.FloorDiv,
    nodes.Mod,
    nodes.Concat,
    nodes.CondExpr,
    nodes.TemplateData,
)
"""All there is in the language; everything else Jinja2 knows is refused."""


@dataclass(frozen=True)
class Use:
    """A name an expression reads, and how far into it."""

    name: str
    path: tuple[str | int | None, ...]
    """Keys and indexes the source names, None for one known only when it is evaluated; empty: the name as a whole."""
    line: int
    """Within the text, from 1."""


@dataclass(frozen=True)
class Expression:
    """One parsed expression."""

    node: nodes.Expr
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Template:
    """A text with `{{ expressions }}` in it."""

    parts: tuple[str | nodes.Expr, ...]
    uses: tuple[Use, ...] = ()
    native: bool = False
    """The text is one expression and nothing else: its value keeps its type."""


class ExpressionError(Exception):
    """The expression cannot be used.

    Attributes:
        faults: line within the text (from 1) and what is wrong, for each fault.
    """

    def __init__(self, faults: list[tuple[int, str]]) -> None:
        super().__init__(faults[0][1])
        self.faults = faults


def parse_expression(source: str) -> Expression:
    """Parse one bare expression, as in `when: logins.found`.

    Raises:
        ExpressionError: it cannot be used.
    """
    if source.strip().startswith("{{"):
        template = parse_template(source)
        part = template.parts[0] if template.native else None
        if isinstance(part, nodes.Expr):
            return Expression(part, template.uses)
        raise ExpressionError([(1, "an expression is expected; write it without {{ }}")])
    _bound(source)
    try:
        parser = Parser(_GRAMMAR, source, state="variable")
        node = parser.parse_expression()
        if not parser.stream.eos:
            raise ExpressionError([(parser.stream.current.lineno, "there is text after the end of the expression")])
    except TemplateSyntaxError as error:
        raise ExpressionError([(error.lineno, f"bad expression: {error.message}")]) from None
    except (RecursionError, ValueError) as error:
        raise ExpressionError([(1, f"bad expression: {_short(error)}")]) from None
    return Expression(node, _checked(node))


def parse_template(source: str) -> Template:
    """Parse a text with `{{ expressions }}`.

    Raises:
        ExpressionError: it cannot be used.
    """
    if not any(mark in source for mark in ("{{", "{%", "{#")):
        return Template((source,))
    _bound(source)
    try:
        tree = _GRAMMAR.parse(source)
    except TemplateSyntaxError as error:
        raise ExpressionError([(error.lineno, f"bad template: {error.message}")]) from None
    except (RecursionError, ValueError) as error:
        raise ExpressionError([(1, f"bad template: {_short(error)}")]) from None
    parts: list[str | nodes.Expr] = []
    for statement in tree.body:
        if not isinstance(statement, nodes.Output):
            raise ExpressionError(
                [
                    (
                        statement.lineno,
                        "{% statements %} are not available; use for_each, when, filters or {{ a if b else c }}",
                    )
                ]
            )
        parts += [part.data if isinstance(part, nodes.TemplateData) else part for part in statement.nodes]
    uses = tuple(use for part in parts if isinstance(part, nodes.Expr) for use in _checked(part))
    inner = [part for part in parts if not (isinstance(part, str) and not part.strip())]
    if len(inner) == 1 and isinstance(inner[0], nodes.Expr):
        return Template((inner[0],), uses, native=True)
    return Template(tuple(parts), uses)


def _bound(source: str) -> None:
    if len(source) > TEMPLATE_MAX:
        raise ExpressionError([(1, f"the text has {len(source)} characters; with expressions at most {TEMPLATE_MAX}")])


def _short(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]


def _checked(root: nodes.Expr) -> tuple[Use, ...]:
    """Check an expression's tree and return what it reads."""
    walk = _Walk()
    walk.measure(root)
    walk.visit(root)
    if walk.faults:
        raise ExpressionError(walk.faults)
    return tuple(walk.uses)


@dataclass
class _Walk:
    """One pass over a tree; `measure` bounds the depth first, so that `visit` may recurse."""

    uses: list[Use] = field(default_factory=list[Use])
    faults: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def measure(self, root: nodes.Node) -> None:
        level: list[nodes.Node] = [root]
        count = 0
        for _ in range(DEPTH_MAX):
            count += len(level)
            level = [child for node in level for child in node.iter_child_nodes()]
            if count + len(level) > NODES_MAX:
                raise ExpressionError([(root.lineno, f"the expression has more than {NODES_MAX} parts")])
            if not level:
                return
        raise ExpressionError([(root.lineno, f"the expression is nested deeper than {DEPTH_MAX} levels")])

    def visit(self, node: nodes.Node) -> None:
        self.faults += [(node.lineno, message) for message in _faults_of(node)]
        access = _access(node)
        if access is not None:
            self.uses.append(access.use)
            children = access.computed
        elif isinstance(node, nodes.Call):
            children = [child for child in node.iter_child_nodes() if child is not node.node]
        else:
            children = list(node.iter_child_nodes())
        for child in children:
            self.visit(child)


@dataclass(frozen=True)
class _Access:
    """A name with the fields read of it, and the parts of it that are computed."""

    use: Use
    computed: list[nodes.Node]


def _access(node: nodes.Node) -> _Access | None:
    """Read `logins.result.groups[0]` as one access; None where the value does not begin with a name."""
    path: list[str | int | None] = []
    computed: list[nodes.Node] = []
    line = node.lineno
    while (name := _name_of(node)) is None:
        if isinstance(node, nodes.Getattr):
            path.append(node.attr)
        elif isinstance(node, nodes.Getitem):
            if isinstance(node.arg, nodes.Slice):
                path.clear()
            else:
                path.append(_constant(node.arg))
            computed.append(node.arg)
        else:
            return None
        node = node.node
    return _Access(Use(name, tuple(reversed(path)), line), computed)


def _name_of(node: nodes.Node) -> str | None:
    """Tell which name an access begins with: `logins`, `steps["logins"]` and `steps.logins` alike."""
    if isinstance(node, nodes.Name):
        return node.name
    if (
        isinstance(node, nodes.Getattr | nodes.Getitem)
        and isinstance(node.node, nodes.Name)
        and node.node.name == "steps"
    ):
        key = node.attr if isinstance(node, nodes.Getattr) else _constant(node.arg)
        return key if isinstance(key, str) else None
    return None


def _constant(node: nodes.Expr) -> str | int | None:
    if isinstance(node, nodes.Const) and isinstance(node.value, str | int) and not isinstance(node.value, bool):
        return node.value
    return None


def _faults_of(node: nodes.Node) -> Iterator[str]:
    if not isinstance(node, _VALUES):
        yield f"{_NOT_AVAILABLE.get(type(node), type(node).__name__)} is not available"
    elif isinstance(node, nodes.Const):
        if isinstance(node.value, float) and not math.isfinite(node.value):
            yield "the number is too large"
    elif isinstance(node, nodes.Call):
        yield from _call_faults(node)
    elif isinstance(node, nodes.Filter):
        yield from _named_faults("filter", node, FILTERS)
        yield from _inner_faults(node)
    elif isinstance(node, nodes.Test):
        yield from _named_faults("test", node, TESTS)


_NOT_AVAILABLE: dict[type[nodes.Node], str] = {nodes.Pow: "the operator **"}


def _call_faults(node: nodes.Call) -> Iterator[str]:
    if not isinstance(node.node, nodes.Name):
        yield "methods cannot be called; use a filter, as in {{ text | lower }}"
        return
    name = node.node.name
    if name not in FUNCTIONS:
        yield f"there is no function {name!r}{suggest(name, FUNCTIONS)}"
    else:
        yield from signature_fault(f"function {name!r}", FUNCTIONS[name], *_shape(node), given=1)


def _named_faults(kind: str, node: nodes.Filter | nodes.Test, known: Mapping[str, Function]) -> Iterator[str]:
    if node.name not in known:
        yield f"there is no {kind} {node.name!r}{suggest(node.name, known)}"
    else:
        yield from signature_fault(f"{kind} {node.name!r}", known[node.name], *_shape(node), given=2)


def _inner_faults(node: nodes.Filter) -> Iterator[str]:
    """Check the filter or test that `map`, `select` and their like get by name."""
    position = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}.get(node.name)
    if position is None or len(node.args) <= position:
        return
    name = node.args[position]
    known = FILTERS if node.name == "map" else TESTS
    if not isinstance(name, nodes.Const) or name.value not in known:
        shown = repr(name.value) if isinstance(name, nodes.Const) else "given"
        yield f"{node.name!r} does not know the {'filter' if node.name == 'map' else 'test'} {shown}"


def _shape(node: nodes.Call | nodes.Filter | nodes.Test) -> tuple[int, list[str], bool]:
    starred = node.dyn_args is not None or node.dyn_kwargs is not None
    return len(node.args), [str(keyword.key) for keyword in node.kwargs], starred
