"""Who owns the embedded stack of a state directory, who uses it, and how to reach it.

Two files are locked, none is ever deleted: `owner.lock` exclusively by the command that runs the
servers (its keeper inherits the lock, so it is free only when the servers are gone), `users.lock`
shared by every command that uses them, which the owner takes exclusively before it stops them.
`stack.json` says how to reach the servers; it means nothing unless the owner lock is held.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from casebound.paths import StatePaths


class StackFile(BaseModel):
    """How to reach a running stack."""

    model_config = ConfigDict(frozen=True)

    temporal_address: str
    ui_url: str
    redis_url: str
    pid: int
    """Of the command that owns the stack."""


class FileLock:
    """An advisory lock on a file, held until `release` or the end of every process that inherited it."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_exclusive(self) -> bool:
        """Take the lock for this process alone, if nobody has it."""
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        """Take the lock beside others that share it, unless someone has it alone."""
        return self._try(fcntl.LOCK_SH)

    def release(self) -> None:
        """Close this process' handle of the lock."""
        os.close(self.fd)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def write_stack_file(paths: StatePaths, stack: StackFile) -> None:
    """Publish the running stack to other commands of the same user, all at once."""
    write_private(paths.stack_file, stack.model_dump_json(indent=2) + "\n")


def read_stack_file(paths: StatePaths) -> StackFile | None:
    """Read how to reach the running stack; None if there is no readable answer."""
    try:
        return StackFile.model_validate_json(paths.stack_file.read_bytes())
    except (OSError, ValidationError):
        return None


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically by one that only this user can read."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
