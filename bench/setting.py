"""What the measurements share: servers of their own, started the way the embedded stack starts them, and tables.

Above: the modules of `bench`, one command each. Below: `tests.support`. Everything runs in one process
but the two servers and, where a worker is killed, the workers.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.client import Client

from boundary.redis_backend import RedisBackend, connect
from casebound.converter import casebound_data_converter
from casebound.worker import Store, store_over
from tests.support import temporal
from tests.support.redis_servers import binary, redis_server

IDENTITY = "cb-12345"
"""Of the client: as long as a real one; it stands in most events."""

PREFIX = "bench"
LIMIT_S = 80.0
"""No round begins later than this after the start, so that a command ends within 90 s."""

# The SDK aborts an interpreter that exits while one of its threads still releases an object.
atexit.register(time.sleep, 0.1)


@dataclass(frozen=True)
class Setting:
    """Two servers nobody else uses."""

    client: Client
    store: Store
    redis_url: str


@asynccontextmanager
async def servers() -> AsyncGenerator[Setting]:
    """Start a Temporal dev server and a Valkey, and stop them at the end."""
    with TemporaryDirectory() as directory, redis_server(binary("valkey"), Path(directory)) as url:
        with _stdout_closed():
            started = await temporal.start_dev_server()
        async with started as env:
            client = await env.connect_client(data_converter=casebound_data_converter, identity=IDENTITY)
            redis = connect(url)
            async with contextlib.aclosing(redis):
                yield Setting(client, await store_over(RedisBackend(redis), PREFIX), url)


class Rounds:
    """Counts rounds until there are enough, or time is up."""

    def __init__(self, wanted: int, limit_s: float = LIMIT_S) -> None:
        self._wanted = wanted
        self._end = time.monotonic() + limit_s

    def __iter__(self) -> Generator[int]:
        """Yield round numbers from 0."""
        for number in range(self._wanted):
            if time.monotonic() > self._end:
                return
            yield number


def print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str | float | int]]) -> None:
    """Print a table; numbers to the right, floats with two decimals."""
    texts = [[f"{cell:.2f}" if isinstance(cell, float) else f"{cell}" for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(head), *texts]) for column in range(len(head))]
    print(f"\n{title}")
    for row in [list(head), *texts]:
        first, *others = [
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join([first, *others]).rstrip())
    sys.stdout.flush()


def median(values: Iterable[float]) -> float:
    """Middle value."""
    return statistics.median(values)


def paired(values: Sequence[float], bases: Sequence[float]) -> float:
    """Median of the ratios of two series, round by round: what a whole round suffered, both had."""
    return median(value / base for value, base in zip(values, bases, strict=True))


def spread(values: Sequence[float], form: Callable[[float], str] = "{:.2f}".format) -> str:
    """Write the range that the middle half of the values lies in."""
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0], 0, values[0])
    return f"{form(low)}-{form(high)}"


@contextmanager
def _stdout_closed() -> Generator[None]:
    """Keep the dev server's greeting, which it writes to the stdout it inherits, out of the tables."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
