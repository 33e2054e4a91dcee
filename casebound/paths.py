"""Where casebound keeps the data of its embedded stack, after the XDG convention."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StatePaths:
    """The files of one state directory; one stack at a time owns it."""

    root: Path

    @property
    def temporal_db(self) -> Path:
        """Histories, in SQLite."""
        return self.root / "temporal.db"

    @property
    def temporal_log(self) -> Path:
        """Output of the Temporal server."""
        return self.root / "temporal.log"

    @property
    def store(self) -> Path:
        """Folder of the evidence store's append-only file."""
        return self.root / "store"

    @property
    def store_config(self) -> Path:
        """Configuration of the evidence store, its password included."""
        return self.root / "valkey.conf"

    @property
    def store_log(self) -> Path:
        """Output of the evidence store."""
        return self.root / "valkey.log"

    @property
    def keeper_log(self) -> Path:
        """Output of the process that owns both servers."""
        return self.root / "keeper.log"

    @property
    def worker_log(self) -> Path:
        """What workers of commands on this stack log; their stderr is for people."""
        return self.root / "worker.log"

    @property
    def owner_lock(self) -> Path:
        """Held by the command that runs the stack, and by its keeper until the servers are gone."""
        return self.root / "owner.lock"

    @property
    def users_lock(self) -> Path:
        """Shared by the commands that use the stack; the owner waits for them before it stops."""
        return self.root / "users.lock"

    @property
    def stack_file(self) -> Path:
        """How to reach the running stack, for commands that join it."""
        return self.root / "stack.json"

    def create(self) -> None:
        """Make the folders, readable by nobody else: the store holds raw tool output."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.store.mkdir(exist_ok=True, mode=0o700)


def state_paths(environment: Mapping[str, str] = os.environ) -> StatePaths:
    """Find the state directory: CASEBOUND_STATE_DIR, else casebound's in XDG_STATE_HOME or ~/.local/state."""
    own = environment.get("CASEBOUND_STATE_DIR")
    if own:
        return StatePaths(Path(own).expanduser().absolute())
    xdg = Path(environment.get("XDG_STATE_HOME", ""))
    base = xdg if xdg.is_absolute() else Path.home() / ".local" / "state"
    return StatePaths(base / "casebound")
