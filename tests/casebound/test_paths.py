"""Where the embedded stack keeps its data."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from casebound.paths import StatePaths, state_paths


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"CASEBOUND_STATE_DIR": "/srv/cb", "XDG_STATE_HOME": "/x"}, "/srv/cb"),
        ({"XDG_STATE_HOME": "/x"}, "/x/casebound"),
        ({"XDG_STATE_HOME": "relative"}, "~/.local/state/casebound"),
        ({}, "~/.local/state/casebound"),
    ],
)
def test_the_state_directory_follows_the_environment(environment: dict[str, str], root: str) -> None:
    """Our own variable first, then XDG's, which must be absolute to count."""
    assert state_paths(environment).root == Path(root).expanduser()


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    """The store holds raw tool output."""
    paths = StatePaths(tmp_path / "a" / "b")
    paths.create()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (paths.root, paths.store)] == [0o700, 0o700]
