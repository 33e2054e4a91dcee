"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

from tests.support import tree


def test_no_file_is_longer_than_500_lines() -> None:
    """300 is where to split; those above it are listed at the end of a session."""
    sizes = {tree.relative(path): tree.line_count(path) for path in tree.python_files(*tree.CODE)}
    assert {name: size for name, size in sizes.items() if size > tree.FILE_HARD} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    """Under 40 is what to aim at."""
    long = {
        f"{tree.relative(path)}:{name}": length
        for path in tree.python_files(*tree.CODE)
        for name, length in tree.function_lengths(path)
        if length > tree.FUNCTION_HARD
    }
    assert long == {}
