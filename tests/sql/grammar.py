"""Hypothesis strategies for SQL text: statements written from a grammar, and real statements with a few words changed.

Most of a written statement is plain, so that it reaches a server; now and then something in it would write, lock,
wait or run for hours. `HELD` and `CANARY` stand for names that the judge fills in: a lock that another session
holds, and a file that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from hypothesis import strategies as st

from activities.sql.functions import ALLOWED as FUNCTIONS
from activities.sql.lexing import Dialect
from tests.sql.grammar_long import Long
from tests.sql.grammar_words import (
    BLANKS,
    COLUMNS,
    COMMENTS,
    EXPLAINS,
    FORBIDDEN_CALLS,
    INSERTED,
    LITERALS,
    OPERATORS,
    OTHERS,
    SHOWS,
    SLOW,
    SOURCES,
    TAILS,
    TYPES,
    WRITES,
)
from tests.sql.statements import allowed, refused

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[int]], int]

TEXT_MAX = 4000
"""Characters of a text."""

_TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|`[^`]*`|/\*.*?\*/|.", re.DOTALL)
_CALLS = {dialect: tuple(sorted(names)) for dialect, names in FUNCTIONS.items()}


@lru_cache
def known(dialect: Dialect) -> tuple[str, ...]:
    """Every statement of the tables, whatever its verdict, with a judge's names in it."""
    own = (FORBIDDEN_CALLS, WRITES, SHOWS, OTHERS)
    texts = [*allowed(dialect), *refused(dialect), *(text for table in own for text in table[dialect])]
    return tuple(text.replace("/tmp/x", "CANARY") for text in dict.fromkeys(texts))


def texts(dialect: Dialect) -> st.SearchStrategy[str]:
    """Texts of some kilobytes at most, for one dialect's server."""

    @st.composite
    def text(draw: Draw) -> str:
        writer = Writer(draw, dialect)
        kind = writer.number(10)
        if kind < 6:
            return writer.statement()[:TEXT_MAX]
        return writer.mutated()[:TEXT_MAX] if kind < 9 else writer.heap()[:TEXT_MAX]

    return text()


def long_texts(dialect: Dialect) -> st.SearchStrategy[str]:
    """Statements of calls that may take long."""

    @st.composite
    def text(draw: Draw) -> str:
        return Writer(draw, dialect).long()

    return text()


