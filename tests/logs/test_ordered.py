"""Windows of logs declared to be in order of time: sought, with the answer that reading everything gives."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from activities.logs import LogSource, scan, seeking
from tests.logs.support import COMPRESS, PLAIN, Logs, app, logs

START = datetime(2024, 5, 1)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits as if the logs here were large."""
    monkeypatch.setattr(scan, "EVERY_LINE_BYTES", 0)
    monkeypatch.setattr(seeking, "PIECE_BYTES", 500)
    monkeypatch.setattr(seeking, "FAR_BYTES", 5000)


def lines(count: int, seed: int, *, disorder_s: int = 0, step_s: int = 60) -> list[str]:
    """Lines of different lengths, some without a time, at different distances."""
    chance = random.Random(seed)
    moment, found = START, list[str]()
    for number in range(count):
        moment += timedelta(seconds=chance.randrange(2 * step_s))
        own = moment + timedelta(seconds=chance.randrange(-disorder_s, disorder_s + 1))
        found.append(f"{own:%Y-%m-%d %H:%M:%S} entry {number} {'x' * chance.randrange(80)}")
        found += ["\tat somewhere"] * chance.choice([0, 0, 0, 2])
    return found


def same(ordered: Logs, plain: Logs, **arguments: Any) -> dict[str, Any]:
    """Ask both, compare what they found, and return what the ordered one looked at."""
    answers = [tools.search(**arguments) for tools in (ordered, plain)]
    looked_at = [answer.pop("looked_at") for answer in answers]
    assert answers[0] == answers[1]
    return looked_at[0]


@pytest.mark.parametrize("seed", range(12))
def test_a_sought_window_has_the_lines_and_numbers_that_reading_everything_gives(tmp_path: Path, seed: int) -> None:
    """Also where entries are out of order by up to half an hour, and at either end of the log."""
    chance = random.Random(seed)
    log = "\n".join(lines(1500, seed, disorder_s=chance.choice([0, 1700])))
    tools = [app(tmp_path, log, ordered=ordered) for ordered in (True, False)]
    for _ in range(10):
        since = START + timedelta(minutes=chance.randrange(-100, 1600))
        window = {
            "since": since.isoformat() if chance.random() < 0.8 else None,
            "until": (since + timedelta(minutes=chance.randrange(1, 300))).isoformat()
            if chance.random() < 0.8
            else None,
        }
        looked_at = same(tools[0], tools[1], pattern="[05] x|at some", context=2, **window)
        assert looked_at.get("sought") == (True if any(window.values()) else None)


def test_little_is_read_of_a_long_log(tmp_path: Path) -> None:
    """An hour around the window; the span of the log is known all the same."""
    log = "\n".join(f"{START + timedelta(minutes=number):%Y-%m-%d %H:%M:%S} entry {number}" for number in range(20_000))
    window = {"since": "2024-05-10T12:00:00", "until": "2024-05-10T12:05:00"}
    looked_at = same(app(tmp_path, log, ordered=True), app(tmp_path, log), **window)
    assert 120 <= looked_at["lines"] < 200
    assert (looked_at["first"], looked_at["last"][:10]) == ("2024-05-01T00:00:00Z", "2024-05-14")
    nothing = app(tmp_path, log, ordered=True).project("search_logs", source="app", since="2025-01-01")
    assert (nothing.evidence_status, nothing.agent_result["looked_at"]["lines"] < 200) == ("NO_EVIDENCE", True)


def test_a_log_that_is_not_in_order_is_read_whole(tmp_path: Path) -> None:
    """The declaration is wrong, the answer is not."""
    early, late = lines(700, 1), lines(700, 2)
    tools = app(tmp_path, "\n".join(late + early + late), ordered=True)
    looked_at = same(
        tools, app(tmp_path, "\n".join(late + early + late)), since="2024-05-01T03:00:00", until="2024-05-01T04:00:00"
    )
    assert "sought" not in looked_at


