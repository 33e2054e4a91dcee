"""How long the texts are that functions make, and what they cost, at most: a server heeds no time-out within a call.

Above: `work` adds it up over a statement. Below: `lengths` and `patterns`. Costs are nanoseconds per byte, or per pair
of bytes, measured on MariaDB 10.11 and PostgreSQL 15 and rounded up (decision 0018). A function without a rule makes at
most what it is given and takes it in once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from activities.sql.lengths import (
    AGGREGATED,
    GROUP_CONCAT_MAX,
    NUMERIC_MAX,
    SERVER_MAX,
    SMALL,
    STORED_MAX,
    UNBOUNDED,
    Text,
    count,
    joined,
    literal,
)
from activities.sql.lexing import STATEMENT_MAX, Dialect
from activities.sql.patterns import Pattern

LINEAR = 5.0
"""Nanoseconds for each byte that a function takes in or makes; PostgreSQL's `upper` and `lpad` take 8 to 12."""

_POWER = 20.0
"""Beyond it powers need no difference, and do not overflow."""

_BACKTRACKING = 3e8
"""Nanoseconds after which PCRE's match limit ends one search."""

_PIECE = 16
"""Bytes of a piece that is short."""

_MOVED = 0.12
"""Nanoseconds for a byte of a text that MariaDB may move."""

_REPLACED = 0.25
"""Share of a stored text that is replaced by something longer."""

_BESIDE = 4
"""Bytes of stored text that agree with a text searched for, before one differs."""


@dataclass(frozen=True)
class Call:
    """A call and what its arguments may be."""

    dialect: Dialect
    nodes: Sequence[exp.Expr]
    texts: Sequence[Text]

    @property
    def total(self) -> Text:
        """All arguments, one after the other."""
        return joined(self.texts)

    def text(self, place: int) -> Text:
        """An argument, empty where there is none."""
        return self.texts[place] if place < len(self.texts) else Text()

    def literal(self, place: int) -> str | None:
        """What is written for an argument, None: it is computed."""
        return literal(self.nodes[place]) if place < len(self.nodes) else ""

    def count(self, place: int) -> float | None:
        """The largest number an argument can be, None: any."""
        return count(self.nodes[place]) if place < len(self.nodes) else None


@dataclass(frozen=True)
class Made:
    """What a call makes."""

    text: Text
    cost: float = 0.0
    """Nanoseconds, beside taking in and making the text."""


Rule = Callable[[Call], Made]


def by_name(dialect: Dialect, name: str) -> Rule:
    """The rule of a function, its name in lower case."""
    return _BY_DIALECT[dialect].get(name) or _RULES.get(name) or _whole


def _whole(call: Call) -> Made:
    return Made(call.total.and_(SMALL) if call.texts else Text(STORED_MAX))


def _statement(_: Call) -> Made:
    return Made(Text(0, STATEMENT_MAX))


def _small(_: Call) -> Made:
    return Made(SMALL)


def _times(factor: float) -> Rule:
    return lambda call: Made(call.total.times(factor))


def _cut(place: int) -> Rule:
    """Cut the first argument to so many characters, of four bytes at most."""

    def rule(call: Call) -> Made:
        number = call.count(place)
        return Made(call.text(0) if number is None else call.text(0).cut(4 * number))

    return rule


def _repeated(call: Call) -> Made:
    number = call.count(1)
    size = UNBOUNDED if number is None else call.text(0).size * number
    return Made(Text(0, min(size, SERVER_MAX)))


def _spaces(call: Call) -> Made:
    number = call.count(0)
    return Made(Text(0, UNBOUNDED if number is None else 4 * number))


def _padded(call: Call) -> Made:
    number = call.count(1)
    return Made(Text(0, UNBOUNDED)) if number is None else Made(call.text(0).cut(4 * number).and_(Text(0, 4 * number)))


def _unbounded(_: Call) -> Made:
    return Made(Text(0, UNBOUNDED))


def _aggregated(call: Call) -> Made:
    """Make one text of many rows; MariaDB's and MySQL's are cut by `group_concat_max_len`, which the session sets."""
    total = call.total
    most: float = GROUP_CONCAT_MAX
    if call.dialect != "mysql":
        most = min(max(AGGREGATED, AGGREGATED / STORED_MAX * total.size), UNBOUNDED)
    chosen = total.chosen > 4 * _PIECE or not total.stored
    return Made(Text(most if total.stored else 0, most if chosen else 0))


def _array(call: Call) -> Made:
    """Make an array of values, or of a query's rows."""
    return _aggregated(call) if call.nodes and isinstance(call.nodes[0], exp.Query) else _quoted(call)


def _quoted(call: Call) -> Made:
    """Write values as one; quotes within are doubled."""
    return Made(call.total.times(2).and_(SMALL))


def pair(needle: Text, hay: Text, each: float) -> float:
    """Cost of looking for one text in another at every place."""
    return each * hay.size * (needle.chosen + min(needle.stored, _BESIDE) + 1)


