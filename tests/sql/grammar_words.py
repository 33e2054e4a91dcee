"""The words of `grammar`, by dialect; `HELD` and `CANARY` stand for names that the judge fills in."""

from __future__ import annotations

from activities.sql.lexing import Dialect

Words = dict[Dialect, tuple[str, ...]]

COLUMNS = ("id", "item", "price", "orders.id", "*", "1", "2", "'tea'", "NULL", "id + 1", "-id")

COMMENTS = (
    " /* x */ ",
    "/**/",
    "/*! */",
    "/*!50000 + SLEEP(9) */",
    "/*!99999 FOR UPDATE */",
    "/*M! + 1 */",
    "/*M!100100 INTO OUTFILE 'CANARY' */",
    "/*/* */*/",
    "/* /* */",
    " -- x\n",
    "--\n",
    "--x\n",
    "-- x",
    "#x\n",
    "# x",
    "/*+ SET_VAR(max_statement_time=0) */",
    "/*!\n*/",
    "/* ! */",
    "*/",
)

BLANKS = (" ", "  ", "\n", "\t", "\r", "\r\n", "\v", "\f", "/**/", "-- x\n", "", "\u00a0", "\u2003", "\u2028", "\ufeff")

INSERTED = (
    *("FOR UPDATE", "FOR SHARE", "FOR UPDATE NOWAIT", "FOR UPDATE OF orders SKIP LOCKED", "LOCK IN SHARE MODE"),
    *("INTO OUTFILE 'CANARY'", "INTO DUMPFILE 'CANARY'", "INTO x", "INTO TEMP x", "INTO @x", "INTO UNLOGGED x"),
    *(";", "; DROP TABLE orders", "; DELETE FROM orders --", "\0", "\x1a", "\x7f", "\ud800", "\U0001f642"),
    *(
        "@x := 1",
        "@x",
        "@@version",
        "@@global.read_only",
        "$1",
        "?",
        ":a",
        "%s",
        "::int",
        "{fn SLEEP(1)}",
        "U&'\\0041'",
    ),
    *("'", '"', "`", "\\", "\\'", "''", "$$", "$a$", "E'", "(", ")", "[", "]", "{", "}", ",", ".", "*", "=", "--"),
    *("SELECT", "FROM", "WITH", "UNION ALL", "INSERT", "DELETE", "TABLE", "VALUES (1)", "RETURNING *", "EXECUTE s"),
    *("ANALYZE", "EXPLAIN", "PROCEDURE ANALYSE()", "FOR SYSTEM_TIME ALL", "OVER (ORDER BY id)", "WITH ROLLUP"),
    *("NEXT VALUE FOR s", "PREVIOUS VALUE FOR s", "0x41", "x'41'", "1e5", ".5", "1--1", "INTERVAL 1 DAY", "AS a"),
)

OPERATORS: Words = {
    "mysql": ("=", "<", "<=>", "!=", "+", "-", "*", "/", "%", "DIV", "AND", "OR", "XOR", "LIKE", "REGEXP", "IN", "->"),
    "postgres": ("=", "<", "<>", "+", "-", "*", "/", "%", "^", "||", "AND", "OR", "LIKE", "ILIKE", "~", "->", "@>"),
    "sqlite": ("=", "<", "<>", "==", "+", "-", "*", "/", "%", "||", "AND", "OR", "LIKE", "GLOB", "->", "IS"),
}

TYPES: Words = {
    "mysql": ("CHAR", "SIGNED", "DECIMAL(10, 2)", "DATE", "BINARY(3)", "JSON", "TIME(6)", "NCHAR"),
    "postgres": ("int", "text", "numeric(10, 2)", "date", "regclass", "jsonb", "int[]", "timestamptz", "bytea", "xid"),
    "sqlite": ("INTEGER", "TEXT", "NUMERIC", "REAL", "BLOB"),
}

