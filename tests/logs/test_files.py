"""A source's files are found in order, and nothing else is ever opened."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.logs import LogSource, scan, skimming
from boundary.tools import ToolFailure
from tests.logs.support import COMPRESS, PLAIN, Logs, app, logs

LINE = "2024-01-01 00:00:00 {}\n"


def rotated(folder: Path, names: list[str], pattern: str = "*") -> Logs:
    """A source `app` over files of those names, each with one line that says its file's name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = LINE.format(name).encode()
        pack = COMPRESS.get(path.suffix)
        path.write_bytes(content if pack is None else pack(content))
    return logs(LogSource(name="app", glob=str(folder / pattern), **PLAIN))


class RemovesWhenLookedAt:
    """A stop flag that never says stop, and removes a file when a scan first looks at it."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths

    def is_set(self) -> bool:
        for path in self._paths:
            path.unlink(missing_ok=True)
        return False


class EmptiesWhenLookedAt:
    """A stop flag that never says stop, and empties a file when a scan first looks at it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_set(self) -> bool:
        self._path.write_bytes(b"")
        return False


def test_rotated_files_are_read_oldest_first(tmp_path: Path) -> None:
    """Numbers count down to the current file, dates count up to it; lines of equal time stay in that order."""
    tools = rotated(
        tmp_path, ["a.log", "a.log.1", "a.log.10.gz", "a.log.2.zst", "b.log", "b.log-20240102", "b.log-20240101"]
    )
    found = [line["file"] for line in tools.search()["lines"]]
    assert found == ["a.log.10.gz", "a.log.2.zst", "a.log.1", "a.log", "b.log-20240101", "b.log-20240102", "b.log"]


def test_the_year_goes_on_from_one_rotated_file_to_the_next(tmp_path: Path) -> None:
    """The declared year is that of the first entry of the oldest file; another set of files begins with it again."""
    for name, line in {
        "sys.1": "Dec 31 23:00:00 old",
        "sys": "Jan  1 01:00:00 new",
        "zz": "Jan  2 00:00:00 other",
    }.items():
        (tmp_path / name).write_text(line + "\n")
    source = LogSource(name="app", glob=str(tmp_path / "*"), timestamp="%b %d %H:%M:%S", zone="UTC", year=2023)
    found = {line["file"]: line["time"] for line in logs(source).search()["lines"]}
    assert found == {"sys.1": "2023-12-31T23:00:00Z", "sys": "2024-01-01T01:00:00Z", "zz": "2023-01-02T00:00:00Z"}


def test_folders_between_are_named_and_folders_themselves_are_no_files(tmp_path: Path) -> None:
    """Names are relative to the folder before the first wildcard."""
    tools = rotated(tmp_path, ["x/app.log", "y/z/app.log"], "**/*.log")
    (tmp_path / "dir.log").mkdir()
    assert [line["file"] for line in tools.search()["lines"]] == ["x/app.log", "y/z/app.log"]


