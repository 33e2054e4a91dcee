"""JSON lines: times, levels and groups are fields, by their paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from activities.logs import LogSource
from activities.logs.fields import JsonLine
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure
from tests.logs.support import Logs, app

JSON: dict[str, Any] = {"format": "json", "timestamp": "%Y-%m-%dT%H:%M:%S.%f%z", "timestamp_field": "time.created"}
LINES = [
    '{"time":{"created": "2024-05-01T08:00:00.250Z"}, "level":"info", "http": {"status": 200, "ms": 1.50},"by": "ada"}',
    '{"time": {"created": "2024-05-01T10:00:01.000+02:00"}, "level": "ERROR", "http": {"status": 503}, "by": "bob"}',
    "no JSON at all",
    '{"level": "warn", "time": {"created": "2024-05-01T08:00:02.5Z"}, "http": {"status": 503}, "http.route": "/pay"}',
    '{"time": {"created": "yesterday"}, "level": "error", "by": null}',
]


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    """A log of an API."""
    return app(tmp_path, "\n".join(LINES), level_field="level", **JSON)


def test_a_line_has_the_time_of_its_field(logs: Logs) -> None:
    """In UTC, whatever the zone it is written in; a line without one has that of the line before, and is counted."""
    result = logs.search()
    assert [line.get("time") for line in result["lines"]] == [
        "2024-05-01T08:00:00.250Z",
        "2024-05-01T08:00:01.000Z",
        "2024-05-01T08:00:01.000Z",
        "2024-05-01T08:00:02.5Z",
        "2024-05-01T08:00:02.5Z",
    ]
    assert [line["text"] for line in result["lines"]] == LINES
    assert result["looked_at"]["unparsed_lines"] == 2
    assert [line["line"] for line in logs.search(since="2024-05-01T08:00:02Z")["lines"]] == [4, 5]


def test_lines_are_counted_by_fields_as_they_are_written(logs: Logs) -> None:
    """No digit is lost, keys may hold dots, null is a value, and a field that is not there is an empty one."""
    by_status = logs.count(group_by=["http.status"], sort="key")["groups"]
    assert [(group["key"]["http.status"], group["count"]) for group in by_status] == [("", 2), ("200", 1), ("503", 2)]
    assert logs.count(text="ada", group_by=["http.ms"])["groups"][0]["key"] == {"http.ms": "1.50"}
    assert logs.count(text="/pay", group_by=["http.route", "http"])["groups"][0]["key"] == {
        "http.route": "/pay",
        "http": '{"status":503}',
    }
    assert logs.count(distinct=["by"])["distinct"] == {"by": 4}  # ada, bob, null and none


def test_fields_and_named_groups_go_together(logs: Logs) -> None:
    """A group of the pattern comes before a field of that name."""
    result = logs.count(pattern='"level": ?"(?P<level>[a-z])', group_by=["level", "http.status"], sort="key")
    assert [(group["key"]["level"], group["key"]["http.status"]) for group in result["groups"]] == [
        ("e", ""),
        ("i", "200"),
        ("w", "503"),
    ]


def test_a_level_selects_itself_and_what_is_more_severe(logs: Logs) -> None:
    """In any spelling; what says no level is counted, not forgotten."""
    result = logs.search(level="warning")
    assert [line["line"] for line in result["lines"]] == [2, 4, 5]
    assert result["looked_at"]["left_out_without_level"] == 1
    assert logs.count(level="critical")["matched"] == 0
    assert logs.count(level="trace")["matched"] == 4


def test_levels_of_words_that_are_not_usual_are_declared(tmp_path: Path) -> None:
    """As of loggers that write numbers."""
    lines = '{"time": {"created": "2024-05-01T08:00:00.0Z"}, "level": 30}\n' * 2
    numbers = app(tmp_path, lines, level_field="level", levels={"30": "info"}, **JSON)
    assert numbers.count(level="info")["matched"] == 2


def test_where_no_level_is_known_nothing_is_said_to_be_absent(tmp_path: Path) -> None:
    """As with a field of another name; where nothing matches anyway, there is nothing to have a level."""
    unknown = app(
        tmp_path, '{"time": {"created": "2024-05-01T08:00:00.0Z"}, "level": 30}\n', level_field="level", **JSON
    )
    with pytest.raises(ToolFailure, match="no line that matches says a level that is known"):
        unknown.count(level="info")
    assert unknown.count(level="info", text="nothing")["matched"] == 0


def test_a_level_of_a_source_that_declares_none_is_refused(tmp_path: Path) -> None:
    """It must not look as if there were no errors."""
    error = app(tmp_path, "\n".join(LINES), **JSON).check("search_logs", source="app", level="error")
    assert error is not None
    assert (error.code, "declares no level" in error.message) == (ErrorCode.INVALID_ARGUMENTS, True)


def test_a_listing_says_that_fields_and_levels_can_be_asked_for(logs: Logs) -> None:
    """And how many lines fit."""
    [listed] = logs.list()["sources"]
    assert (listed["format"], listed["levels"], listed["lines_checked"], listed["parsable"]) == ("json", True, 5, 0.6)


def test_an_epoch_may_be_a_number(tmp_path: Path) -> None:
    """As written, with its fraction."""
    tools = app(tmp_path, '{"ts": 1714550400.25}\n{"ts": "1714550401"}', format="json", timestamp="epoch",
                timestamp_field="ts")  # fmt: skip
    assert [line["time"] for line in tools.search()["lines"]] == ["2024-05-01T08:00:00.25Z", "2024-05-01T08:00:01Z"]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"format": "json"}, "`timestamp_field` is missing"),
        ({"timestamp_field": "time"}, 'add `format = "json"`'),
        ({"level_field": "level"}, 'add `format = "json"`'),
        ({"format": "json", "timestamp_field": "time", "multiline": True}, "`multiline` is for text"),
        ({"format": "json", "timestamp_field": "time", "level_regex": "(.)"}, "`level_regex` is for text"),
        ({"levels": {"30": "info"}}, "say where the word is"),
        ({"level_regex": "(.)", "levels": {"30": "loud"}}, "must be one of trace, debug, info"),
        ({"level_regex": "[A-Z]+"}, "`level_regex` has 0 groups"),
        ({"level_regex": "("}, "`level_regex` is no pattern"),
    ],
)
def test_a_declaration_that_does_not_fit_says_what_does(declared: dict[str, Any], message: str) -> None:
    """When the file is read, not when an agent asks."""
    with pytest.raises(ValidationError, match=message):
        LogSource(name="app", path=Path("/app"), timestamp="epoch", **declared)


KEYS = st.sampled_from(["a", "b", "a.b", "0", "1"])
VALUES = st.recursive(
    st.integers() | st.text(max_size=3) | st.booleans() | st.none() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
)


@given(st.dictionaries(KEYS, VALUES, max_size=3), st.lists(KEYS, min_size=1, max_size=4).map(".".join))
def test_any_path_of_any_line_is_a_text_or_nothing(members: dict[str, Any], path: str) -> None:
    """A whole number is the text that JSON has for it."""
    text = JsonLine(json.dumps(members).encode()).text(path)
    if path in members:
        assert text is not None
        if type(members[path]) is int:
            assert text == str(members[path]).encode()
        if isinstance(members[path], list | dict):
            assert text == json.dumps(members[path], ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


@pytest.mark.parametrize(
    "line", [b"", b"[1]", b"3", b"{", b"{" * 100_000, b'{"a":' * 100_000, b"\xff{}", b'{"a": 1} x']
)
def test_what_is_no_json_object_has_no_fields(line: bytes) -> None:
    """Also where it is nested too deeply to be read."""
    assert JsonLine(line).text("a") is None


def test_a_number_too_long_to_count_with_is_still_its_digits() -> None:
    """Inside of an object, too, where it is only left out of what cannot be written again."""
    digits = b"9" * 5000
    assert JsonLine(b'{"a": ' + digits + b"}").text("a") == digits
    assert JsonLine(b'{"a": {"b": ' + digits + b"}}").text("a.b") == digits
    assert JsonLine(b'{"a": {"b": ' + digits + b"}}").text("a") is None