def test_files_of_a_rotated_set_that_are_not_near_the_window_are_passed_over(tmp_path: Path) -> None:
    """Compressed ones, too, of which no part can be sought; the numbers of lines stay those of each file."""
    log = lines(3000, 3)
    for generation, suffix in ((3, ".gz"), (2, ".zst"), (1, ""), (0, "")):
        name = f"app.log.{generation}" if generation else "app.log"
        part = "\n".join(log[(3 - generation) * len(log) // 4 : (4 - generation) * len(log) // 4]).encode()
        (tmp_path / (name + suffix)).write_bytes(COMPRESS[suffix](part) if suffix else part)
    ordered, plain = (
        logs(LogSource(name="app", glob=f"{tmp_path}/app.log*", ordered=ordered, **PLAIN)) for ordered in (True, False)
    )
    for since in ("2024-05-01T05:00:00", "2024-05-01T20:00:00", "2024-05-02T10:00:00", "2024-05-03T01:00:00"):
        until = (datetime.fromisoformat(since) + timedelta(hours=2)).isoformat()
        looked_at = same(ordered, plain, since=since, until=until, limit=500)
        assert looked_at["files_outside"] >= 2
        assert looked_at["files"] + looked_at["files_outside"] == 4


def test_a_format_without_a_year_is_not_sought(tmp_path: Path) -> None:
    """The year of a line is known from those before it."""
    with pytest.raises(ValidationError, match="`ordered` needs a format with a year"):
        LogSource(name="app", path=tmp_path, timestamp="%b %d %H:%M:%S", zone="UTC", year=2024, ordered=True)


def test_where_no_entry_is_found_for_long_the_file_is_read(tmp_path: Path) -> None:
    """As with a dump of many kilobytes in the middle of a log."""
    log = [*lines(300, 4), *["dump " + "y" * 60] * 1000, *lines(50, 5)[-1:]]
    tools = [app(tmp_path, "\n".join(log), ordered=ordered) for ordered in (True, False)]
    for since in ("2024-05-01T01:00:00", "2024-05-01T04:30:00"):
        same(tools[0], tools[1], since=since, text="entry", until=None)
        same(tools[0], tools[1], since=since, text="y", limit=5)


@pytest.mark.parametrize("pieces", [60, 200, 1000])
def test_lines_around_a_hit_are_read_though_they_are_far_from_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """As where nothing was logged for hours before and after."""
    monkeypatch.setattr(seeking, "PIECE_BYTES", pieces)
    moments = [START + timedelta(hours=3 * number) for number in range(100)]
    log = "\n".join(f"{moment:%Y-%m-%d %H:%M:%S} entry {number}" for number, moment in enumerate(moments))
    tools = [app(tmp_path, log, ordered=ordered) for ordered in (True, False)]
    for moment in moments[::7]:
        window = {"since": moment.isoformat(), "until": (moment + timedelta(minutes=1)).isoformat()}
        assert same(tools[0], tools[1], context=5, **window)["sought"]


def test_the_span_of_the_log_is_known_though_little_is_read(tmp_path: Path) -> None:
    """The first line after a byte order mark, the very last one, files that are passed over."""
    log = [f"{START + timedelta(hours=number):%Y-%m-%d %H:%M:%S} entry {number}" for number in range(300)]
    (tmp_path / "app.log.1").write_text("\ufeff" + "\n".join(log[:150]))
    (tmp_path / "app.log").write_text("\n".join(log[150:]))
    window = {"since": "2024-05-09T00:00:00", "until": "2024-05-09T03:00:00"}
    for place, last in (("path", "2024-05-13T11:00:00Z"), ("glob", "2024-05-13T11:00:00Z")):
        name = tmp_path / ("app.log" if place == "path" else "app.log*")
        tools = logs(LogSource(name="app", ordered=True, **{place: str(name)}, **PLAIN))
        looked_at = tools.search(**window)["looked_at"]
        first = "2024-05-07T06:00:00Z" if place == "path" else "2024-05-01T00:00:00Z"
        assert (looked_at["first"], looked_at["last"], looked_at["sought"]) == (first, last, True)
    old = logs(LogSource(name="app", ordered=True, path=tmp_path / "app.log.1", **PLAIN))
    assert old.search(since="2024-05-06")["looked_at"]["first"] == "2024-05-01T00:00:00Z"


def test_plain_files_that_only_look_like_a_rotated_set_are_read(tmp_path: Path) -> None:
    """Two workers that write at the same time."""
    for worker in (1, 2):
        log = "\n".join(f"{START + timedelta(hours=number):%Y-%m-%d %H:%M:%S} by {worker}" for number in range(100))
        (tmp_path / f"worker.{worker}").write_text(log)
    ordered, plain = (
        logs(LogSource(name="app", glob=f"{tmp_path}/worker.*", ordered=ordered, **PLAIN)) for ordered in (True, False)
    )
    assert "files_outside" not in same(ordered, plain, since="2024-05-03", limit=500)
