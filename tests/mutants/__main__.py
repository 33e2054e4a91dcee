"""Applies each mutant to a copy of the tree and runs its test there: `python -m tests.mutants [WORD]`.

A mutant whose test still passes has survived: the exit code is then 1. A word picks the mutants
whose name holds it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.catalog import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("boundary", "activities", "workflows", "casebound", "tests", "docs", "examples", "pyproject.toml")
LIMIT_S = 300


def main(word: str) -> int:
    """Run the chosen mutants; say which survive."""
    chosen = [mutant for mutant in MUTANTS if word in mutant.name]
    survivors = [mutant.name for mutant in chosen if not caught(mutant)]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants caught", flush=True)
    return 1 if survivors or not chosen else 0


def caught(mutant: Mutant) -> bool:
    """Tell whether the mutant's test fails on a broken copy of the tree."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        file = copy / mutant.file
        text = file.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            print(f"STALE     {mutant.name}: its text is not in {mutant.file} once", flush=True)
            return False
        file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        failed = _fails(mutant.test, copy)
    print(f"{'caught' if failed else 'SURVIVED':9} {mutant.name} ({mutant.test})", flush=True)
    return failed


def _fails(test: str, copy: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=LIMIT_S, check=False)
    # The summary alone: what was logged above it may begin with these words, too.
    summary = done.stdout.decode(errors="replace").rpartition(" short test summary info ")[2]
    return "\nFAILED " in summary and "\nERROR " not in summary


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
