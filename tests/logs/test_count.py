"""What `count_logs` counts: lines, occurrences, groups, spans of time, different values."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.logs import tally
from boundary.strict_json import dump
from boundary.tools import ToolFailure
from tests.logs.support import app

ACCESS = """\
2024-05-01 09:00:00 alice 10.0.0.1
2024-05-01 09:30:00 bob 10.0.0.2
2024-05-01 10:00:00 alice 10.0.0.2
2024-05-01 08:00:00 alice 10.0.0.1
2024-05-01 10:59:59 carol
"""
PATTERN = r" (?P<user>[a-z]+)(?: (?P<ip>[0-9.]+))?$"


def counts(result: dict[str, Any]) -> list[tuple[dict[str, str], int]]:
    return [(group["key"], group["count"]) for group in result["groups"]]


def test_groups_are_sorted_by_count_and_say_when_they_began_and_ended(tmp_path: Path) -> None:
    """Equal counts in order of their keys; first and last by time, with the time as written and the place."""
    result = app(tmp_path, ACCESS).count(pattern=PATTERN, group_by=["user"])
    assert counts(result) == [({"user": "alice"}, 3), ({"user": "bob"}, 1), ({"user": "carol"}, 1)]
    assert result["groups"][0]["first"] == {
        "time": "2024-05-01T08:00:00Z",
        "time_text": "2024-05-01 08:00:00",
        "file": "app.log",
        "line": 4,
    }
    assert result["groups"][0]["last"]["line"] == 3
    assert (result["matched"], result["groups_total"]) == (5, 3)
    assert (result["first"]["line"], result["last"]["line"]) == (4, 5)


def test_a_group_that_took_no_part_counts_as_empty(tmp_path: Path) -> None:
    """Carol has no address."""
    result = app(tmp_path, ACCESS).count(pattern=PATTERN, group_by=["ip"])
    assert ({"ip": ""}, 1) in counts(result)


def test_different_values_are_counted_overall_and_in_each_group(tmp_path: Path) -> None:
    """Alice came from two addresses, bob from one, carol from the empty one."""
    result = app(tmp_path, ACCESS).count(pattern=PATTERN, group_by=["user"], distinct=["ip"])
    assert result["distinct"] == {"ip": 3}
    assert [group["distinct"]["ip"] for group in result["groups"]] == [2, 1, 1]


def test_spans_of_time_are_those_of_the_zone_of_the_source(tmp_path: Path) -> None:
    """In India a day begins at 18:30 UTC; the hour's label says the offset."""
    tools = app(tmp_path, "2024-05-01 18:29:59 a\n2024-05-01 18:30:00 b\n".replace(" a", "Z a").replace(" b", "Z b"),
                timestamp="%Y-%m-%d %H:%M:%S%z", zone="Asia/Kolkata")  # fmt: skip
    assert counts(tools.count(bucket="day", sort="key")) == [
        ({"bucket": "2024-05-01T00:00:00+05:30"}, 1),
        ({"bucket": "2024-05-02T00:00:00+05:30"}, 1),
    ]
    assert counts(tools.count(bucket="minute"))[0] == ({"bucket": "2024-05-01T23:59:00+05:30"}, 1)


def test_the_hour_that_an_offset_change_repeats_is_two_spans_in_order(tmp_path: Path) -> None:
    """In Berlin 02:30 came twice on 2015-10-25: at 00:30 UTC and at 01:30 UTC."""
    tools = app(tmp_path, "1445733000 a\n1445736600 b\n", timestamp="epoch", zone="Europe/Berlin")
    assert counts(tools.count(bucket="hour", sort="key")) == [
        ({"bucket": "2015-10-25T02:00:00+02:00"}, 1),
        ({"bucket": "2015-10-25T02:00:00+01:00"}, 1),
    ]


def test_groups_and_spans_combine(tmp_path: Path) -> None:
    """A key has both; lines without any time have an empty span."""
    result = app(tmp_path, "header eve\n" + ACCESS).count(pattern=PATTERN, group_by=["user"], bucket="hour")
    assert ({"user": "alice", "bucket": "2024-05-01T09:00:00+00:00"}, 1) in counts(result)
    assert ({"user": "eve", "bucket": ""}, 1) in counts(result)
    eve = next(group for group in result["groups"] if group["key"]["user"] == "eve")
    assert eve["first"] == eve["last"] == {"file": "app.log", "line": 1}


