"""Statements whose calls are quick enough and statements whose calls are not, by dialect; no test of its own."""

from __future__ import annotations

from activities.sql.lexing import Dialect

USUAL: dict[Dialect, tuple[str, ...]] = {
    "mysql": (
        "SELECT * FROM t WHERE msg LIKE '%timeout%' AND a LIKE CONCAT('%', b, '%')",
        "SELECT REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(a,'&','&amp;'),'<','&lt;'),'>','&gt;'),'\"','&quot;'),"
        "'|','&#39;') FROM t",
        "SELECT REPEAT('#', 20), LPAD(id, 10, '0'), RPAD(name, 30, ' '), REPEAT('*', LEAST(n, 80)) FROM t",
        "SELECT SUBSTRING_INDEX(GROUP_CONCAT(x ORDER BY y DESC), ',', 1) FROM t GROUP BY z",
        "SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(GROUP_CONCAT(x ORDER BY y), ',', 10), ',', -1) FROM t GROUP BY z",
        "SELECT REGEXP_REPLACE(msg, '[0-9]+', '<n>') AS m, COUNT(*) FROM t GROUP BY m ORDER BY COUNT(*) DESC",
        "SELECT REGEXP_REPLACE(REGEXP_REPLACE(REGEXP_REPLACE(msg, '[0-9a-f]{8}-[0-9a-f]{4}', '<uuid>'), "
        "'([0-9]{1,3}\\\\.){3}[0-9]{1,3}', '<ip>'), '[0-9]+', '<n>') AS m, COUNT(*) FROM t GROUP BY 1",
        "SELECT REGEXP_REPLACE(msg, '.*id=([0-9]+).*', '\\\\1') FROM t",
        "SELECT REGEXP_SUBSTR(msg, 'user=[^ ]+') AS u, COUNT(*) AS c FROM t WHERE msg REGEXP 'timeout.*upstream.*a.*' "
        "GROUP BY u HAVING c > 1 ORDER BY c",
        "WITH RECURSIVE c AS (SELECT id, CAST(name AS CHAR(500)) AS path FROM n WHERE parent IS NULL UNION ALL "
        "SELECT n.id, CONCAT(c.path, '/', n.name) FROM n JOIN c ON n.parent = c.id) "
        "SELECT *, LENGTH(path) - LENGTH(REPLACE(path, '/', '')) AS depth FROM c ORDER BY path",
        "WITH RECURSIVE c AS (SELECT id, CAST(id AS CHAR(200)) AS path FROM n UNION ALL SELECT n.id, "
        "CONCAT(c.path, ',', n.id) FROM n JOIN c ON n.parent = c.id WHERE NOT FIND_IN_SET(n.id, c.path) AND "
        "c.path NOT LIKE CONCAT('%,', n.id, ',%')) SELECT * FROM c",
        "SELECT JSON_EXTRACT(doc, '$.a.b'), doc->>'$.x', JSON_CONTAINS(tags, '\"x\"'), "
        "JSON_EXTRACT(doc, '$**.id') FROM t",
        "SELECT a.*, b.n FROM a JOIN (SELECT k, GROUP_CONCAT(DISTINCT v SEPARATOR ', ') AS n FROM b GROUP BY k) b "
        "USING (k) WHERE b.n LIKE '%foo%'",
        "SELECT COUNT(*), SUM(x * y / 100), ROUND(100.0 * SUM(a) / SUM(b), 2), DATE_FORMAT(ts, '%Y-%m-%d %H:00') AS h "
        "FROM t GROUP BY h",
        "SELECT POWER(a - b, 2) * POWER(c, 2), SQRT(POWER(a, 2) + POWER(b, 2)), size / POWER(1024, 3) FROM t",
        "WITH RECURSIVE s(d) AS (SELECT CAST('2024-01-01' AS DATE) UNION ALL SELECT d + INTERVAL 1 DAY FROM s "
        "WHERE d < '2024-02-01') SELECT s.d, COUNT(t.id) FROM s LEFT JOIN t ON DATE(t.ts) = s.d GROUP BY s.d",
        "SELECT EXTRACTVALUE(doc, '/a/b/c'), EXTRACTVALUE(doc, '//c') FROM t",
        "SELECT id FROM t WHERE " + " OR ".join(f"a = {number}" for number in range(900)),
        " UNION ALL ".join(f"SELECT {number}" for number in range(700)),
    ),
    "postgres": (
        "SELECT string_agg(name, ', ' ORDER BY name), array_to_string(array_agg(DISTINCT x), ','), "
        "upper(string_agg(a, '')), replace(string_agg(a, ','), ',', ', ') FROM t GROUP BY k "
        "HAVING string_agg(x, ',') LIKE '%timeout%'",
        "WITH RECURSIVE c AS (SELECT id, name::text AS path, ARRAY[id] AS ids FROM n WHERE parent IS NULL UNION ALL "
        "SELECT n.id, c.path || '/' || n.name, ids || n.id FROM n JOIN c ON n.parent = c.id "
        "WHERE NOT n.id = ANY(ids) AND c.path NOT LIKE '%' || n.name || '%') SELECT * FROM c ORDER BY path",
        "SELECT regexp_replace(msg, '[0-9]+', '<n>', 'g') AS m, count(*) FROM t GROUP BY m",
        "SELECT d::date, (SELECT string_agg(x, ',') FROM t WHERE t.day = d) "
        "FROM generate_series('2024-01-01'::date, '2024-02-01', '1 day') d",
        "SELECT string_agg(n::text, ',') FROM generate_series(1, 10) n",
        "SELECT round((100.0 * a / b)::numeric, 2), round(x::numeric * y::numeric / z::numeric, 2), "
        "to_char(ts, 'YYYY-MM-DD HH24:MI') FROM t",
        "SELECT pg_size_pretty(pg_total_relation_size(c.oid)), relname FROM pg_class c WHERE relkind = 'r' "
        "ORDER BY pg_total_relation_size(c.oid) DESC",
        "SELECT jsonb_pretty(doc), doc->'a'->>'b', doc @> '{\"a\":1}' FROM t",
        "SELECT array_to_string(ARRAY(SELECT name FROM t ORDER BY 1), ','), format('%s-%5s', a, b) FROM t",
    ),
    "sqlite": (
        "SELECT group_concat(name, ', '), printf('%05d', id), upper(name) FROM t WHERE name LIKE '%a%'",
        "WITH RECURSIVE c(id, path) AS (SELECT id, name FROM n UNION ALL SELECT n.id, c.path || '/' || n.name FROM n "
        "JOIN c ON n.parent = c.id) SELECT * FROM c WHERE instr(path, 'x') > 0",
    ),
}
"""What people ask."""

