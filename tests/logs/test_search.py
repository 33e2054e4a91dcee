"""What `search_logs` selects, how it orders and pages, and what it says it looked at."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundary.errors import ErrorCode
from boundary.strict_json import dump
from boundary.tools import ToolFailure
from tests.logs.support import app, texts

DAY = """\
2024-05-01 09:00:00 start
2024-05-01 10:00:00 ERROR disk full
  at write (disk.c:10)
2024-05-01 08:00:00 ERROR late entry
2024-05-01 11:00:00 stop
"""


def test_first_and_last_are_by_time_not_by_place(tmp_path: Path) -> None:
    """The late entry stands below the first one; each says file, line and the time as the log writes it."""
    result = app(tmp_path, DAY).search(text="ERROR")
    assert result["matched"] == 2
    assert result["first"] == {
        "time": "2024-05-01T08:00:00Z",
        "time_text": "2024-05-01 08:00:00",
        "file": "app.log",
        "line": 4,
        "text": "2024-05-01 08:00:00 ERROR late entry",
    }
    assert (result["last"]["line"], result["last"]["time"]) == (2, "2024-05-01T10:00:00Z")
    assert texts(result) == ["2024-05-01 08:00:00 ERROR late entry", "2024-05-01 10:00:00 ERROR disk full"]


def test_a_line_without_time_has_that_of_the_line_before(tmp_path: Path) -> None:
    """A stack trace is within the window of its message, and is counted as unparsed."""
    result = app(tmp_path, DAY).search(since="2024-05-01T10:00:00", until="2024-05-01T11:00:00")
    assert texts(result) == ["2024-05-01 10:00:00 ERROR disk full", "  at write (disk.c:10)"]
    assert result["looked_at"]["unparsed_lines"] == 1


def test_a_window_includes_its_start_and_not_its_end(tmp_path: Path) -> None:
    """So that neighbouring windows count each line once."""
    tools = app(tmp_path, DAY)
    assert tools.search(since="2024-05-01T09:00:00Z", until="2024-05-01T10:00:00Z")["matched"] == 1
    assert tools.search(since="2024-05-01T11:00:00Z")["matched"] == 1
    assert tools.search(until="2024-05-01T08:00:00Z")["matched"] == 0


def test_a_window_without_offset_is_read_in_the_zone_of_the_source_and_stated_in_utc(tmp_path: Path) -> None:
    """09:00 in Berlin in May is 07:00 UTC; with an offset the same moment selects the same lines."""
    tools = app(tmp_path, DAY, zone="Europe/Berlin")
    local = tools.search(since="2024-05-01T09:00:00", until="2024-05-01T10:00:00")
    assert local["window"] == {
        "since": "2024-05-01T07:00:00Z",
        "until": "2024-05-01T08:00:00Z",
        "zone": "Europe/Berlin",
    }
    assert local["lines"][0]["time"] == "2024-05-01T07:00:00Z"
    assert tools.search(since="2024-05-01T07:00:00Z", until="2024-05-01T08:00:00Z")["lines"] == local["lines"]


def test_a_window_outside_the_log_is_no_evidence_and_says_what_the_log_spans(tmp_path: Path) -> None:
    """It was looked at; an absence may cite it."""
    projection = app(tmp_path, DAY).project("search_logs", source="app", since="2025-01-01")
    assert projection.evidence_status == "NO_EVIDENCE"
    looked = projection.agent_result["looked_at"]
    assert (looked["first"], looked["last"]) == ("2024-05-01T08:00:00Z", "2024-05-01T11:00:00Z")
    assert (looked["files"], looked["lines"]) == (1, 5)


def test_a_window_over_lines_whose_times_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    """Not even one line has a time of the declared format: the window selects nothing because nothing is known."""
    tools = app(tmp_path, "01.05.2024 ERROR\n" * 3)
    with pytest.raises(ToolFailure, match="no line of it has a time of the declared format"):
        tools.search(text="ERROR", since="2024-01-01")
    assert tools.search(text="ERROR")["matched"] == 3


def test_an_empty_log_was_looked_at(tmp_path: Path) -> None:
    """No lines, so none that matches, with or without a window."""
    projection = app(tmp_path, "").project("search_logs", source="app", since="2024-01-01")
    assert projection.evidence_status == "NO_EVIDENCE"
    assert projection.agent_result["looked_at"]["lines"] == 0


def test_crlf_is_no_part_of_a_line(tmp_path: Path) -> None:
    """`$` means the end of the text."""
    tools = app(tmp_path, DAY.replace("\n", "\r\n"))
    assert texts(tools.search(pattern="full$")) == ["2024-05-01 10:00:00 ERROR disk full"]


def test_excluded_lines_do_not_count(tmp_path: Path) -> None:
    """`exclude` is the way to say 'but not' without look-ahead."""
    tools = app(tmp_path, DAY)
    assert texts(tools.search(pattern="ERROR", exclude="late|stop")) == ["2024-05-01 10:00:00 ERROR disk full"]
    assert tools.search(text="error")["matched"] == 0
    assert tools.search(text="error", case_sensitive=False, exclude="LATE")["matched"] == 1


def test_newest_first_is_oldest_first_reversed(tmp_path: Path) -> None:
    """Also among lines of one second."""
    tools = app(tmp_path, "".join(f"2024-05-01 09:00:0{second} {number}\n" for number, second in enumerate("01101")))
    assert texts(tools.search(order="newest")) == texts(tools.search())[::-1]


def test_context_shows_the_neighbours_in_the_file(tmp_path: Path) -> None:
    """Fewer at the ends of the file; they are no matches."""
    result = app(tmp_path, DAY).search(pattern="start|at write", context=2)
    assert [line["context"] for line in result["lines"]] == [
        {"before": [], "after": ["2024-05-01 10:00:00 ERROR disk full", "  at write (disk.c:10)"]},
        {
            "before": ["2024-05-01 09:00:00 start", "2024-05-01 10:00:00 ERROR disk full"],
            "after": ["2024-05-01 08:00:00 ERROR late entry", "2024-05-01 11:00:00 stop"],
        },
    ]


def test_context_reaches_across_blocks_and_not_across_files(tmp_path: Path) -> None:
    """Lines around each block's edge have their true neighbours; 400 kB is more than one block."""
    lines = [f"2024-05-01 09:00:00 {number:06} {'x' * 70}" for number in range(4000)]
    result = app(tmp_path, "\n".join(lines)).search(context=3, limit=500, offset=2500)
    for shown in result["lines"]:
        place = shown["line"] - 1
        assert shown["context"] == {"before": lines[max(place - 3, 0) : place], "after": lines[place + 1 : place + 4]}
    assert result["truncated"]