def _searched(needle: int, hay: int, each: float) -> Rule:
    return lambda call: Made(call.total, pair(call.text(needle), call.text(hay), each))


def _crossed(each: float) -> Rule:
    """Compare everything in one argument to everything in the other."""
    return lambda call: Made(call.total, each * call.text(0).size * call.text(1).size)


def _squared(each: float) -> Rule:
    return lambda call: Made(call.total, each * call.total.size**2)


def _replaced(call: Call) -> Made:
    """Replace; MariaDB moves the rest of the text for each piece that grows."""
    text, new, old = call.text(0), call.text(2), call.literal(1)
    length = max(1, len((old or "").encode()))
    growth = max(1.0, new.size / length)
    made = _with_pieces(text, new, growth)
    moved = text.size / length * made.size * _MOVED if call.dialect == "mysql" and growth > 1 else 0.0
    return Made(made, pair(call.text(1), text, 0.5) + moved)


def _with_pieces(text: Text, new: Text, growth: float) -> Text:
    """Text in which pieces became others; short ones within stored text leave it what it is."""
    usual = 1 + _REPLACED * growth if growth > 1 else 1
    made = Text(text.stored * usual, text.chosen * growth).and_(new).times(1)
    return made if new.size <= _PIECE or not new.chosen else Text(text.stored, made.size)


def _translated(call: Call) -> Made:
    return Made(call.text(0).times(4), pair(call.text(1), call.text(0), 4))


def _separated(call: Call) -> Made:
    """Put the first argument between the others."""
    return Made(call.total.and_(call.text(0).times(len(call.texts))))


def _array_written(call: Call) -> Made:
    """Put the second argument between the elements of the first, of which each has a byte."""
    array, separator = call.text(0), call.text(1)
    return Made(array.and_(array.times(separator.size)))


def _formatted(place: int) -> Rule:
    """Fill in a format, whose numbers are widths."""

    def rule(call: Call) -> Made:
        written = call.literal(place)
        if written is None or "*" in written:
            return Made(Text(0, UNBOUNDED))
        widths = sum(float(number[:12]) for number in re.findall(r"\d+", written))
        return Made(call.total.times(1 + written.count("$") + written.count("{")).and_(Text(0, widths)))

    return rule


def _dated(call: Call) -> Made:
    """Write a time or number by a format; no letter of it stands for more than 32."""
    return Made(call.total.times(32))


def _indented(call: Call) -> Made:
    """Write JSON over lines, each indented by its depth; MariaDB reads up to 32 levels."""
    total = call.total
    return Made(total.times(1 + 4 * (32 if call.dialect == "mysql" else total.size)))


def _set_exported(call: Call) -> Made:
    return Made(call.total.times(64))


def _power(call: Call) -> Made:
    """Digits of a power."""
    if call.dialect != "postgres":
        return Made(SMALL)
    number = call.count(1)
    return Made(Text(0, min(NUMERIC_MAX, call.text(0).size * (NUMERIC_MAX if number is None else number) + 64)))


def _path(call: Call) -> Made:
    """Look into JSON by paths; each `**` of MariaDB's may stand for every level."""
    wildcards = 0.0
    for place in range(1, len(call.nodes)) if call.dialect == "mysql" else ():
        written = call.literal(place)
        wildcards += written.count("**") if written is not None else call.text(place).chosen / 2
    return Made(call.total, call.total.size * 100 * 4 ** min(wildcards, _POWER) if wildcards else 0.0)


def _xpath(call: Call) -> Made:
    """Look into XML by a path; each axis and each condition may go over all of it."""
    written = call.literal(1)
    steps = len(re.findall(r"//|::|\[", written)) if written is not None else call.text(1).chosen / 2
    return Made(call.total, 100 * (call.text(0).size / 4 + 1) ** min(max(steps, 1), _POWER))


def _searched_by_regex(call: Call) -> Made:
    return Made(call.total, 50 * call.text(0).size + _backtracking(call, 1))


def _replaced_by_regex(call: Call) -> Made:
    """Replace what a pattern matches; MariaDB counts characters from the text's beginning for each match."""
    text, new, pattern = call.text(0), call.text(2), Pattern(call.literal(1))
    written = call.literal(2)
    groups = len(re.findall(r"[\\$]", written)) if written is not None else new.chosen
    made = _with_pieces(text, new, max(1.0, new.size / pattern.width + groups))
    if call.dialect == "postgres":
        return Made(made)
    matches = text.size / pattern.width + 1
    return Made(made, 15 * matches * text.size + _backtracking(call, text.chosen / pattern.width + 1))


def _backtracking(call: Call, searches: float) -> float:
    """Cost of searches in chosen text that fail in every possible way; PostgreSQL's heed the time-out."""
    text, pattern = call.text(0).chosen, Pattern(call.literal(1))
    if call.dialect == "postgres" or not text:
        return 0.0
    loops = pattern.loops if pattern.written is not None else call.text(1).chosen
    ways = 10.0 * text ** min(loops + 1, _POWER) if not pattern.nested else 10.0 * 2 ** min(text, 64)
    return searches * min(_BACKTRACKING, ways)


