"""Hypothesis strategies for calls that make long texts of short ones, and calls that take long over them.

A server looks at its time-out between rows, not within a call: without a bound on these, one call runs for minutes.
`grammar` puts them into its statements; `test_work` measures them.
"""

from __future__ import annotations

from collections.abc import Callable

from activities.sql.lexing import Dialect

Pick = Callable[[int], int]
"""Draws a number below its argument."""

_PIECES = ("a", "ab", "xyz", "1", "[1,", "<a>", "aaaaaaaab", "ä", "a,", " ")

_REPEATS = (2, 10, 100, 1000, 5000, 100_000, 2_000_000)

_COMMON = (
    "CONCAT({a}, {b})",
    "CONCAT({a}, {a}, {a}, {a})",
    "CONCAT_WS({a}, {b}, {a}, 'x', 'y')",
    "REPLACE({a}, '{p}', '{q}')",
    "REPLACE({a}, {b}, {c})",
    "LPAD({a}, {n}, {b})",
    "RPAD({a}, {n}, 'xy')",
    "LEFT({a}, {n})",
    "UPPER({a})",
    "REVERSE({a})",
    "(SELECT q.v FROM (SELECT {a} AS v) q)",
    "(SELECT CONCAT(q.v, q.v, q.v) FROM (SELECT {a} AS v) q)",
    "(WITH q(v) AS (SELECT {a}), r AS (SELECT CONCAT(v, v) AS w FROM q) SELECT CONCAT(w, w) FROM r)",
    "COALESCE(NULL, {a})",
    "CASE WHEN 1 = 1 THEN {a} ELSE {b} END",
    "(SELECT v FROM (SELECT {b} AS v UNION ALL SELECT {a}) q LIMIT 1 OFFSET 1)",
)
_MAKING: dict[Dialect, tuple[str, ...]] = {
    "mysql": (
        *_COMMON,
        "HEX({a})",
        "TO_BASE64({a})",
        "QUOTE({a})",
        "SPACE({n})",
        "INSERT({a}, 2, 1, {b})",
        "EXPORT_SET(5, {a}, {b}, ',', 64)",
        "JSON_QUOTE({a})",
        "JSON_ARRAY({a}, {b})",
        "JSON_OBJECT('k', {a})",
        "CAST({a} AS BINARY({n}))",
        "REGEXP_REPLACE({a}, '{p}', '{q}')",
        "SFORMAT('{{}}{{}}', {a}, {b})",
        "UNCOMPRESS(COMPRESS({a}))",
        "DATE_FORMAT('2024-01-31', {a})",
        "SUBSTRING_INDEX({a}, '{p}', 3)",
        "(SELECT GROUP_CONCAT({a} SEPARATOR ',') FROM orders)",
        "CONVERT({a} USING utf32)",
        "JSON_DETAILED({a})",
    ),
    "postgres": (
        *_COMMON,
        "({a} || {b})",
        "md5({a})",
        "quote_literal({a})",
        "translate({a}, {b}, {c})",
        "encode(decode({a}, 'escape'), 'hex')",
        "(SELECT string_agg({a}, ',') FROM orders)",
        "array_to_string(string_to_array({a}, '{p}'), {b})",
        "array_to_string(array_fill({a}, ARRAY[{n}]), ',')",
        "regexp_replace({a}, '{p}', '{q}', 'g')",
        "format('%s%{n}s', {a}, {b})",
        "CAST({a} AS char({n}))",
        "to_json({a})::text",
        "to_char(now(), {a})",
        "overlay({a} placing {b} from 2)",
        "initcap({a})",
        "(2::numeric ^ {n})::text",
        "jsonb_pretty(to_jsonb({a}))",
    ),
    "sqlite": (*_COMMON, "({a} || {b})", "printf('%{n}d', 1)", "hex({a})", "group_concat({a})", "zeroblob({n})"),
}
"""What makes a text: `a`, `b` and `c` are texts, `n` a number, `p` and `q` pieces."""

