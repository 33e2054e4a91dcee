"""How long a statement may keep its server from looking at the clock, at most; too long is refused.

Above: `trees`, for each statement it has judged. Below: `growth`, what functions make and cost. Servers look at their
time-out between rows, not within them: what is added up here is one row of everything. A column of a subquery costs
what it is made of each time it is named, for planners put its expression in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, cast

from sqlglot import exp

from activities.sql.growth import AGGREGATES, LINEAR, Call, by_name
from activities.sql.lengths import NUMERIC_MAX, SMALL, STORED_MAX, UNBOUNDED, Text, count, joined, written
from activities.sql.lexing import Dialect
from activities.sql.refusals import not_understood
from activities.sql.scopes import STORED, Rows, Scope, Value, grown_rows

WORK_MAX = 2e9
"""Nanoseconds."""

_NODE = 5000.0
"""Nanoseconds to plan a part of a statement; PostgreSQL takes about as long for each copy of it."""

_ROUNDS = 6
"""Rows of a recursive query that are looked at, enough to tell what doubles from what gets longer."""

_RECURSIONS_MAX = 2

_JSON = 25.0
"""Nanoseconds to read a byte of JSON."""

_CALLS = {
    "Trim": ("trim", "this", "expression"),
    "Substring": ("substring", "this", "start", "length"),
    "StrPosition": ("position", "this", "substr"),
    "Like": ("like", "this", "expression"),
    "ILike": ("like", "this", "expression"),
    "Glob": ("glob", "this", "expression"),
    "RegexpLike": ("regexp_like", "this", "expression"),
    "RegexpILike": ("regexp_like", "this", "expression"),
    "GroupConcat": ("group_concat", "this", "separator"),
    "Mul": ("multiply", "this", "expression"),
    "Div": ("multiply", "this", "expression"),
    "IntDiv": ("multiply", "this", "expression"),
    "Mod": ("multiply", "this", "expression"),
    "Pow": ("power", "this", "expression"),
    "JSONExtract": ("json_extract", "this", "expression"),
    "JSONExtractScalar": ("json_extract", "this", "expression"),
    "JSONTable": ("json_extract", "this", "path"),
    "JSONBContains": ("jsonb_contains", "this", "expression"),
    "ArrayContainsAll": ("array_overlap", "this", "expression"),
    "ArrayContainedBy": ("array_overlap", "this", "expression"),
    "ArrayOverlaps": ("array_overlap", "this", "expression"),
}
"""What has a syntax of its own and costs as a function does: its name and its arguments."""

_WIDE_CHARACTERS = {"utf32", "utf16", "utf16le", "ucs2"}

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Table)
_LITERALS = (exp.Literal, exp.National, exp.HexString, exp.BitString)
_SMALL = (exp.Predicate, exp.Connector, exp.Not, exp.Extract, exp.MatchAgainst)
_NUMBERS = (exp.Add, exp.Sub, exp.Neg)
_CHAINS = (exp.Connector, (exp.Add, exp.Sub), exp.DPipe)
_NAMES = (exp.Identifier, exp.DataType, exp.Var, exp.TableAlias)

_Type = exp.DataType.Type
_SHORT_TYPES = exp.DataType.NUMERIC_TYPES | exp.DataType.TEMPORAL_TYPES | {_Type.BOOLEAN}
_JSON_TYPES = {_Type.JSON, _Type.JSONB}
_PADDED_TYPES = {_Type.BINARY, _Type.BIT, _Type.CHAR, _Type.NCHAR}


class Work:
    """Adds up one statement."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect: Dialect = dialect
        self._worst = ("", 0.0)
        self._recursions = 0
        self._width = 1
        """Bytes of a literal's bytes: those beside UTF-32 become it."""

    def check(self, tree: exp.Expr) -> None:
        """Refuse a statement that may keep its server too long.

        Raises:
            ToolFailure: INVALID_ARGUMENTS, with what to write instead.
        """
        _, cost = self.look(tree)
        if cost <= WORK_MAX:
            return
        name, most = self._worst
        what = f"{name} here" if most > WORK_MAX / 100 else "the statement"
        cut, least = ("SUBSTR(x, 1, 500)", "MIN") if self._dialect == "sqlite" else ("LEFT(x, 500)", "LEAST")
        raise not_understood(
            f"{what} could take the server far beyond its time-out, which it heeds between rows only. Cut texts first, "
            f"as in {cut}; write counts as numbers or {least}(n, 100), patterns and formats as literals; name "
            "computed columns of subqueries fewer times, and nest NULLIF, IN (SELECT ...) and ALL (SELECT ...) less"
        )

    def look(self, tree: exp.Expr) -> tuple[Rows, float]:
        """Return what a statement yields, and what it costs."""
        names = {str(node.this).lower().lstrip("_") for node in tree.find_all(exp.Var, exp.Introducer)}
        self._width = 4 if names & _WIDE_CHARACTERS else 1
        return self.query(tree, Scope())

    def query(self, node: exp.Expr | None, around: Scope) -> tuple[Rows, float]:
        """Return what a query yields, and what it costs; None: the parser took what is none."""
        if node is None:
            return Rows([], STORED), 0.0
        scope = around.within()
        cost = self._with(node, scope)
        if isinstance(node, exp.Select):
            rows, more = self._selected(node, scope)
            return rows, cost + more
        if isinstance(node, exp.SetOperation):
            rows, more = self._united(node, scope)
        elif isinstance(node, exp.Values):
            value = self._all(node.expressions, scope)
            rows, more = Rows([], value), value.cost
        elif isinstance(node, exp.Table):
            return self._source(node, scope)
        elif isinstance(node, exp.Subquery):
            rows, more = self.query(_inside(node), scope)
        else:
            value = self.value(node, scope)
            return Rows([], value), cost + value.cost
        scope.add(rows)
        keys = (key for key in node.args if key not in ("this", "expression", "expressions", "with_"))
        return rows, cost + more + self._all(_parts(node, *keys), scope).cost

    def _with(self, node: exp.Expr, scope: Scope) -> float:
        cost = 0.0
        clause = node.args.get("with_")
        for cte in cast("list[exp.CTE]", clause.expressions if clause else []):
            recursive = clause is not None and clause.args.get("recursive") and isinstance(cte.this, exp.SetOperation)
            rows, more = self._recursive(cte, scope) if recursive else self.query(_inside(cte), scope)
            scope.queries[cte.alias.lower()] = rows.named(cte.args.get("alias"))
            cost += more
        return cost

    def _united(self, node: exp.SetOperation, scope: Scope) -> tuple[Rows, float]:
        """Look at one query after the other; there may be hundreds."""
        first = [cast("exp.Expr", node)]
        others: list[exp.Expr] = []
        while first and isinstance(first[0], exp.SetOperation):
            others.extend(_parts(first[0], "expression"))
            first = _parts(first[0], "this")
        looks = [self.query(one, scope) for one in (*first, *others)]
        return reduce(Rows.united, (rows for rows, _ in looks)), sum(cost for _, cost in looks)

    def _recursive(self, cte: exp.CTE, scope: Scope) -> tuple[Rows, float]:
        """Look at a query that reads its own rows: what grows with each row does so until the time-out."""
        alias = cte.args.get("alias")

        def over(rows: Rows) -> tuple[Rows, float]:
            inner = scope.within()
            inner.queries[cte.alias.lower()] = rows.computed().named(alias)
            return self.query(_inside(cte), inner)

        self._recursions += 1
        if self._recursions > _RECURSIONS_MAX:
            raise not_understood(f"over {_RECURSIONS_MAX} recursive queries within each other: write them one by one")
        rounds = [self.query(_inside(cte.this), scope)[0]]
        for _ in range(_ROUNDS):
            rounds.append(over(rounds[-1])[0])
        rows = grown_rows(*rounds[-3:])
        cost = over(rows)[1]
        self._recursions -= 1
        return rows, cost

    def _selected(self, node: exp.Select, scope: Scope) -> tuple[Rows, float]:
        sources, cost = Rows(), 0.0
        for part in _parts(node, "from_", "joins", "laterals"):
            source = part if isinstance(part, exp.Lateral) else _inside(part)
            rows, more = self._source(source, scope)
            scope.add(rows, source.alias_or_name if source else "")
            sources = sources.joined(rows)
            cost += more
        result = Rows(many=sources.many)
        for expression in cast("list[exp.Expr]", node.expressions):
            if expression.is_star and isinstance(expression, (exp.Star, exp.Column)):
                result = result.joined(sources)
                continue
            value = self.value(expression, scope)
            result.columns.append((expression.output_name, value))
            if expression.alias:
                scope.add_column(expression.alias, value)
            cost += value.cost
        rest = [key for key in node.args if key not in ("expressions", "from_", "joins", "laterals", "with_")]
        conditions = [condition for join in _parts(node, "joins") for condition in _parts(join, "on")]
        return result, cost + self._all([*_parts(node, *rest), *conditions], scope).cost

    def _source(self, node: exp.Expr | None, scope: Scope) -> tuple[Rows, float]:
        """Look at what stands in FROM."""
        if node is None:
            return Rows([], STORED), 0.0
        inside, cost = cast("exp.Expr", node.this), 0.0
        if isinstance(node, exp.Table) and isinstance(inside, exp.Identifier):
            known = None if node.args.get("db") else scope.queries.get(node.name.lower())
            rows = known or Rows([], STORED)
        elif isinstance(node, (exp.Subquery, exp.Values)):
            rows, cost = self.query(node, scope)
        elif isinstance(node, exp.Lateral) and isinstance(inside, exp.Subquery):
            rows, cost = self.query(inside, scope)
        else:
            value = self._all(node.iter_expressions(), scope)
            rows, cost = Rows([], Value(value.text).or_(STORED), _is_series(inside)), value.cost
        rows = rows.named(node.args.get("alias"))
        for join in _parts(node, "joins") if isinstance(node, exp.Table) else ():
            inner, more = self._source(_inside(join), scope)
            rows = rows.joined(inner)
            beside = scope.within()
            beside.add(rows)
            cost += more + self._all(_parts(join, "on"), beside).cost
        return rows, cost

    def _all(self, nodes: Iterable[exp.Expr], scope: Scope) -> Value:
        values = [self.value(node, scope) for node in nodes if not isinstance(node, _NAMES)]
        return Value(joined([value.text for value in values]), sum(value.cost for value in values))

    def value(self, node: exp.Expr, scope: Scope) -> Value:
        """Return what an expression may be and cost."""
        if isinstance(node, _QUERIES):
            rows, cost = self.query(node, scope)
            return Value(rows.whole().text, cost + _NODE)
        if isinstance(node, (exp.Column, exp.Star)):
            value = self._whole(scope) if node.is_star else scope.find(node.name)
            return Value(value.text, value.cost + _NODE)
        if isinstance(node, _LITERALS):
            return Value(written(node.name, self._dialect).times(self._width), _NODE)
        if isinstance(node, (exp.Alias, exp.Paren)):
            return self._all(_parts(node, "this"), scope)
        if isinstance(node, exp.Cast):
            return self._cast(node, scope)
        special = _CALLS.get(type(node).__name__)
        if special is not None:
            return self._call(special[0], node, _parts(node, *special[1:]), scope)
        if isinstance(node, exp.Anonymous):
            return self._call(node.name.lower(), node, node.expressions, scope)
        values = [self.value(part, scope) for part in _operands(node) if not isinstance(part, _NAMES)]
        total = joined([value.text for value in values])
        cost = LINEAR * total.size + _NODE * max(len(values), 1)
        cost += sum(value.cost for value in values) * self._evaluations(node)
        return Value(self._made(node, [value.text for value in values]), cost)

    def _evaluations(self, node: exp.Expr) -> int:
        """Return how many times the parts of a node are computed, as measured on MariaDB in calls within calls."""
        if self._dialect != "mysql":
            return 1
        if isinstance(node, exp.Binary) and isinstance(node.expression, (exp.Any, exp.All)):
            return 4
        if isinstance(node, exp.Anonymous):
            return 2 if node.name.lower() == "nullif" else 1
        return 2 if isinstance(node, exp.In) and node.args.get("query") else 1

    def _made(self, node: exp.Expr, texts: Sequence[Text]) -> Text:
        """Return what a node without a rule of its own makes of its parts."""
        if isinstance(node, exp.SessionParameter):
            return Text(STORED_MAX)
        if not texts or isinstance(node, _SMALL) or (isinstance(node, _NUMBERS) and self._dialect != "postgres"):
            return SMALL
        if isinstance(node, (exp.Window, exp.Filter)):
            return texts[0]
        if isinstance(node, _NUMBERS):
            return reduce(Text.or_, texts)
        return joined(texts).times(2) if isinstance(node, (exp.Tuple, exp.Array)) else joined(texts)

    def _whole(self, scope: Scope) -> Value:
        values = [*scope.columns.values(), scope.rest or STORED]
        return Value(joined([value.text for value in values]), sum(value.cost for value in values))

    def _cast(self, node: exp.Cast, scope: Scope) -> Value:
        value, target = self._all(_parts(node, "this"), scope), node.to
        postgres = self._dialect == "postgres"
        sizes = [count(size.this) or 0.0 for size in target.expressions if isinstance(size, exp.DataTypeParam)]
        text = value.text
        if target.this in _SHORT_TYPES:
            computed = text.chosen > 0 and not isinstance(node.this, (*_LITERALS, exp.Binary, exp.Neg, exp.Paren))
            text = (Text(text.stored, NUMERIC_MAX) if computed else text) if postgres else SMALL
        elif sizes:
            padding = sizes[0] if target.this in _PADDED_TYPES else 0
            text = text.cut(4 * sizes[0]).and_(Text(0, padding))
        elif postgres:
            text = text.times(2)
        each = _JSON if target.this in _JSON_TYPES else LINEAR
        return Value(text, value.cost + each * max(text.size, value.text.size) + _NODE)

    def _call(self, name: str, node: exp.Expr, arguments: Sequence[exp.Expr], scope: Scope) -> Value:
        if name == "count" and any(isinstance(argument, exp.Star) for argument in arguments):
            return Value(SMALL, _NODE)
        values = [self.value(argument, scope) for argument in arguments]
        call = Call(self._dialect, arguments, [value.text for value in values])
        made = by_name(self._dialect, name)(call)
        cost, text = made.cost + LINEAR * max(call.total.size, made.text.size) + _NODE, made.text
        if name in AGGREGATES and scope.many and self._dialect != "mysql":
            text = Text(0, UNBOUNDED)
        if self._worst[1] <= WORK_MAX and cost > self._worst[1]:
            self._worst = (name.upper(), cost)
        taken = {id(argument) for argument in arguments}
        others = self._all([part for part in node.iter_expressions() if id(part) not in taken], scope)
        return Value(text, cost + sum(value.cost for value in values) * self._evaluations(node) + others.cost)


def _inside(node: exp.Expr) -> exp.Expr | None:
    return next(iter(_parts(node, "this")), None)


def _parts(node: exp.Expr, *keys: str) -> list[exp.Expr]:
    """The parts of a node under some of its names."""
    values = [cast("Any", node.args.get(key)) for key in keys]
    parts = [part for value in values for part in cast("list[Any]", value if isinstance(value, list) else [value])]
    return [part for part in parts if isinstance(part, exp.Expr)]


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a node; those of `a + b + c ...` in one list, since there may be hundreds."""
    kind = next((kind for kind in _CHAINS if isinstance(node, kind)), None)
    if kind is None:
        return list(node.iter_expressions())
    parts: list[exp.Expr] = []
    left = [node]
    while left and isinstance(left[0], kind):
        parts.extend(_parts(left[0], "expression"))
        left = _parts(left[0], "this")
    return [*left, *reversed(parts)]


def _is_series(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("generate_series", "generate_subscripts")