def test_a_link_out_of_the_source_is_refused_and_said(tmp_path: Path) -> None:
    """Its content is never read; a link within the source is as good as its file."""
    inside = tmp_path / "logs"
    tools = rotated(inside, ["a.log"])
    (tmp_path / "secret").write_text(LINE.format("SECRET"))
    (inside / "out.log").symlink_to(tmp_path / "secret")
    (inside / "up.log").symlink_to("../secret")
    (inside / "self.log").symlink_to("self.log")
    (inside / "in.log").symlink_to("a.log")
    refused = {item["file"]: item["reason"] for item in tools.list()["sources"][0]["skipped"]}
    assert set(refused) == {"out.log", "up.log", "self.log"}
    assert "leaves the source's folder" in refused["up.log"]
    result = tools.search()
    assert {line["text"][20:] for line in result["lines"]} == {"a.log"}
    assert {item["file"] for item in result["looked_at"]["skipped"]} == set(refused)
    assert tools.search(text="SECRET")["matched"] == 0


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Only regular files are logs."""
    tools = rotated(tmp_path, ["a.log"])
    os.mkfifo(tmp_path / "pipe")
    assert tools.search()["matched"] == 1
    assert tools.list()["sources"][0]["skipped"] == [{"file": "pipe", "reason": "not a regular file"}]


def test_a_file_removed_while_others_are_read_is_said(tmp_path: Path) -> None:
    """As when logs rotate: what is there counts, what is gone is named."""
    tools = rotated(tmp_path, ["a.log", "b.log"])
    result = tools.search(stop=RemovesWhenLookedAt(tmp_path / "b.log"))
    assert result["matched"] == 1
    assert result["looked_at"]["files"] == 1
    assert [item["file"] for item in result["looked_at"]["skipped"]] == ["b.log"]


def test_nothing_found_beside_a_removed_file_is_no_absence(tmp_path: Path) -> None:
    """What was looked for may have been in it: the call fails, and may be repeated."""
    tools = rotated(tmp_path, ["a.log", "b.log"])
    with pytest.raises(ToolFailure, match=r"b\.log was removed") as failure:
        tools.search(text="b.log", stop=RemovesWhenLookedAt(tmp_path / "b.log"))
    assert failure.value.retryable


def test_a_file_that_grows_is_read_to_where_it_ended_when_opened(tmp_path: Path) -> None:
    """A log written faster than it is read does not keep a search busy for ever."""
    tools = rotated(tmp_path, ["a.log"])

    class Appends:
        def is_set(self) -> bool:
            with (tmp_path / "a.log").open("a") as log:
                log.write(LINE.format("appended"))
            return False

    assert tools.search(stop=Appends())["looked_at"]["lines"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"2024-01-01 00:00:00 x\n" * 1000, mtime=0)[:-20], "ends in the middle of its gzip data"),
        (gzip.compress(b"x" * 1000, mtime=0)[:10] + b"\xff" * 50, "is not sound gzip"),
        (COMPRESS[".zst"](b"2024-01-01 00:00:00 x\n" * 1000)[:-3], "ends in the middle of its zstd data"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "is not sound zstd"),
        (b"\xfd7zXZ\x00rest", "compressed with xz"),
        (b"BZh91AY&SYrest", "compressed with bzip2"),
        (b"PK\x03\x04rest", "a zip archive"),
        ("2024-01-01 00:00:00 x\n".encode("utf-16"), "encoded in UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_as_text_is_a_failure_and_never_no_evidence(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """The message names source and file, no absolute path; list_logs says the same."""
    tools = app(tmp_path, content)
    with pytest.raises(ToolFailure, match=message) as failure:
        tools.search(text="absent")
    assert "source 'app': app.log" in failure.value.message
    assert str(tmp_path) not in failure.value.message
    assert message in tools.list()["sources"][0]["problem"]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_compression_is_known_by_its_first_bytes(tmp_path: Path, suffix: str) -> None:
    """Not by its name: neither a compressed `.log` nor a plain `.gz` deceives."""
    packed = app(tmp_path, COMPRESS[suffix](LINE.format("x").encode()))
    assert packed.search()["matched"] == 1
    assert packed.list()["sources"][0]["files"][0]["compressed"]
    path = (tmp_path / "plain").with_suffix(suffix)
    path.write_text(LINE.format("x"))
    plain = logs(LogSource(name="app", path=path, **PLAIN))
    assert plain.search()["matched"] == 1


@pytest.mark.parametrize(
    "place", [{"path": "gone/app.log"}, {"path": "app.log"}, {"glob": "gone/*.log"}, {"glob": "*.log"}]
)
def test_a_source_without_files_is_a_failure_that_names_what_is_missing(tmp_path: Path, place: dict[str, str]) -> None:
    """Searching nothing proves nothing; list_logs says so with the source."""
    tools = logs(LogSource.model_validate({"name": "app", **PLAIN, **place}).resolve(tmp_path))
    with pytest.raises(ToolFailure, match=r"there is no file 'app\.log'|no file matches '\*\.log'") as failure:
        tools.search()
    assert str(tmp_path) not in failure.value.message
    listed = tools.project("list_logs")
    assert listed.agent_result["sources"][0]["problem"] == failure.value.message
    assert listed.evidence_status == "NO_EVIDENCE"


def test_a_folder_where_a_file_is_declared_is_no_file(tmp_path: Path) -> None:
    """It is neither searched nor descended into."""
    (tmp_path / "app.log").mkdir()
    tools = logs(LogSource(name="app", path=tmp_path / "app.log", **PLAIN))
    with pytest.raises(ToolFailure, match="there is no file"):
        tools.search()


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Run as somebody who may not read everything, also where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65_534)
    yield
    if root:
        os.seteuid(0)


def test_a_file_that_may_not_be_read_is_a_failure(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """No retry will help; list_logs gives the same reason."""
    tools = app(tmp_path, LINE.format("x"))
    (tmp_path / "app.log").chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(ToolFailure, match=r"app\.log cannot be read: permission denied") as failure:
        tools.search()
    assert not failure.value.retryable
    assert tools.list()["sources"][0]["problem"] == failure.value.message


@pytest.mark.parametrize("every_line", [0, 1 << 30])
def test_a_file_that_becomes_shorter_is_no_file_without_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_line: int
) -> None:
    """As when a log is copied and emptied: what was not read may have held it."""
    monkeypatch.setattr(scan, "EVERY_LINE_BYTES", every_line)
    monkeypatch.setattr(skimming, "PIECE_BYTES", 100_000)
    tools = app(tmp_path, LINE.format("hay") * 50_000 + LINE.format("needle"))
    with pytest.raises(ToolFailure, match=r"app\.log became shorter while it was read; ask again") as failure:
        tools.raw("search_logs", source="app", text="needle", stop=EmptiesWhenLookedAt(tmp_path / "app.log"))
    assert failure.value.retryable