_LONG = "'" + "a" * 4000 + "'"

LATE: dict[Dialect, tuple[tuple[str, str], ...]] = {
    "mysql": (
        (f"SELECT REPLACE(REPEAT({_LONG}, 1000), 'a', 'bb')", "REPLACE"),
        (f"SELECT REPLACE(REPEAT({_LONG}, 1000), CONCAT({_LONG}, 'b'), '')", "REPLACE"),
        ("SELECT INSTR(REPEAT('a', 1000000), CONCAT(REPEAT('a', 100000), 'b'))", "INSTR"),
        ("SELECT REPEAT('a', 1000000) LIKE CONCAT('%', REPEAT('a', 10000), 'b%')", "LIKE"),
        ("SELECT REPEAT('a', n) FROM t", "REPEAT"),
        ("SELECT LPAD('a', n, 'b') FROM t", "LPAD"),
        (f"SELECT REGEXP_REPLACE(CONCAT({_LONG}, {_LONG}, {_LONG}), '[a]', 'b')", "REGEXP_REPLACE"),
        (f"SELECT REGEXP_REPLACE({_LONG}, '(a+)+[bd]|c', '')", "REGEXP_REPLACE"),
        ("SELECT REGEXP_REPLACE(GROUP_CONCAT(x), '[0-9]+', '') FROM t", "REGEXP_REPLACE"),
        (f"SELECT JSON_MERGE_PATCH({_LONG}, REPEAT({_LONG}, 4))", "JSON_MERGE_PATCH"),
        ("SELECT JSON_EXTRACT(x, '$**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[0]**[1]') FROM t", "JSON_EXTRACT"),
        (
            "WITH a AS (SELECT REPEAT('a', 100000) AS x), b AS (SELECT CONCAT(x, x) AS x FROM a) SELECT "
            "INSTR(b.x, CONCAT(c.x, 'b')) FROM b, b c",
            "INSTR",
        ),
        (
            "SELECT 1 FROM t WHERE (SELECT REPLACE(y, 'a', 'bb') FROM (SELECT REPEAT('a', 4000000) AS y) q) = 1",
            "REPLACE",
        ),
        ("SELECT x FROM (SELECT REPEAT('a', 500000) AS x) q ORDER BY REPLACE(x, 'a', 'bb')", "REPLACE"),
        ("SELECT REPEAT('a', 500000) AS x FROM t HAVING REPLACE(x, 'a', 'bb') > 1", "REPLACE"),
        ("SELECT REPLACE(v, 'a', 'bb') FROM (SELECT 1 AS v UNION ALL SELECT REPEAT('a', 500000)) q", "REPLACE"),
        ("SELECT REPLACE(q.v, 'a', 'bb') FROM t JOIN (SELECT REPEAT('a', 500000)) q (v)", "REPLACE"),
        (
            "WITH RECURSIVE r(x) AS (SELECT CAST('a' AS CHAR(1000000)) UNION ALL SELECT CONCAT(x, x) FROM r) "
            "SELECT COUNT(REPLACE(x, 'a', 'b')) FROM r",
            "CONCAT",
        ),
        ("SELECT CONVERT(REPEAT('a', 500000) USING utf32) LIKE REPEAT('a', 1000)", "LIKE"),
    ),
    "postgres": (
        ("SELECT repeat('a', 1000000000)", "REPEAT"),
        ("SELECT repeat('a', n) FROM t", "REPEAT"),
        ("SELECT translate(repeat('a', 1000000), repeat('b', 10000), '')", "TRANSLATE"),
        ("SELECT btrim(repeat('a', 100000), repeat('b', 10000) || 'a')", "BTRIM"),
        ("SELECT array_to_string(string_to_array(repeat('a,', 10000), ','), repeat('b', 100000))", "ARRAY_TO_STRING"),
        ("SELECT array_to_string(array_fill(1, ARRAY[100000000]), ',')", "ARRAY_FILL"),
        ("SELECT format('%1000000000s', a) FROM t", "FORMAT"),
        ("SELECT ts_headline(repeat('a b ', 10000), to_tsquery('a'))", "TS_HEADLINE"),
        ("SELECT ('[' || repeat('1e100000,', 10000) || '1]')::jsonb", "REPEAT"),
        ("SELECT md5(string_agg('aaaaaaaaaaaaaaaaaaaaaaaa', '')) FROM generate_series(1, 100000000)", "MD5"),
        ("SELECT string_to_array(a, ',') && string_to_array(repeat('b,', 1000000), ',') FROM t", "ARRAY_OVERLAP"),
        (
            "SELECT (3::numeric ^ 200000) % (7::numeric ^ 90000) * (3::numeric ^ 200000) % (5::numeric ^ 100000)",
            "MULTIPLY",
        ),
        ("WITH RECURSIVE r(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM r) SELECT length(x) FROM r", "LENGTH"),
        (
            "SELECT translate(row_to_json(q)::text, repeat('b', 10000), '') FROM (SELECT repeat('a', 1000000)) q",
            "TRANSLATE",
        ),
    ),
    "sqlite": (
        (
            "SELECT replace(hex(zeroblob(1000000)), '00000000000000000000001', 'x') || printf('%1000000000d', 1)",
            "PRINTF",
        ),
        ("SELECT instr(zeroblob(10000000), zeroblob(100000))", "INSTR"),
    ),
}
"""What would keep a server busy far beyond any time-out, and who is named for it."""

_WITHIN: dict[Dialect, tuple[tuple[str, str], ...]] = {
    "mysql": (
        ("NULLIF(", ", item)"),
        ("(", " IN (SELECT id FROM orders))"),
        ("(", " >= ALL (SELECT id FROM orders))"),
        ("(id > ALL (SELECT ", " FROM orders))"),
    ),
    "postgres": (("ROW(", ", 1)"), ("(", ", 1)"), ("ARRAY[ROW(", ")]")),
    "sqlite": (),
}
"""What is computed, or written, anew for each that it stands in."""


def nested(dialect: Dialect, depth: int) -> list[str]:
    """Statements with such things within each other."""
    return [f"SELECT {before * depth}id{after * depth} FROM orders" for before, after in _WITHIN[dialect]]
