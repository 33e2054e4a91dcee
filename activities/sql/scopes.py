"""What the columns in reach of an expression may be, and what it costs to name them.

Above: `work`. Below: `lengths`. Columns go by their names; where two have the same, they are the worse of the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from activities.sql.lengths import STORED_MAX, UNBOUNDED, Text, grown, joined


@dataclass(frozen=True)
class Value:
    """What an expression may be and cost."""

    text: Text = field(default_factory=Text)
    cost: float = 0.0

    def or_(self, other: Value) -> Value:
        """The worse of each."""
        return Value(self.text.or_(other.text), max(self.cost, other.cost))


STORED = Value(Text(STORED_MAX))


@dataclass
class Rows:
    """What a query or a table yields."""

    columns: list[tuple[str, Value]] = field(default_factory=list[tuple[str, Value]])
    rest: Value | None = None
    """A column that is not among them, None: there is no other."""
    many: bool = False
    """The statement makes the rows itself, as many as it likes."""

    def widest(self) -> Value:
        """The worst column."""
        value = self.rest or Value()
        for _, other in self.columns:
            value = value.or_(other)
        return value

    def whole(self) -> Value:
        """All columns of a row."""
        values = [value for _, value in self.columns] + ([self.rest] if self.rest else [])
        return Value(joined([value.text for value in values]), sum(value.cost for value in values))

    def named(self, alias: exp.Expr | None) -> Rows:
        """The same under the column names that an alias gives."""
        names = [column.name for column in alias.args.get("columns") or ()] if alias else []
        if not names:
            return self
        if self.rest is None and len(names) == len(self.columns):
            return Rows([(name, value) for name, (_, value) in zip(names, self.columns, strict=True)], None, self.many)
        widest = self.widest()
        return Rows([(name, widest) for name in names], self.rest, self.many)

    def computed(self) -> Rows:
        """The same when it is there already, so that naming a column computes nothing."""
        rest = Value(self.rest.text) if self.rest else None
        return Rows([(name, Value(value.text)) for name, value in self.columns], rest, self.many)

    def joined(self, other: Rows) -> Rows:
        """Columns of both."""
        rest = self.rest.or_(other.rest) if self.rest and other.rest else self.rest or other.rest
        return Rows([*self.columns, *other.columns], rest, self.many or other.many)

    def united(self, other: Rows) -> Rows:
        """Rows of both, under the names of this."""
        if self.rest is None and other.rest is None and len(self.columns) == len(other.columns):
            pairs = zip(self.columns, other.columns, strict=True)
            columns = [(name, value.or_(place)) for (name, value), (_, place) in pairs]
            return Rows(columns, None, self.many or other.many)
        widest = self.widest().or_(other.widest())
        return Rows([(name, widest) for name, _ in self.columns], widest, self.many or other.many)


def grown_rows(begun: Rows, once: Rows, twice: Rows) -> Rows:
    """What columns become that grow with each row; those that double may become anything."""

    def grow(first: Value, second: Value, third: Value) -> Value:
        before, after = second.text.size - first.text.size, third.text.size - second.text.size
        if after > before + 1:
            return Value(Text(0, UNBOUNDED))
        if after <= 0:
            return Value(third.text)
        step = Text(third.text.stored - second.text.stored, third.text.chosen - second.text.chosen)
        return Value(grown(step).or_(third.text))

    if begun.rest or twice.rest or len(begun.columns) != len(twice.columns):
        widest = grow(begun.widest(), once.widest(), twice.widest())
        return Rows([(name, widest) for name, _ in twice.columns], widest, many=True)
    columns = [
        (name, grow(first, second, third))
        for (_, first), (_, second), (name, third) in zip(begun.columns, once.columns, twice.columns, strict=True)
    ]
    return Rows(columns, None, many=True)


@dataclass
class Scope:
    """What names stand for."""

    columns: dict[str, Value] = field(default_factory=dict[str, Value])
    whole: dict[str, Value] = field(default_factory=dict[str, Value])
    """Whole rows, by the table's name."""
    rest: Value | None = None
    queries: dict[str, Rows] = field(default_factory=dict[str, Rows])
    """Those of WITH."""
    many: bool = False

    def within(self) -> Scope:
        """The scope of a query within this one."""
        return Scope(dict(self.columns), dict(self.whole), self.rest, dict(self.queries))

    def find(self, name: str) -> Value:
        """A column; one without a known name may be any that has none."""
        lower = name.lower()
        found = self.columns.get(lower) or self.whole.get(lower)
        return found or self.rest or STORED

    def add(self, rows: Rows, name: str = "") -> None:
        """Columns of a table of this name."""
        for column, value in rows.columns:
            self.add_column(column, value)
        if rows.rest:
            self.rest = self.rest.or_(rows.rest) if self.rest else rows.rest
        if name:
            self.whole[name.lower()] = self.whole.get(name.lower(), Value()).or_(rows.whole())
        self.many = self.many or rows.many

    def add_column(self, name: str, value: Value) -> None:
        """A column, or the worse of two of the same name."""
        if name:
            self.columns[name.lower()] = self.columns.get(name.lower(), Value()).or_(value)
        else:
            self.rest = self.rest.or_(value) if self.rest else value
