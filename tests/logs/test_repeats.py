"""A line that stands for several is read as the message it stands for, and counted as often."""

from __future__ import annotations

from pathlib import Path

from tests.logs.support import app

REPEATS = """\
2024-05-01 09:00:00 host sshd[1]: Failed password for root
2024-05-01 09:00:05 host sshd[1]: message repeated 5 times: [ Failed password for root]
2024-05-01 09:00:09 host sshd[2]: message repeated 3 times: [ Connection closed]
"""
REPEATED = r"message repeated (?P<count>\d+) times: \[ (?P<text>.*)\]"


def test_a_line_that_stands_for_five_is_one_line_and_five_occurrences(tmp_path: Path) -> None:
    """1 + 5 attempts in 2 lines; anchored patterns see the message where it would have stood."""
    tools = app(tmp_path, REPEATS, repeated=REPEATED)
    for selected in ({"text": "Failed password"}, {"pattern": r"sshd\[\d+\]: Failed password for (?P<user>\w+)$"}):
        result = tools.search(**selected)
        assert (result["matched"], result["occurrences"]) == (2, 6)
    assert tools.search(exclude=r"\]: Failed")["occurrences"] == 3


def test_occurrences_are_not_counted_where_no_repeat_rule_is_declared(tmp_path: Path) -> None:
    """The number would be a guess."""
    result = app(tmp_path, REPEATS).search(text="Failed password")
    assert result["matched"] == 2
    assert "occurrences" not in result