AGGREGATES = (
    *("group_concat", "string_agg", "array_agg", "json_agg", "jsonb_agg", "json_arrayagg", "json_object_agg"),
    *("jsonb_object_agg", "json_objectagg", "range_agg", "json_group_array", "json_group_object"),
)
"""Functions that make one value of many rows, as long as all of them."""

_JSON_TEXT = _times(6)
_LIKE = _searched(1, 0, 3)

_RULES: dict[str, Rule] = {
    **dict.fromkeys(("count", "length", "char_length", "character_length", "octet_length", "bit_length"), _small),
    **dict.fromkeys(("ascii", "ord", "crc32", "row_number", "rank", "dense_rank", "ntile", "percent_rank"), _small),
    **dict.fromkeys(("md5", "sha", "sha1", "sha2", "sha224", "sha256", "sha384", "sha512", "soundex"), _small),
    **dict.fromkeys(("left", "right"), _cut(1)),
    **dict.fromkeys(("substr", "substring", "mid"), _cut(2)),
    **dict.fromkeys(("lpad", "rpad"), _padded),
    **dict.fromkeys(("upper", "lower", "ucase", "lcase", "initcap"), _times(3)),
    **dict.fromkeys(("hex", "to_base64", "quote", "quote_literal", "quote_nullable", "quote_ident"), _times(3)),
    **dict.fromkeys(("encode", "decode", "natural_sort_key", "to_tsvector", "weight_string"), _times(8)),
    **dict.fromkeys(("json_quote", "json_object", "json_array", "to_json", "to_jsonb", "row_to_json"), _JSON_TEXT),
    **dict.fromkeys(("json_set", "json_insert", "json_replace", "json_array_append", "json_array_insert"), _JSON_TEXT),
    **dict.fromkeys(("json_build_object", "json_build_array", "jsonb_build_object", "array_to_json"), _JSON_TEXT),
    **dict.fromkeys(("jsonb_build_array", "jsonb_set", "jsonb_insert", "jsonb_object", "unistr"), _JSON_TEXT),
    **dict.fromkeys(("json_pretty", "json_detailed", "json_loose", "jsonb_pretty"), _indented),
    **dict.fromkeys(AGGREGATES, _aggregated),
    "array": _array,
    "row": _quoted,
    "current_query": _statement,
    **dict.fromkeys(("date_format", "time_format", "to_char", "strftime"), _dated),
    **dict.fromkeys(("instr", "split_part", "string_to_array", "string_to_table"), _searched(1, 0, 1)),
    **dict.fromkeys(("locate",), _searched(0, 1, 1)),
    **dict.fromkeys(("position", "strpos", "substring_index"), _searched(1, 0, 1)),
    **dict.fromkeys(("trim", "btrim", "ltrim", "rtrim"), _searched(1, 0, 3)),
    **dict.fromkeys(("like", "glob"), _LIKE),
    **dict.fromkeys(("array_overlap", "jsonb_contains"), _crossed(5)),
    **dict.fromkeys(("multiply", "div", "mod", "gcd", "lcm"), _crossed(0.08)),
    **dict.fromkeys(("regexp_like", "regexp_instr", "regexp_substr"), _searched_by_regex),
    **dict.fromkeys(
        ("json_contains", "json_merge", "json_merge_patch", "json_merge_preserve", "json_equals"), _squared(7)
    ),
    **dict.fromkeys(("json_patch", "json_normalize"), _squared(7)),
    **dict.fromkeys(("extractvalue", "updatexml"), _xpath),
    **dict.fromkeys(("st_geomfromtext", "st_astext", "st_aswkt", "st_asgeojson"), _times(8)),
    **dict.fromkeys(("st_within", "st_contains", "st_distance", "st_intersects"), _squared(20)),
    **dict.fromkeys(("json_extract", "json_value", "json_query", "json_exists", "json_search"), _path),
    **dict.fromkeys(("json_contains_path", "json_remove", "json_length"), _path),
    **dict.fromkeys(("power", "pow", "exp"), _power),
    "regexp_replace": _replaced_by_regex,
    "replace": _replaced,
    "translate": _translated,
    "repeat": _repeated,
    "space": _spaces,
    "concat_ws": _separated,
    "array_to_string": _array_written,
    "array_fill": _unbounded,
    "uncompress": _unbounded,
    "zeroblob": _spaces,
    "randomblob": _spaces,
    "sformat": _formatted(0),
    "printf": _formatted(0),
    "export_set": _set_exported,
    "ts_headline": _squared(30),
    "ts_rank_cd": _squared(1),
}

_BY_DIALECT: dict[Dialect, dict[str, Rule]] = {
    "mysql": {},
    "postgres": {"format": _formatted(0)},
    "sqlite": {"format": _formatted(0)},
}