def test_paging_shows_each_line_once_and_says_when_it_ends(tmp_path: Path) -> None:
    """`next_offset` leads from page to page."""
    tools = app(tmp_path, "".join(f"2024-05-01 09:00:00 {number}\n" for number in range(25)))
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = tools.search(limit=10, offset=offset)
        seen += texts(page)
        offset = page.get("next_offset")
    assert seen == texts(tools.search(limit=500))
    beyond = tools.search(offset=25)
    assert (beyond["matched"], beyond["shown"]) == (25, 0)


def test_the_result_keeps_within_its_budget_by_whole_lines(tmp_path: Path) -> None:
    """The totals stay exact, the same call shows the same cut, and the next page begins where it ended."""
    tools = app(tmp_path, "".join(f"2024-05-01 09:00:00 é{'x' * 300} {number}\n" for number in range(200)))
    projection = tools.project("search_logs", budget=8000, source="app", limit=100)
    result = projection.agent_result
    assert len(dump(result)) <= 8000
    assert projection.truncated
    assert result["truncated"]
    assert result["matched"] == 200
    assert 10 < result["shown"] == len(result["lines"]) < 30
    assert result["next_offset"] == result["shown"]
    assert tools.project("search_logs", budget=8000, source="app", limit=100) == projection


def test_the_raw_response_keeps_within_its_limit_by_whole_lines(tmp_path: Path) -> None:
    """Counting goes on when no more lines fit; the projection does not hide that lines are missing."""
    tools = app(tmp_path, "".join(f"2024-05-01 09:00:00 {'x' * 1000} {number}\n" for number in range(300)))
    raw = tools.raw("search_logs", max_raw_bytes=50_000, source="app", limit=200)
    assert len(dump(raw)) <= 50_000
    assert (raw["matched"], raw["truncated"]) == (300, True)
    projected = tools.tools["search_logs"].project({"source": "app", "limit": 200}, raw, 100_000)
    assert projected.agent_result["truncated"]