class Writer:
    """Writes one text by what it draws."""

    def __init__(self, draw: Draw, dialect: Dialect) -> None:
        self._draw = draw
        self._dialect: Dialect = dialect
        self._odd = self.number(4) == 0
        self._room = 40
        """Parts that may still be written."""

    def number(self, end: int) -> int:
        """Draw a number below `end`."""
        return self._draw(_below(end))

    def statement(self) -> str:
        """Write a statement, mostly a query."""
        kind = self.number(20)
        if kind == 0:
            return self._pick(SHOWS[self._dialect])
        if kind == 1:
            return f"{self._pick(EXPLAINS[self._dialect])} {self._query(1)}"
        if kind == 2:
            return self._pick(WRITES[self._dialect])
        if kind == 3:
            return f"{self._query(1)}{self._pick((';', '; ', ' ;/**/', ';;'))}{self._pick(WRITES[self._dialect])}"
        if kind == 4:
            return f"{self._comment()}{self._query(2)}{self._comment()}"
        if kind == 5:
            return self._nested()
        return self._query(3)

    def mutated(self) -> str:
        """Change a few words of a real statement, of this dialect or another."""
        source = known(self._dialect) if self.number(4) else known(self._pick(("mysql", "postgres", "sqlite")))
        parts = _TOKEN.findall(self._pick(source))
        for _ in range(1 + self.number(3)):
            parts = self._changed(parts, source)
        return "".join(parts)

    def heap(self) -> str:
        """Put words in a row."""
        words = [self._word() for _ in range(1 + self.number(12))]
        return self._pick(("", "SELECT ", "SELECT 1 ", "(", "EXPLAIN ", "SHOW ")) + self._blank().join(words)

    def long(self) -> str:
        """Write calls that may take long, or columns made of columns."""
        long = Long(self.number, self._dialect)
        kind = self.number(6)
        if kind == 0:
            return long.columns()
        return f"SELECT {long.making(3)}" if kind == 1 else f"SELECT {long.taking()} FROM orders"

    def _changed(self, parts: list[str], source: tuple[str, ...]) -> list[str]:
        place, kind = self.number(len(parts) + 1), self.number(10)
        before, after = parts[:place], parts[place:]
        if kind == 0:
            return before + after[1:]
        if kind == 1:
            return before + after[:1] + after
        if kind == 2:
            return before + [part.swapcase() for part in after[:3]] + after[3:]
        if kind == 3:
            return [*before, self._comment(), *after]
        if kind == 4:
            other = _TOKEN.findall(self._pick(source))
            return before + other[self.number(len(other) + 1) :]
        if kind == 5:
            return before + [_other_quotes(part) for part in after[:2]] + after[2:]
        if kind == 6:
            return [*before, self._pick(BLANKS), *after]
        if kind == 7:
            return [*before, f" {self._value(1)} ", *after[1:]]
        return [*before, f" {self._word()} ", *after]

    def _word(self) -> str:
        kind = self.number(6)
        if kind == 0:
            return self._pick(FORBIDDEN_CALLS[self._dialect]).removeprefix("SELECT ")
        if kind == 1:
            return self._pick(TAILS[self._dialect])
        return self._pick(INSERTED) if kind < 5 else self._pick(LITERALS[self._dialect])

    def _query(self, depth: int) -> str:
        kind = self.number(12) if depth > 1 else 11
        if kind == 0:
            return f"{self._query(depth - 1)} {self._pick(('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT'))} SELECT 1"
        if kind == 1:
            return f"({self._query(depth - 1)})"
        if kind == 2:
            inner = self._query(depth - 1) if self.number(6) else self._pick(WRITES[self._dialect])
            return f"WITH a AS ({inner}) SELECT * FROM a"
        if kind == 3 and self.number(4) == 0:
            return self._pick(SLOW[self._dialect])
        count = 1 + self.number(3)
        values = ", ".join(self._value(depth) for _ in range(count))
        blank = self._blank() or " "
        text = f"SELECT{blank}{values}"
        if self.number(3):
            text += f"{blank}FROM {self._source(depth)}"
            if self.number(2):
                text += f"{blank}WHERE {self._condition(depth)}"
        if self.number(6) == 0:
            text += f"{blank}{self._pick(TAILS[self._dialect])}"
        return text

    def _source(self, depth: int) -> str:
        kind = self.number(8)
        if kind == 0 and depth > 1:
            return f"({self._query(depth - 1)}) q"
        if kind == 1:
            return f"{self._pick(SOURCES[self._dialect])} JOIN orders x ON {self._condition(1)}"
        return self._pick(SOURCES[self._dialect])

    def _condition(self, depth: int) -> str:
        return f"{self._value(depth)} {self._pick(OPERATORS[self._dialect])} {self._value(depth)}"

    def _value(self, depth: int) -> str:
        self._room -= 1
        kind = self.number(16) if depth and self._room > 0 else 15
        inner = depth - 1
        if kind == 0:
            return f"CAST({self._value(inner)} AS {self._pick(TYPES[self._dialect])})"
        if kind in (1, 2, 3):
            name = self._pick(_CALLS[self._dialect])
            return f"{name}({', '.join(self._value(inner) for _ in range(self.number(4)))})"
        if kind == 4:
            return f"({self._condition(inner)})"
        if kind == 5:
            return f"CASE WHEN {self._condition(inner)} THEN {self._value(inner)} END"
        if kind == 6 and depth > 1:
            return f"({self._query(inner)})"
        if kind == 7 and depth > 1:
            return f"EXISTS ({self._query(inner)})"
        if kind == 8 and self._odd:
            return self._pick(FORBIDDEN_CALLS[self._dialect]).removeprefix("SELECT ")
        if kind == 9 and self._odd:
            return self._pick(INSERTED)
        return self._pick(COLUMNS) if kind < 12 else self._pick(LITERALS[self._dialect])

    def _nested(self) -> str:
        """Write something within itself, up to what the tool takes and beyond."""
        before, after = self._pick(_NESTED)
        again = 1 + self.number(45)
        return f"SELECT {before * again}1{after * again}"

    def _comment(self) -> str:
        return self._pick(COMMENTS)

    def _blank(self) -> str:
        return self._pick(BLANKS) if self._odd and self.number(3) == 0 else " "

    def _pick(self, options: tuple[T, ...]) -> T:
        return options[self.number(len(options))]


_NESTED = (
    ("(", ")"),
    ("ABS(", ")"),
    ("DATE(", ")"),
    ("CHAR(", ")"),
    ("ARRAY[", "]"),
    ("(SELECT ", ")"),
    ("CASE WHEN 1 = 1 THEN ", " END"),
    ("CAST(", " AS CHAR)"),
    ("NOT ", ""),
    ("- ", ""),
    ("1 IN (", ")"),
    ("COALESCE(NULL, ", ")"),
    ("DECIMAL(1, ", ")"),
    ("TIMESTAMP(", ""),
)


@lru_cache
def _below(end: int) -> st.SearchStrategy[int]:
    return st.integers(0, end - 1)


def _other_quotes(part: str) -> str:
    turned = str.maketrans("'\"`", "\"`'")
    return part.translate(turned) if part[:1] in "'\"`" else f"'{part}"
