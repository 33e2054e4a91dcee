"""How fast a large log is searched: `python -m bench.log_search [MIB]`.

A log of that size (1024 MiB) is written to a folder of its own and searched by `search_logs` and, where it is
installed, by ripgrep with line numbers, both from the page cache; seconds and their ratio are the best of nine.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from activities.logs import LogSource, log_tools
from bench.setting import print_table
from boundary.contracts import JsonObject
from boundary.tools import ToolContext

ROUNDS = 9
LINES_AT_ONCE = 20_000
ERRORS = 0.0002
"""Share of lines that are errors, of which there are some in every MiB."""

SEARCHES: tuple[tuple[str, JsonObject], ...] = (
    ("connection failed", {"text": "connection failed"}),
    ("(?i)error", {"pattern": "error", "case_sensitive": False}),
    ("nosuchthing|otherthing", {"pattern": "nosuchthing|otherthing"}),
    ("(timeout|refused|reset) to", {"pattern": "(timeout|refused|reset) to"}),
    (r"status=5\d\d", {"pattern": r"status=5\d\d"}),
    (r"dur=\d+ms user=u4999 ", {"pattern": r"dur=\d+ms user=u4999 "}),
    (r"^\S+ \S+ ERROR \[", {"pattern": r"^\S+ \S+ ERROR \["}),
    ("ERROR.*timeout to 10.0.3", {"pattern": "ERROR.*timeout to 10.0.3"}),
    (r"u\d{3}7 session=[0-9]{16}$", {"pattern": r"u\d{3}7 session=[0-9]{16}$"}),
)
"""Patterns as ripgrep reads them, and as arguments."""


def write_log(path: Path, size: int) -> None:
    """Write lines of about 130 bytes in order of time, until there are so many bytes."""
    chance, moment, written = random.Random(7), datetime(2024, 5, 1), 0
    with path.open("wb") as log:
        while written < size:
            lines: list[str] = []
            for _ in range(LINES_AT_ONCE):
                moment += timedelta(milliseconds=chance.randrange(60))
                failed = chance.random() < ERRORS
                what = (
                    f"connection failed: timeout to 10.0.{chance.randrange(8)}.1 after 5000ms" if failed else "handled"
                )
                lines.append(
                    f"{moment.isoformat(' ', 'milliseconds')} {'ERROR' if failed else 'INFO'} "
                    f"[worker-{chance.randrange(16):02}] {what} path=/product/{chance.randrange(2000)} "
                    f"status={503 if failed else 200} dur={chance.randrange(900)}ms user=u{chance.randrange(5000)} "
                    f"session={chance.getrandbits(64):016x}\n"
                )
            written += log.write("".join(lines).encode())


def best(run: Callable[[], int]) -> tuple[int, float]:
    """Run some times; what it found, and the fewest seconds."""
    found, seconds = 0, float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        found = run()
        seconds = min(seconds, time.perf_counter() - begun)
    return found, seconds


def measure(size: int) -> None:
    """Write the log, search it and print how long it took."""
    ripgrep = shutil.which("rg")
    rows: list[list[str | float | int]] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "app.log"
        write_log(path, size << 20)
        source = LogSource(name="app", path=path, timestamp="%Y-%m-%d %H:%M:%S.%f", zone="UTC")
        tool = next(tool for tool in log_tools([source]) if tool.definition.name == "search_logs")

        def ours(arguments: JsonObject) -> int:
            context = ToolContext(stop=threading.Event(), max_raw_bytes=8 << 20)
            return cast("JsonObject", tool.execute({"source": "app", **arguments}, context))["matched"]

        def theirs(pattern: str) -> int:
            found = subprocess.run([ripgrep or "rg", "--line-number", pattern, path], capture_output=True, check=False)
            return found.stdout.count(b"\n")

        for pattern, arguments in SEARCHES:
            matched, seconds = best(lambda asked=arguments: ours(asked))
            row: list[str | float | int] = [pattern, matched, seconds]
            if ripgrep is not None:
                same, of_ripgrep = best(lambda wanted=pattern: theirs(wanted))
                assert same == matched
                row += [of_ripgrep, seconds / of_ripgrep]
            rows.append(row)
    head = ["pattern", "lines", "seconds", *(["ripgrep", "ratio"] if ripgrep else [])]
    print_table(f"Searches of {size} MiB", head, rows)


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