LITERALS: Words = {
    "mysql": (
        *("1", "0", "-1", "2.50", "1e3", "'a'", "'it''s'", "'a\\'b'", "'\\\\'", '"say ""hi"""', "N'n'", "x'41'"),
        *("_utf8mb4'x'", "b'101'", "'2024-01-31'", "TRUE", "NULL", "0x4142", "'\\0'", "'/*! */'", "'HELD'", "'%'"),
    ),
    "postgres": (
        *("1", "0", "-1", "2.50", "1e3", "'a'", "'it''s'", "E'a\\'b'", "'a\\'", "$$it's$$", "$t$ $$ $t$", "E'\\x41'"),
        *("B'101'", "'{1,2}'::int[]", "ARRAY[1, 2]", "DATE '2024-01-31'", "true", "NULL", "interval '1 day'"),
        *("'[1]'::jsonb", "'s'::regclass", "ROW(1, 2)", "$é$ $é$", "'orders'", "X'1F'", "N'n'"),
    ),
    "sqlite": ("1", "0", "-1", "2.50", "1e3", "'a'", "'it''s'", "x'41'", "NULL", '"id"', "[id]", "`id`", "0x1F"),
}

SOURCES: Words = {
    "mysql": (
        *("orders", "notes", "s", "shown", "`orders`", "orders o", "information_schema.tables", "mysql.proc", "DUAL"),
        *("(SELECT 1 AS id) q", "seq_1_to_5", "JSON_TABLE('[1]', '$[*]' COLUMNS (id INT PATH '$')) j", "a"),
        "mysql.user",
    ),
    "postgres": (
        *("orders", "notes", "s", "shown", '"orders"', "ONLY orders", "pg_class", "pg_locks"),
        "generate_series(1, 5) id",
        *("(VALUES (1, 'a')) q(id, item)", "unnest(ARRAY[1]) id", "orders TABLESAMPLE SYSTEM (50)", "a", "pg_settings"),
        *("LATERAL (SELECT 1 AS id) q", "information_schema.tables", "pg_stat_activity", "pg_authid", "pg_sequences"),
    ),
    "sqlite": (
        "orders",
        "notes",
        "[orders]",
        "shown",
        "sqlite_schema",
        "pragma_table_info('orders')",
        "json_each('[1]')",
    ),
}

_TAILS = (
    *("ORDER BY 1", "GROUP BY id", "GROUP BY 1 HAVING COUNT(*) > 0", "LIMIT 1", "LIMIT 2 OFFSET 1", "LIMIT 5000"),
    *("FOR UPDATE", "FOR SHARE", "INTO x", ";", "WINDOW w AS (ORDER BY id)", "LIMIT (SELECT 1)"),
)
TAILS: Words = {
    "mysql": (
        *_TAILS,
        *("LIMIT 1, 2", "LOCK IN SHARE MODE", "FOR UPDATE SKIP LOCKED", "FOR UPDATE WAIT 9", "INTO OUTFILE 'CANARY'"),
        *("INTO DUMPFILE 'CANARY'", "INTO @x", "PROCEDURE ANALYSE()", "LIMIT ROWS EXAMINED 5"),
        "GROUP BY id WITH ROLLUP",
    ),
    "postgres": (
        *_TAILS,
        *("FETCH FIRST 2 ROWS ONLY", "FOR NO KEY UPDATE", "FOR KEY SHARE", "FOR UPDATE NOWAIT", "INTO TEMP x"),
        *("OFFSET 1", "GROUP BY ROLLUP (id)", "ORDER BY id NULLS LAST", "FOR UPDATE OF orders", "FOR READ ONLY"),
    ),
    "sqlite": (*_TAILS, "LIMIT 1, 2", "RETURNING *", "INDEXED BY x"),
}

SHOWS: Words = {
    "mysql": (
        *("SHOW TABLES", "SHOW CREATE TABLE orders", "SHOW FULL COLUMNS FROM orders", "SHOW INDEX FROM notes"),
        *("SHOW STATUS LIKE 'Com%'", "SHOW VARIABLES WHERE SLEEP(9)", "SHOW PROCESSLIST", "SHOW ENGINE INNODB STATUS"),
        *("SHOW BINLOG EVENTS", "SHOW GRANTS", "DESCRIBE orders", "DESC orders item", "SHOW CREATE SEQUENCE s"),
        *("SHOW TABLE STATUS WHERE Name = 'orders'", "SHOW TRIGGERS", "SHOW PROCEDURE STATUS", "SHOW EXPLAIN FOR 1"),
    ),
    "postgres": ("SHOW ALL", "SHOW TIME ZONE", "SHOW server_version", "SHOW x.y", "SHOW 'a'", "SHOW a; SELECT 1"),
    "sqlite": ("PRAGMA table_info(orders)", "PRAGMA user_version = 5", "PRAGMA journal_mode"),
}

