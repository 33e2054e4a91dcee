"""The checkout as data: its files, its packages, its modules' imports and functions."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("boundary", "activities", "workflows", "casebound")
CODE = (*PACKAGES, "tests", "bench", "examples")

FILE_SOFT, FILE_HARD = 300, 500
FUNCTION_HARD = 60


def tracked_files() -> list[Path]:
    """List the files that git tracks or would track; those of the tree where there is no git."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name.decode() for name in listed.stdout.split(b"\0") if name]
        return sorted(path for path in (ROOT / name for name in names) if path.is_file())
    return sorted(path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts)


def python_files(*folders: str) -> list[Path]:
    """List the Python files under the folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def imported_modules(path: Path) -> set[str]:
    """Name every module the file imports anywhere, type-checking blocks included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each function with its lines, docstring and decorators not counted."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1


def line_count(path: Path) -> int:
    """Count the lines of a file."""
    return len(path.read_bytes().splitlines())


def relative(path: Path) -> str:
    """Name the file from the root of the checkout."""
    return path.relative_to(ROOT).as_posix()
