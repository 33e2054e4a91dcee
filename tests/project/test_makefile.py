"""`make` finds an interpreter that fits, or says what to do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import tree


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile and nothing else."""
    shutil.copy(tree.ROOT / "Makefile", tmp_path)
    return tmp_path


def interpreter(path: Path, version: str) -> None:
    """Write a stand-in for an interpreter of that version: it answers version questions by a real Python's rules."""
    path.write_text(
        f"#!/bin/sh\n"
        f'if [ "$1" = -m ]; then mkdir -p "$3/bin"; touch "$3/bin/pip"; echo made by {version}; exit; fi\n'
        f'exec "{shutil.which("python3")}" -c "import sys; sys.version_info = ({version}, 0, \'final\', 0); $2"\n'
    )
    path.chmod(0o755)


def make_environment(checkout: Path, search: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Ask make for the virtual environment alone, with `search` as the first place to find programs."""
    environment = {"PATH": f"{search}:/usr/bin:/bin", "HOME": str(checkout)}
    command = ["make", ".venv/bin/pip", *arguments]
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False, timeout=30
    )


def test_a_newer_interpreter_is_taken_where_python3_is_too_old(checkout: Path, tmp_path: Path) -> None:
    """An old system Python is no reason to fail when a good one lies beside it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, version in (("python3", "3, 9, 2"), ("python3.13", "3, 10, 1"), ("python3.12", "3, 12, 1")):
        interpreter(programs / name, version)
    made = make_environment(checkout, programs)
    assert made.stdout.strip() == "made by 3, 12, 1", made.stderr


def test_an_interpreter_that_does_not_fit_is_named(checkout: Path, tmp_path: Path) -> None:
    """The one that was asked for is never replaced by another in silence."""
    made = make_environment(checkout, tmp_path, "PYTHON=/nonexistent/python3")
    assert made.returncode != 0
    assert "/nonexistent/python3 is no Python 3.11 or newer" in made.stderr
    assert not (checkout / ".venv").exists()