EXPLAINS: Words = {
    "mysql": (
        *("EXPLAIN", "EXPLAIN EXTENDED", "EXPLAIN FORMAT=JSON", "DESCRIBE", "ANALYZE", "ANALYZE FORMAT=JSON"),
        *("EXPLAIN ANALYZE", "EXPLAIN/**/ANALYZE", "DESC FORMAT=JSON", "EXPLAIN FOR CONNECTION 1;"),
    ),
    "postgres": (
        *("EXPLAIN", "EXPLAIN VERBOSE", "EXPLAIN (FORMAT JSON)", "EXPLAIN (COSTS OFF)", "EXPLAIN ANALYZE"),
        *("EXPLAIN (ANALYZE)", "EXPLAIN (VERBOSE, ANALYZE TRUE)", "EXPLAIN (ANALYZE OFF)", "EXPLAIN ANALYSE VERBOSE"),
    ),
    "sqlite": ("EXPLAIN", "EXPLAIN QUERY PLAN", "EXPLAIN ANALYZE"),
}

SLOW: Words = {
    "mysql": (
        "SELECT COUNT(*) FROM seq_1_to_100000 x, seq_1_to_100000 y, seq_1_to_100000 z",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r x, r y, r z",
        "SELECT MAX(x.seq REGEXP '(1+)+2') FROM seq_1_to_10000000 x, seq_1_to_100 y",
    ),
    "postgres": (
        "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
        "SELECT count(*) FROM pg_class a, pg_class b, pg_class c, pg_class d",
    ),
    "sqlite": ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",),
}

_WRITES = (
    *("INSERT INTO orders VALUES (9, 'x', 1)", "UPDATE orders SET item = 'x'", "DELETE FROM orders"),
    "DROP TABLE notes",
    *("DELETE FROM orders RETURNING *", "CREATE TABLE x (a INT)", "CREATE TABLE x AS SELECT 1", "TRUNCATE TABLE notes"),
    *("ALTER TABLE notes ADD COLUMN x INT", "SET @x = 1", "BEGIN", "COMMIT", "START TRANSACTION READ WRITE"),
    *("INSERT INTO notes SELECT 9", "CREATE VIEW x AS SELECT 1", "ANALYZE TABLE orders"),
    "WITH a AS (SELECT 1) DELETE FROM orders",
)
WRITES: Words = {
    "mysql": (
        *_WRITES,
        *("CALL emptied()", "DO SLEEP(9)", "DO RELEASE_ALL_LOCKS()", "HANDLER orders OPEN"),
        "HANDLER orders READ FIRST",
        *("LOCK TABLES orders WRITE", "SET GLOBAL wait_timeout = 77"),
        "SET STATEMENT max_statement_time = 0 FOR SELECT 1",
        *("LOAD DATA INFILE 'CANARY' INTO TABLE notes", "PREPARE s FROM 'DELETE FROM notes'"),
        "EXECUTE IMMEDIATE 'DO 1'",
        *("XA START 'x'", "REPLACE INTO notes VALUES (9)", "CREATE USER HELD_x", "FLUSH TABLES notes"),
        "OPTIMIZE TABLE notes",
        *("SELECT 1 INTO OUTFILE 'CANARY'", "CREATE FUNCTION x() RETURNS INT RETURN 1", "RENAME TABLE notes TO x"),
        *("BEGIN NOT ATOMIC DELETE FROM notes; END", "CREATE TEMPORARY TABLE x (a INT)", "KILL QUERY 0", "USE mysql"),
    ),
    "postgres": (
        *_WRITES,
        *("CALL emptied()", "DO $$ BEGIN DELETE FROM notes; END $$", "COPY notes TO 'CANARY'", "COPY notes FROM STDIN"),
        *("COPY (SELECT 1) TO PROGRAM 'true'", "PREPARE x AS DELETE FROM notes", "EXECUTE x", "LISTEN x", "NOTIFY x"),
        *("LOCK TABLE orders", "VACUUM notes", "REINDEX TABLE notes", "CLUSTER", "SET ROLE postgres", "RESET ALL"),
        *("REFRESH MATERIALIZED VIEW kept", "CREATE EXTENSION pgcrypto", "ALTER SYSTEM SET work_mem = '5MB'"),
        "CHECKPOINT",
        *("MERGE INTO notes USING orders ON true WHEN MATCHED THEN DELETE", "DECLARE c CURSOR FOR SELECT 1"),
        "FETCH ALL c",
        *("SELECT * INTO x FROM orders", "COMMENT ON TABLE notes IS 'x'", "SECURITY LABEL ON TABLE notes IS 'x'"),
    ),
    "sqlite": (*_WRITES, "ATTACH 'CANARY' AS x", "VACUUM INTO 'CANARY'", "PRAGMA user_version = 9", "REINDEX"),
}

