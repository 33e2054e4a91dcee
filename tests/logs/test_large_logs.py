"""A log too large to read every line's time is searched the same, and says that its range is sampled."""

from __future__ import annotations

from pathlib import Path

import pytest

from activities.logs import sample, scan
from tests.logs.support import Logs, app

LINES = [
    f"2024-05-01 {number // 3600:02}:{number // 60 % 60:02}:{number % 60:02} {'word ' * 10}{number}"
    for number in range(20_000)
]


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logs:
    """A log of about 1.5 MB, with limits as if that were large."""
    monkeypatch.setattr(scan, "EVERY_LINE_BYTES", 1000)
    monkeypatch.setattr(sample, "WHOLE_BYTES", 1000)
    return app(tmp_path, "\n".join(LINES))


def test_totals_lines_and_places_are_exact_whatever_the_size(large: Logs) -> None:
    """Only the range and the unparsed lines of the log are not read from every line."""
    result = large.search(pattern=" 1999[0-9]$", since="2024-05-01T05:33:15")
    assert result["matched"] == 5
    assert [(line["line"], line["time"]) for line in result["lines"]] == [
        (number + 1, f"2024-05-01T05:33:{number - 19_980:02}Z") for number in range(19_995, 20_000)
    ]
    assert result["looked_at"] == {
        "files": 1,
        "lines": 20_000,
        "first": "2024-05-01T00:00:00Z",
        "last": "2024-05-01T05:33:19Z",
        "range": "sampled",
    }


def test_a_listing_checks_both_ends_of_a_large_file(large: Logs) -> None:
    """The lines checked are a small part, the range is that of the whole."""
    listed = large.list()["sources"][0]
    assert (listed["first"], listed["last"]) == ("2024-05-01T00:00:00Z", "2024-05-01T05:33:19Z")
    assert listed["checked"] == "both ends of each file"
    assert listed["lines_checked"] < 2500
    assert listed["fits"]


def test_a_listing_does_not_guess_the_year_at_the_far_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a year in the format, only the start of the log is certain."""
    monkeypatch.setattr(sample, "WHOLE_BYTES", 1000)
    tools = app(tmp_path, "Dec  1 00:00:00 x\n" * 20_000, timestamp="%b %d %H:%M:%S", year=2023)
    listed = tools.list()["sources"][0]
    assert listed["first"] == "2023-12-01T00:00:00Z"
    assert "last" not in listed
    assert listed["parsable"] == 1.0


def test_a_large_compressed_file_is_checked_at_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end could only be read by decompressing all of it."""
    monkeypatch.setattr(sample, "WHOLE_BYTES", 1000)
    listed = app(tmp_path, "\n".join(LINES), compress=True).list()["sources"][0]
    assert listed["checked"] == "the start of each file"
    assert listed["files"][0]["compressed"]
    assert "last" not in listed
