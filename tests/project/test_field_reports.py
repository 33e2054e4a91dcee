"""Public reports of what went wrong with agents' tools, each as a case for ours: input, and what is right.

Of those about logs and SQL that no other test states word for word; `tests/boundary/test_field_reports.py` has those
about calls, `tests/runs/test_field_reports.py` those about runs. docs/requirements.yaml lists them all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from activities.logs import LogSource
from boundary.errors import ErrorCode
from tests.logs.support import PLAIN, Logs, app, logs
from tests.sql.support import unconnected


@pytest.fixture
def web(tmp_path: Path) -> Logs:
    """One small log."""
    (tmp_path / "secret.txt").write_text("2024-05-01 10:00:00 root:x:0:0\n")
    (tmp_path / "logs").mkdir()
    return app(tmp_path / "logs", "2024-05-01 10:00:00 ok\n", **PLAIN)


@pytest.mark.proves("FIELD-ESCAPES")
@pytest.mark.parametrize(
    "name", ["../secret.txt", "../../etc/shadow", "app/../../secret.txt", "-f x", "app\0", "app.log"]
)
def test_a_path_is_no_source(web: Logs, name: str) -> None:
    """HolmesGPT/holmesgpt 2384: checks that a path slips through. Ours takes names of sources and nothing else."""
    error = web.check("search_logs", source=name)
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.proves("FIELD-ESCAPES")
@pytest.mark.parametrize("pattern", ["-f x", "--include=*", "$(id)", "`id`", "; rm -rf /", "| tee x"])
def test_an_option_or_a_command_is_a_pattern_like_any_other(web: Logs, pattern: str) -> None:
    """HolmesGPT/holmesgpt 2384: there is no shell and no program whose options they could be."""
    assert web.search(text=pattern)["matched"] == 0


@pytest.mark.proves("FIELD-ESCAPES")
def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path, web: Logs) -> None:
    """The same by a link: it is named, with the reason, and not read."""
    (tmp_path / "logs" / "link.log").symlink_to(tmp_path / "secret.txt")
    linked = logs(LogSource(name="app", glob=f"{tmp_path}/logs/*.log", **PLAIN))
    result = linked.search(text="root")
    assert (result["matched"], [item["file"] for item in result["looked_at"]["skipped"]]) == (0, ["link.log"])


@pytest.mark.proves("FIELD-REGEX-BOMBS")
def test_a_regular_expression_that_explodes_elsewhere_is_answered(tmp_path: Path) -> None:
    """fboiero/MIESC 133: `(a+)+$` on a line of 10 kB."""
    bomb = app(tmp_path, "2024-05-01 10:00:00 " + "a" * 10_000 + "!\n", **PLAIN)
    assert bomb.search(pattern="(a+)+$")["matched"] == 0


@pytest.mark.proves("FIELD-REGEX-BOMBS")
@pytest.mark.parametrize("pattern", ["(?<=a)b", "(?<!a)b"])
def test_look_behind_is_refused_with_the_limit(web: Logs, pattern: str) -> None:
    """pydantic/pydantic-ai-harness 332: refused before anything is read, and the message says what to write instead."""
    error = web.check("search_logs", source="app", pattern=pattern)
    assert error is not None
    assert (error.code, "no look-ahead or look-behind" in error.message) == (ErrorCode.INVALID_ARGUMENTS, True)
    assert "exclude" in error.message


@pytest.mark.proves("FIELD-CUT-JSON")
def test_the_same_search_cut_twice_is_the_same_and_says_so(tmp_path: Path) -> None:
    """amd/gaia 2620: 3,000 rows over the cap. Whole rows are left out, and the answer says how many are shown."""
    rows = app(
        tmp_path, "".join(f"2024-05-01 10:00:00 row {number:04} {'x' * 80}\n" for number in range(3000)), **PLAIN
    )
    first, again = (rows.search(text="row", limit=500) for _ in range(2))
    assert first == again
    assert (first["matched"], first["truncated"], first["shown"]) == (3000, True, len(first["lines"]))
    assert 50 < first["shown"] < 500
    assert first["next_offset"] == first["shown"]


@pytest.mark.proves("FIELD-TIME-WINDOWS")
def test_cause_and_effect_of_two_sources_are_in_order_by_utc(tmp_path: Path) -> None:
    """HolmesGPT/holmesgpt 519, greeves89/AI-Employee 680: a log in local time and one in UTC, swapped by two hours."""
    for name, line in (
        ("local.log", "2024-07-01 12:00:05 payment failed"),
        ("utc.log", "2024-07-01 10:00:03 disk full"),
    ):
        (tmp_path / name).write_text(line + "\n")
    form = "%Y-%m-%d %H:%M:%S"
    tools = logs(
        LogSource(name="local", path=tmp_path / "local.log", timestamp=form, zone="Europe/Berlin"),
        LogSource(name="utc", path=tmp_path / "utc.log", timestamp=form, zone="UTC"),
    )
    effect, cause = (
        tools.project("search_logs", source=name, since="2024-07-01T10:00:00Z").agent_result
        for name in ("local", "utc")
    )
    assert cause["first"]["time"] == "2024-07-01T10:00:03Z"
    assert effect["first"]["time"] == "2024-07-01T10:00:05Z"
    asked = tools.project("search_logs", source="local", since="2024-07-01T12:00:00").agent_result
    assert asked["window"] == {"since": "2024-07-01T10:00:00Z", "zone": "Europe/Berlin"}


@pytest.mark.proves("FIELD-STATEMENTS-THAT-DO-MORE")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 /*!50000 INTO OUTFILE '/x' */",
        "/*!50000 DROP TABLE t */",
        "SELECT 1 INTO/**/OUTFILE '/x'",
        "LOAD/**/DATA INFILE '/x' INTO TABLE t",
        "/* only reading */ INSERT INTO t VALUES (1)",
        "-- only reading\nDELETE FROM t",
        "SELECT * FROM t INTO DUMPFILE '/x'",
        "SELECT * FROM t FOR UPDATE",
        "SELECT GET_LOCK('x', 10)",
        "SELECT SLEEP(600)",
        "SELECT @a:=1",
        "EXPLAIN ANALYZE SELECT * FROM t",
    ],
)
def test_what_writes_waits_or_locks_is_refused_before_any_connection(statement: str) -> None:
    """bytebase/dbhub 284, t8y2/dbx 3156, awslabs/mcp 4044, raycast/extensions 29707, riii111/sabiql 562."""
    error = unconnected("mysql").check("query_database", source="db", sql=statement)
    assert error is not None
    assert error.code is ErrorCode.NOT_READ_ONLY


@pytest.mark.proves("FIELD-FALSE-REFUSALS")
@pytest.mark.parametrize(
    "statement",
    [
        "SHOW CREATE TABLE t",
        "SELECT id AS `drop` FROM t",
        "SELECT * FROM t WHERE name LIKE '%DELETE%'",
        "SELECT REPLACE(name, 'a', 'b') FROM t",
        "/* DROP TABLE t */ SELECT 1",
        "-- INSERT\nSELECT 1",
        "SELECT '/*!50000 INTO OUTFILE ''/x'' */'",
    ],
)
def test_what_only_looks_like_writing_is_allowed(statement: str) -> None:
    """t8y2/dbx 3156: names, literals and comments that hold such words."""
    assert unconnected("mysql").check("query_database", source="db", sql=statement) is None