FORBIDDEN_CALLS: Words = {
    "mysql": tuple(
        f"SELECT {call}"
        for call in (
            *("SLEEP(9)", "sleep (9)", "`SLEEP`(9)", "BENCHMARK(100000000, MD5('a'))", "GET_LOCK('HELD', 9)"),
            *("GET_LOCK('other', 0)", "RELEASE_LOCK('HELD')", "RELEASE_ALL_LOCKS()", "IS_USED_LOCK('HELD')"),
            *("NEXTVAL(s)", "SETVAL(s, 500)", "LASTVAL(s)", "NEXT VALUE FOR s", "LOAD_FILE('/etc/passwd')"),
            "written()",
            *("LAST_INSERT_ID(5)", "MASTER_POS_WAIT('x', 1)", "MASTER_GTID_WAIT('0-1-9999', 9)", "@x := SLEEP(9)"),
            *("sys.written()", "UUID_SHORT()", "orders.written()", "ENCRYPT('a')", "WSREP_SYNC_WAIT_UPTO_GTID('1')"),
        )
    ),
    "postgres": tuple(
        f"SELECT {call}"
        for call in (
            *("pg_sleep(9)", "pg_catalog.pg_sleep(9)", '"pg_sleep"(9)', "pg_sleep_for('9 s')", "pg_sleep_until(now())"),
            *("pg_advisory_lock(1)", "pg_advisory_xact_lock(1)", "pg_try_advisory_lock(2)", "pg_advisory_unlock_all()"),
            *("pg_advisory_lock_shared(1)", "nextval('s')", "setval('s', 500)", "currval('s')", "written()"),
            "lastval()",
            *("lo_import('/etc/hostname')", "lo_create(0)", "lo_creat(-1)", "lo_export(1, 'CANARY')", "lo_unlink(1)"),
            *("set_config('statement_timeout', '0', false)", "set_config('transaction_read_only', 'off', true)"),
            *("pg_terminate_backend(0)", "pg_cancel_backend(0)", "pg_notify('a', 'b')", "txid_current()", "lo_get(1)"),
            *("pg_current_xact_id()", "pg_read_file('/etc/hostname')", "pg_ls_dir('.')", "pg_stat_reset()"),
            "setseed(0)",
            *("query_to_xml('DELETE FROM orders', true, true, '')", "dblink('', 'DELETE FROM orders')", "version(1)"),
            *("pg_logical_emit_message(true, 'a', 'b')", "pg_create_restore_point('x')", "pg_export_snapshot()"),
            *("pg_create_physical_replication_slot('HELD')", "ts_stat('DELETE FROM orders')"),
            "pg_import_system_collations(1)",
            *("brin_summarize_new_values('x')", "gin_clean_pending_list('x')", "pg_stat_reset_shared('bgwriter')"),
            *("pg_log_backend_memory_contexts(0)", "pg_promote(false)", "pg_backup_start('x')"),
            "pg_extension_config_dump(1, '')",
        )
    ),
    "sqlite": (
        "SELECT load_extension('x')",
        "SELECT randomblob(1)",
        "SELECT writefile('CANARY', 'x')",
        "SELECT edit('x')",
    ),
}

OTHERS: Words = {
    "mysql": (
        "SELECT * FROM orders FOR UPDATE",
        "SELECT * FROM notes WHERE id IN (SELECT id FROM orders LOCK IN SHARE MODE)",
        "(SELECT * FROM orders) FOR UPDATE",
        "SELECT * FROM orders INTO OUTFILE 'CANARY'",
        *SLOW["mysql"],
    ),
    "postgres": (
        "SELECT * FROM orders FOR UPDATE",
        "SELECT * FROM (SELECT * FROM orders FOR KEY SHARE) q",
        "WITH a AS (UPDATE notes SET id = 5 RETURNING *) SELECT * FROM a",
        "COPY notes TO 'CANARY'",
        *SLOW["postgres"],
    ),
    "sqlite": ("SELECT '{' -> 'a' FROM orders", *SLOW["sqlite"]),
}
"""Statements that a judge must see through, were they to get past the guard; and some that run for hours."""
