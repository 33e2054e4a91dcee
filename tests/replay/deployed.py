"""Other versions of the workflow: copies of its package with one change, each of which a process can be started with.

Above: `test_deploying`. Below: this repository's `workflows`, which is never changed itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from tests.support import tree
from tests.support.runs import call, calls, cite, claim, report

SCRIPT = [
    calls(call("first", arguments={"q": 1})),
    calls(call("second", arguments={"q": 2})),
    report(claim("q was one", cite("first", pointer="/echo/q", quote="1"))),
]
"""What the planner of every version says."""


def version(folder: Path, *changes: tuple[str, str]) -> dict[str, str]:
    """Write a version of the workflow; returns the environment in which it is the one at hand.

    Args:
        folder: where; it is made.
        changes: texts of `agent_run.py`, each of which stands there once, and what replaces them.
    """
    shutil.copytree(tree.ROOT / "workflows", folder / "workflows", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "workflows" / "agent_run.py"
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the workflow"
        text = text.replace(old, new)
    path.write_text(text)
    return {"PYTHONPATH": os.pathsep.join((str(folder), str(tree.ROOT)))}


@contextmanager
def worker(order: BaseModel, environment: dict[str, str]) -> Generator[None]:
    """Run a worker of a version until the block ends; it is killed then."""
    command: Sequence[str] = (sys.executable, "-P", "-m", "tests.replay.deployed_worker", order.model_dump_json())
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "serving\n"
        yield
    finally:
        process.kill()
        process.communicate()