@pytest.mark.proves("FIELD-HUGE-TEXT")
def test_an_overlong_line_is_cut_and_flagged(tmp_path: Path) -> None:
    """64 KiB of it are kept as raw, 2,000 characters shown; what is beyond is not searched."""
    tools = app(tmp_path, f"2024-05-01 09:00:00 {'é' * 40_000} needle\n2024-05-01 09:00:01 next\n")
    raw = tools.raw("search_logs", source="app")
    assert len(raw["lines"][0]["text"].encode()) in (65_535, 65_536)
    shown = tools.search()
    assert [(line["line"], line.get("cut"), len(line["text"])) for line in shown["lines"]] == [
        (1, True, 2000),
        (2, None, 24),
    ]
    assert (shown["first"]["cut"], len(shown["first"]["text"])) == (True, 2000)
    assert tools.search(text="needle")["matched"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "(?<=a)b"}, "look-behind"),
        ({"exclude": "("}, "`exclude` is no pattern"),
        ({"pattern": "a", "text": "b"}, "either `pattern` or `text`"),
        ({"text": "a\nb"}, "line break"),
        ({"since": "last tuesday"}, "ISO 8601"),
        ({"since": "2024-01-02", "until": "2024-01-01"}, "window is empty"),
        ({"source": "/etc/passwd"}, "expected one of app"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused_before_anything_is_read(
    tmp_path: Path, arguments: dict[str, str], message: str
) -> None:
    """The message says what to write instead."""
    error = app(tmp_path, DAY).check("search_logs", **{"source": "app", **arguments})
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENTS
    assert message in error.message


def test_an_explicit_null_means_the_default(tmp_path: Path) -> None:
    """Models often write every field."""
    assert app(tmp_path, DAY).search(pattern=None, text="ERROR", exclude=None, since=None)["matched"] == 2


def test_a_search_stops_when_it_is_told_to(tmp_path: Path) -> None:
    """Before the next block, without a result."""
    stop = threading.Event()
    stop.set()
    with pytest.raises(ToolFailure, match="told to stop"):
        app(tmp_path, DAY).raw("search_logs", stop=stop, source="app")


class StopsAt:
    """A stop flag that is set from the n-th look on."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_search_looks_at_the_stop_flag_also_within_a_block(tmp_path: Path) -> None:
    """100,000 short matching lines are one block: it is left half-way."""
    stop = StopsAt(3)
    with pytest.raises(ToolFailure, match="told to stop"):
        app(tmp_path, "x\n" * 100_000).raw("search_logs", stop=stop, source="app")
    assert stop.looks == -1


START = datetime(2024, 1, 1)
ENTRIES = st.lists(
    st.tuples(st.integers(min_value=0, max_value=20), st.sampled_from(["alpha", "beta", "alpha beta", "é", ""])),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(
    ENTRIES,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["oldest", "newest"]),
    st.tuples(st.integers(min_value=0, max_value=20), st.integers(min_value=1, max_value=21)),
    st.integers(min_value=0, max_value=12),
    st.integers(min_value=1, max_value=12),
)
def test_a_search_agrees_with_sorting_and_filtering_all_lines(
    entries: list[tuple[int, str]],
    newline: str,
    compress: bool,
    order: str,
    window: tuple[int, int],
    offset: int,
    limit: int,
) -> None:
    """The plainest program that could answer is the reference, for any order of times, line ends and gzip."""
    lines = [f"{START + timedelta(seconds=second):%Y-%m-%d %H:%M:%S} {word}" for second, word in entries]
    since, until = (START + timedelta(seconds=seconds) for seconds in (window[0], window[0] + window[1]))
    chosen = [
        (second, number, line)
        for number, ((second, word), line) in enumerate(zip(entries, lines, strict=True), 1)
        if "alpha" in word and since <= START + timedelta(seconds=second) < until
    ]
    chosen.sort(reverse=order == "newest")
    with TemporaryDirectory() as folder:
        tools = app(Path(folder), newline.join(lines), compress=compress)
        result = tools.search(
            text="alpha", since=since.isoformat(), until=until.isoformat(), order=order, offset=offset, limit=limit
        )
    assert result["matched"] == len(chosen)
    assert [(line["line"], line["text"]) for line in result["lines"]] == [
        (number, line) for _, number, line in chosen[offset : offset + limit]
    ]
    if chosen:
        assert (result["first"]["line"], result["last"]["line"]) == (min(chosen)[1], max(chosen)[1])
    assert result["looked_at"]["lines"] == len(lines)
