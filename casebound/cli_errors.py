"""Exit codes, and how a command's failure is told: one clear line and what to do, never a traceback."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from enum import IntEnum
from typing import Any

from boundary.errors import CaseboundError


class Exit(IntEnum):
    """What the exit code of `diagnose` says; other commands use 0 and 2, and 1 for "there is nothing"."""

    OK = 0
    """SUPPORTED."""
    UNPROVEN = 1
    """PARTIAL or INCONCLUSIVE."""
    USAGE = 2
    """Usage, configuration or start-up: no run was started."""
    FAILED = 3
    """PLANNER_FAILED, STORE_LOST or a failed workflow."""
    CANCELLED = 4
    """CANCELLED, or interrupted before there was a run."""


class UsageError(CaseboundError):
    """The command line or the environment asks for something that cannot be done."""


def run_command(command: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command to its exit code; what it cannot do is told on stderr."""
    try:
        return asyncio.run(command())
    except CaseboundError as error:
        tell(error.message)
        return Exit.USAGE
    except (KeyboardInterrupt, asyncio.CancelledError):
        tell("interrupted")
        return Exit.CANCELLED
    except BrokenPipeError:
        # Whoever read stdout has had enough; keep the interpreter from saying so once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except Exception as error:
        return _unplanned(error)


def _unplanned(error: Exception) -> int:
    """Tell what no command planned for: Temporal's answers in a line, a bug with its trace; secrets masked."""
    from boundary.redaction import Redactor  # its patterns take longer to make than most commands to fail

    service = sys.modules.get("temporalio.service")
    if service is not None and isinstance(error, service.RPCError):
        tell(Redactor().text(f"Temporal did not do what was asked: {error}")[0])
    else:
        print(Redactor().text("".join(traceback.format_exception(error)))[0], file=sys.stderr)
        tell("this is a bug in casebound")
    return Exit.FAILED


def tell(message: str) -> None:
    """Print an error on stderr."""
    print(f"casebound: {message}", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print what is going on, on stderr: stdout is for the report."""
    print(text, file=sys.stderr, flush=True)