_TAKING: dict[Dialect, tuple[str, ...]] = {
    "mysql": (
        *("INSTR({a}, {b})", "LOCATE({b}, {a})", "{a} LIKE CONCAT('%', {b}, '%')", "REPLACE({a}, {b}, {c})"),
        *("SUBSTRING_INDEX({a}, {b}, -2)", "FIND_IN_SET({b}, {a})", "TRIM({b} FROM {a})", "{a} REGEXP '{r}'"),
        *("REGEXP_REPLACE({a}, '{r}', '{q}')", "REGEXP_SUBSTR({a}, '{r}')", "REGEXP_INSTR({a}, {b})", "{a} REGEXP {b}"),
        *("JSON_MERGE_PRESERVE({a}, {b})", "JSON_CONTAINS({a}, {b})", "JSON_DEPTH({a})", "SHA2({a}, 512)"),
        *("JSON_EXTRACT({a}, '$**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[1]')", "JSON_VALID({a})"),
        *("EXTRACTVALUE({a}, '//a//a')", "UPDATEXML({a}, '//a', {b})", "COMPRESS({a})", "JSON_NORMALIZE({a})"),
        *("ST_WITHIN(ST_GEOMFROMTEXT({a}), ST_GEOMFROMTEXT({b}))", "CRC32({a})", "STRCMP({a}, {b})", "LENGTH({a})"),
    ),
    "postgres": (
        *("strpos({a}, {b})", "{a} LIKE '%' || {b} || '%'", "{a} ILIKE {b}", "replace({a}, {b}, {c})", "md5({a})"),
        *("btrim({a}, {b})", "translate({a}, {b}, {c})", "{a} ~ '{r}'", "regexp_replace({a}, '{r}', '{q}', 'g')"),
        *("split_part({a}, {b}, 3)", "string_to_array({a}, {b})", "to_tsvector({a})", "length({a})", "upper({a})"),
        *(
            "sha512(decode({a}, 'escape'))",
            "ts_headline({a}, to_tsquery('a'))",
            "string_to_array({a}, 'a') && string_to_array({b}, 'b')",
        ),
        *(
            "(2::numeric ^ {n}) % (3::numeric ^ {n})",
            "({a})::jsonb",
            "array_to_string(string_to_array({a}, NULL), {b})",
        ),
    ),
    "sqlite": (
        "instr({a}, {b})",
        "replace({a}, {b}, {c})",
        "{a} LIKE '%' || {b} || '%'",
        "{a} GLOB {b}",
        "length({a})",
    ),
}
"""What takes a text, `r` being a pattern."""

_PATTERNS = ("a", "[0-9]+", "a*a*b", "(a+)+[bd]|c", "(a|aa)*b", ".*a.*a.*c", "(a?){20}a", "x{2,}y", "b$", "^", "")


class Long:
    """Writes expressions by what it picks."""

    def __init__(self, pick: Pick, dialect: Dialect) -> None:
        self._pick = pick
        self._dialect: Dialect = dialect

    def taking(self) -> str:
        """Write a call that takes long texts."""
        return self._filled(self._one(_TAKING[self._dialect]), 2)

    def making(self, depth: int) -> str:
        """Write a text, of calls in calls."""
        kind = self._pick(6) if depth else 0
        if kind == 0:
            return f"'{self._one(_PIECES) * (1 + self._pick(60))}'"
        if kind < 3:
            return f"REPEAT({self.making(depth - 1)}, {self._one(_REPEATS)})"
        return self._filled(self._one(_MAKING[self._dialect]), depth - 1)

    def columns(self) -> str:
        """Write a query whose columns are made of the columns of a query, and so on."""
        query = "SELECT id AS a FROM orders"
        for place in range(1 + self._pick(25)):
            query = f"SELECT {self._one(('a + a', 'a * a', 'ABS(a) + a', 'a'))} AS a FROM ({query}) q{place}"
        return query

    def _filled(self, form: str, depth: int) -> str:
        words: dict[str, str] = {name: self.making(depth) for name in ("a", "b", "c") if f"{{{name}}}" in form}
        pieces = {"p": self._one(_PIECES), "q": self._one(_PIECES) * (1 + self._pick(9)), "r": self._one(_PATTERNS)}
        return form.format(**words, **pieces, n=self._one(_REPEATS))

    def _one(self, options: tuple[str, ...] | tuple[int, ...]) -> str:
        return str(options[self._pick(len(options))])
