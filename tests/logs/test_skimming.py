"""Large logs are skimmed for texts a pattern requires: what is found is what reading every line finds."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.logs import LogSource, patterns, reading, scan, skimming
from activities.logs.lines import LineReader
from activities.logs.requests import SearchRequest
from activities.logs.selection import Selection, compile_selection
from boundary.tools import ToolContext, ToolFailure
from tests.logs.support import PLAIN, Logs, app

PARTS = st.sampled_from(
    [b"2024-05-01 08:00:0%d " % second for second in range(8)]
    + [
        b"needle",
        b"Needle",
        b"need\xe9le",
        b"ne",
        b"edle",
        "\u212a".encode(),
        b"\xff",
        b"\xef\xbb\xbf",
        b"\r",
        b" ",
        b"x" * 30,
        "é".encode(),
    ]
)
LINES = st.lists(PARTS, max_size=4).map(b"".join)
LOGS = st.lists(LINES, min_size=1, max_size=40).flatmap(
    lambda lines: st.sampled_from([b"\n".join(lines), b"\n".join(lines) + b"\n", b"\r\n".join(lines)])
)
REQUESTS = [
    SearchRequest(source="app", text="needle"),
    SearchRequest(source="app", pattern="needle|x{5}éx"),
    SearchRequest(source="app", pattern=r"^\S+ \S+ needle"),
    SearchRequest(source="app", pattern="need.le"),
    SearchRequest(source="app", text="NEEDLE", case_sensitive=False),
    SearchRequest(source="app", pattern="(?i)NEEDLE|x{9}k"),
    SearchRequest(source="app", text="needle", since="2024-05-01T08:00:02", until="2024-05-01T08:00:05"),
    SearchRequest(source="app", text="\ufffd needle"),
    SearchRequest(source="app", pattern="needle", exclude="x"),
]


def answer(selection: Selection, **limits: int) -> tuple[Any, ...]:
    """What is found in a log, small as it is, as if it were a large one or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "EVERY_LINE_BYTES", limits.get("every_line", 0))
        patch.setattr(skimming, "PIECE_BYTES", limits.get("piece", 1 << 20))
        patch.setattr(patterns, "BYTES_BETWEEN_TEXTS", limits.get("between", 1))
        looked = scan.Scan(selection, ToolContext(stop=threading.Event(), max_raw_bytes=1 << 20))
        try:
            found = [
                (hit.line, hit.stamp, block.data[hit.start : hit.end], block.is_cut(hit.line, b""))
                for _, block, hits in looked.blocks()
                for hit in hits
            ]
        except ToolFailure as failure:
            return (failure.message,)
        return found, looked.looked_at().lines


@settings(max_examples=500, deadline=None)
@given(LOGS, st.sampled_from(REQUESTS), st.sampled_from([7, 40, 150, 1 << 20]), st.sampled_from([1, 50]))
def test_a_skimmed_log_gives_what_reading_every_line_gives(
    log: bytes, request: SearchRequest, piece: int, between: int
) -> None:
    """Wherever pieces end, whatever bytes there are, and however often the texts are met."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "LINE_MAX", 100)
        patch.setattr(reading, "_KEPT", 104)
        path = Path(folder) / "app.log"
        path.write_bytes(log)
        selection = compile_selection(request, LogSource(name="app", path=path, **PLAIN))
        assert answer(selection, piece=piece, between=between) == answer(selection, every_line=1 << 30)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logs:
    """A log of 20,000 lines, with limits as if that were large."""
    monkeypatch.setattr(scan, "EVERY_LINE_BYTES", 0)
    lines = [
        f"2024-05-01 0{number // 3600}:{number // 60 % 60:02}:{number % 60:02} {'needle' if number == 9999 else 'hay'}"
        for number in range(20_000)
    ]
    return app(tmp_path, "\n".join(lines), **PLAIN)


def test_few_blocks_are_made_of_a_large_log(large: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first and the last line, and the one that matches; the span of the log and the number of lines are known."""
    made: list[str] = []
    make = skimming.block_of

    def counted(data: bytes, number: int) -> reading.Block:
        made.append(data.decode())
        return make(data, number)

    monkeypatch.setattr(skimming, "block_of", counted)
    result = large.search(text="needle")
    assert [line[11:] for line in made] == ["00:00:00 hay", "02:46:39 needle", "05:33:19 hay"]
    assert (result["matched"], result["lines"][0]["line"]) == (1, 10_000)
    assert result["looked_at"] == {
        "files": 1,
        "lines": 20_000,
        "first": "2024-05-01T00:00:00Z",
        "last": "2024-05-01T05:33:19Z",
        "range": "sampled",
    }
    assert large.search(text="needle", context=1)["lines"][0]["context"]["after"] == ["2024-05-01 02:46:40 hay"]


def test_a_log_whose_lines_have_no_times_is_read_in_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way back to a line with a time looks at each line alone."""
    monkeypatch.setattr(scan, "EVERY_LINE_BYTES", 0)
    looked_at = 0
    has_time = LineReader.has_time

    def counted(reader: LineReader, data: bytes, start: int) -> bool:
        nonlocal looked_at
        looked_at += len(data)
        return has_time(reader, data, start)

    monkeypatch.setattr(LineReader, "has_time", counted)
    log = "\n".join(["\tat somewhere"] * 2000)
    assert app(tmp_path, log, **PLAIN).search(text="needle")["matched"] == 0
    assert 0 < looked_at <= len(log)


@pytest.mark.parametrize("text", ["\ufffd", "e\ufffdn", "\ufffd needle"])
def test_what_stands_for_bytes_that_are_not_utf8_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """As it was shown, though the file does not hold it."""
    monkeypatch.setattr(scan, "EVERY_LINE_BYTES", 0)
    time = b"2024-05-01 08:00:00 "
    log = time + b"first\n" + time + b"here\xe9needle \xff needle\n" + time + b"last"
    assert app(tmp_path, log, **PLAIN).search(text=text)["matched"] == 1


def test_a_line_too_long_to_be_json_has_the_time_of_the_line_before(tmp_path: Path) -> None:
    """In a large log as in a small one."""
    lines = [f'{{"time": "2024-05-01 08:00:0{second}", "text": "hay"}}' for second in range(8)]
    lines[5] = lines[5].replace("hay", "needle" + "x" * reading.LINE_MAX)
    path = tmp_path / "app.log"
    path.write_text("\n".join(lines))
    source = LogSource(name="app", path=path, format="json", timestamp_field="time", **PLAIN)
    selection = compile_selection(SearchRequest(source="app", text="needle", since="2024-05-01T08:00:04"), source)
    found = answer(selection, between=1 << 20)
    assert [stamp.written for _, stamp, _, _ in found[0]] == [b"2024-05-01 08:00:04"]
    assert found == answer(selection, every_line=1 << 30)
