"""A source is declared completely or refused with what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from activities.logs import LogSource, log_tools
from tests.logs.support import PLAIN


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({}, "exactly one of `path` and `glob`"),
        ({"path": "a.log", "glob": "*.log"}, "exactly one of `path` and `glob`"),
        ({"glob": "a.log"}, "no wildcard"),
        ({"glob": "logs/**.log"}, r"`\*\*` stands for folders, alone between slashes"),
        ({"path": "a.log", "zone": None}, "`zone` is missing"),
        ({"path": "a.log", "zone": "Nowhere"}, "no time zone 'Nowhere'"),
        ({"path": "a.log", "timestamp": "%b %d %H:%M:%S"}, "`year` is missing"),
        ({"path": "a.log", "year": 2015}, "`year` is for formats without one"),
        ({"path": "a.log", "timestamp": "%H:%M"}, "has no date"),
        ({"path": "a.log", "timestamp_regex": "(a)(b)"}, "has 2 groups: it needs one"),
        ({"path": "a.log", "timestamp_regex": "(?<=a)(b)"}, "is no pattern"),
        ({"path": "a.log", "repeated": r"repeated (\d+) times"}, r"needs a group \(\?P<count>"),
        ({"path": "a.log", "colour": "red"}, "Extra inputs are not permitted"),
        ({"path": "a.log", "name": "../x"}, "should match pattern"),
    ],
)
def test_a_declaration_that_would_need_a_guess_is_refused(declared: dict[str, Any], message: str) -> None:
    """The message names the field and what to give."""
    with pytest.raises(ValidationError, match=message):
        LogSource.model_validate({"name": "app", **PLAIN, **declared})


@pytest.mark.parametrize("declared", [{"timestamp": "%Y-%m-%dT%H:%M:%S%z"}, {"timestamp": "epoch"}])
def test_a_format_that_says_its_zone_needs_none(declared: dict[str, str]) -> None:
    """Windows without an offset are then read as UTC."""
    source = LogSource.model_validate({"name": "app", "path": "app.log", **declared})
    assert source.tzinfo.utcoffset(None) is not None


def test_relative_places_are_taken_from_the_folder_they_are_declared_in(tmp_path: Path) -> None:
    """Absolute ones stay; a glob's root is the folder before its first wildcard."""
    by_path = LogSource(name="a", path=Path("logs/app.log"), **PLAIN).resolve(tmp_path)
    by_glob = LogSource(name="b", glob="logs/*/app.log*", **PLAIN).resolve(tmp_path)
    absolute = LogSource(name="c", path=Path("/var/log/syslog"), **PLAIN).resolve(tmp_path)
    assert (by_path.root, by_path.path) == (tmp_path / "logs", tmp_path / "logs/app.log")
    assert (by_glob.root, by_glob.wildcard) == (tmp_path / "logs", "*/app.log*")
    assert absolute.path == Path("/var/log/syslog")


def test_sources_of_one_name_or_with_relative_places_make_no_tools(tmp_path: Path) -> None:
    """Both are mistakes of whoever composes the worker."""
    source = LogSource(name="a", path=tmp_path / "a.log", **PLAIN)
    with pytest.raises(ValueError, match="different names: a"):
        log_tools([source, source])
    with pytest.raises(ValueError, match="absolute paths: b"):
        log_tools([LogSource(name="b", path=Path("b.log"), **PLAIN)])
    assert log_tools([]) == []