def test_small_groups_can_be_left_out_and_are_still_counted(tmp_path: Path) -> None:
    """`groups_total` is exact whatever is shown."""
    result = app(tmp_path, ACCESS).count(pattern=PATTERN, group_by=["user"], having_min=2)
    assert counts(result) == [({"user": "alice"}, 3)]
    assert (result["groups_total"], result["groups_kept"]) == (3, 1)
    top = app(tmp_path, ACCESS).count(pattern=PATTERN, group_by=["user"], top=1)
    assert (top["shown"], top["groups_kept"], top["truncated"]) == (1, 3, False)


def test_repeated_messages_count_as_often_as_they_say(tmp_path: Path) -> None:
    """Groups come from the message that is repeated, as if it stood there."""
    log = (
        "2024-05-01 09:00:00 sshd: Failed for root\n"
        "2024-05-01 09:00:05 sshd: message repeated 5 times: [ Failed for root]\n"
        "2024-05-01 09:00:06 sshd: Failed for admin\n"
    )
    tools = app(tmp_path, log, repeated=r"message repeated (?P<count>\d+) times: \[ (?P<text>.*)\]")
    result = tools.count(pattern=r"sshd: (?P<message>.*)", group_by=["message"])
    assert (result["matched"], result["occurrences"]) == (3, 7)
    assert [(group["key"]["message"], group["count"], group["occurrences"]) for group in result["groups"]] == [
        ("Failed for root", 2, 6),
        ("Failed for admin", 1, 1),
    ]


def test_nothing_counted_is_no_evidence(tmp_path: Path) -> None:
    """With the range that was looked at."""
    projection = app(tmp_path, ACCESS).project("count_logs", source="app", text="mallory", bucket="day")
    assert projection.evidence_status == "NO_EVIDENCE"
    assert projection.agent_result["groups"] == []
    assert projection.agent_result["looked_at"]["last"] == "2024-05-01T10:59:59Z"


def test_more_groups_than_memory_allows_is_a_failure_that_says_how_to_narrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count that left some out would not be exact."""
    monkeypatch.setattr(tally, "MAX_KEPT", 2)
    with pytest.raises(ToolFailure, match="more than 2 different groups or values: narrow"):
        app(tmp_path, ACCESS).count(pattern=PATTERN, group_by=["user"])


def test_groups_keep_within_the_budget(tmp_path: Path) -> None:
    """Whole groups, the largest first, and said."""
    tools = app(tmp_path, "".join(f"2024-05-01 09:00:00 user{number:04}\n" for number in range(500)))
    projection = tools.project(
        "count_logs", budget=5000, source="app", pattern=r"(?P<user>user\d+)", group_by=["user"], top=200
    )
    result = projection.agent_result
    assert len(dump(result)) <= 5000
    assert projection.truncated
    assert 5 < result["shown"] == len(result["groups"]) < 50
    assert (result["truncated"], result["groups_total"]) == (True, 500)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "(?P<ip>.)", "group_by": ["user"]}, "named groups are: ip"),
        ({"text": "a", "group_by": ["ip"]}, "named groups are: none"),
        ({"pattern": "(?P<ip>.)", "distinct": ["user"]}, "to count 'user' write"),
        ({"pattern": "(?P<ip>.)", "group_by": ["ip", "ip"]}, "twice"),
        ({"pattern": "(?P<bucket>.)", "group_by": ["bucket"], "bucket": "day"}, "another name"),
        ({"pattern": r"(a)\1"}, "backreferences"),
    ],
)
def test_groups_the_pattern_does_not_have_are_refused(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    """Before anything is read."""
    error = app(tmp_path, ACCESS).check("count_logs", source="app", **arguments)
    assert error is not None
    assert message in error.message


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 59)), max_size=40))
def test_counting_agrees_with_a_counter(entries: list[tuple[str, str, int]]) -> None:
    """By two groups, with the number of different values."""
    log = "".join(f"2024-05-01 09:00:{second:02} {user} {host}\n" for user, host, second in entries)
    with TemporaryDirectory() as folder:
        result = app(Path(folder), log).count(
            pattern=r" (?P<user>\w) (?P<host>\w)$", group_by=["user", "host"], distinct=["host"]
        )
    expected = Counter((user, host) for user, host, _ in entries)
    assert {(group["key"]["user"], group["key"]["host"]): group["count"] for group in result["groups"]} == expected
    assert result["groups_total"] == len(expected)
    assert result["distinct"] == {"host": len({host for _, host, _ in entries})}
    for group in result["groups"]:
        own = [second for user, host, second in entries if (user, host) == (group["key"]["user"], group["key"]["host"])]
        assert [int(group[edge]["time"][17:19]) for edge in ("first", "last")] == [min(own), max(own)]
