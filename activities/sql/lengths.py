"""How long the values of a statement may be.

Above: `growth` (functions), `scopes` and `work` (the statement). Below: sqlglot's literals. A text is what tables hold
and what the statement chose itself; only the latter can be made to be the worst case, such as a pattern and a text that
backtrack for hours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from activities.sql.lexing import Dialect

STORED_MAX = 1024
"""Bytes a stored value is taken to have: more cost more, at the rate of the function."""

AGGREGATED = 16 * 2**20
"""Bytes a text made of many rows of tables is taken to have, where nothing limits it."""

GROUP_CONCAT_MAX = 2**20
"""Bytes of a text made of many rows, where the session limits it: MariaDB's own default."""

UNBOUNDED = 2**30
"""Bytes of a value at most: PostgreSQL's own limit, and the largest packet of MariaDB."""

NUMERIC_MAX = 150_000.0
"""Bytes of PostgreSQL's longest number: 131,072 digits and 16,383 after the point."""

SERVER_MAX = float(2**40)
"""Beyond it sizes need no difference, and do not overflow."""


@dataclass(frozen=True)
class Text:
    """Bytes of a value at most."""

    stored: float = 0.0
    """What comes from tables."""
    chosen: float = 0.0
    """What the statement made itself: literals, and repetitions of anything."""

    @property
    def size(self) -> float:
        """Both."""
        return self.stored + self.chosen

    def and_(self, other: Text) -> Text:
        """One after the other."""
        return Text(self.stored + other.stored, self.chosen + other.chosen)

    def or_(self, other: Text) -> Text:
        """The larger of each."""
        return Text(max(self.stored, other.stored), max(self.chosen, other.chosen))

    def times(self, factor: float) -> Text:
        """So many times as long."""
        return Text(min(self.stored * factor, SERVER_MAX), min(self.chosen * factor, SERVER_MAX))

    def cut(self, size: float) -> Text:
        """No longer than this."""
        return Text(min(self.stored, size), min(self.chosen, size))


SMALL = Text(64)
"""A number, a time, a truth value."""


def joined(texts: Sequence[Text]) -> Text:
    """Texts one after the other."""
    return Text(sum(text.stored for text in texts), sum(text.chosen for text in texts))


def literal(node: exp.Expr) -> str | None:
    """What a literal says, None: it is none."""
    while isinstance(node, (exp.Paren, exp.Introducer)):
        node = node.expression if isinstance(node, exp.Introducer) else node.this
    return node.name if isinstance(node, (exp.Literal, exp.National)) else None


def count(node: exp.Expr) -> float | None:
    """The largest number a node can be, None: any. `LEAST(n, 20)` and whole numbers of it say so."""
    if isinstance(node, exp.Literal):
        return float(node.name) if re.fullmatch(r"\d{1,15}(\.\d*)?", node.name) else None
    if isinstance(node, (exp.Paren, exp.Cast)):
        return count(node.this)
    if isinstance(node, exp.Neg):
        return 0.0 if isinstance(node.this, exp.Literal) else None
    if isinstance(node, exp.Anonymous):
        counts = [count(argument) for argument in node.expressions]
        if node.name.lower() == "least" or (node.name.lower() == "min" and len(counts) > 1):
            return min((number for number in counts if number is not None), default=None)
        if node.name.lower() in ("round", "floor", "ceil", "ceiling", "truncate", "trunc") and counts and counts[0]:
            return counts[0] + 1
    return None


_EXPONENT = re.compile(r"[eE]\+?(\d+)")


def written(text: str, dialect: Dialect) -> Text:
    """What a literal may be: PostgreSQL makes up to 131,072 digits of `1e131071`."""
    exponents = _EXPONENT.findall(text) if dialect == "postgres" else ()
    digits = sum(min(float(number[:12]), NUMERIC_MAX) for number in exponents)
    return Text(0, len(text.encode("utf-8", "replace")) + digits)


def grown(step: Text) -> Text:
    """A text that a recursive query makes longer by `step` with each row.

    Each row copies all of it, about 5 GB in a second: within 15 s it grows to the root of twice as many steps.
    """
    most = 4e5 * math.sqrt(step.size)
    return Text(most if step.stored else 0, most if step.chosen else 0)
