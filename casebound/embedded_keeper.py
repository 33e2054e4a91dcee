"""The process that owns the embedded servers, so that they die with the command that needs them.

Run as a file by `python -I -S`, standard library only, in a session of its own: Ctrl-C in the
terminal does not reach it. Its parent is `casebound.stack`; its children are the servers.

1. It reads one line of JSON from stdin: a list of `{name, argv, log, cwd}`.
2. It starts each as a child in a session of its own and writes one line of JSON per event to
   stdout: `{"event": "started", "name", "pid"}`, `{"event": "failed", "name", "error"}`,
   `{"event": "exited", "name", "code"}`.
3. When stdin ends - the parent closed it, or was killed - or at SIGTERM it terminates the
   children, kills those that do not go, and exits once all of them are gone.

A lock that the parent passed on as an inherited file stays held until then.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Any

GRACE_S = 5.0
"""From SIGTERM to SIGKILL; both servers survive either."""

_reporting = threading.Lock()


def report(**event: object) -> None:
    """Tell the parent; if it is gone, nobody needs to know."""
    line = (json.dumps(event) + "\n").encode()
    with _reporting:
        try:
            os.write(1, line)
        except OSError:
            return


def environment() -> dict[str, str]:
    """Pass on the environment without Temporal's own variables: they would configure the server's command."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TEMPORAL_")}


def start(server: dict[str, Any]) -> subprocess.Popen[bytes] | None:
    """Start one server; None if it could not be started."""
    try:
        with open(server["log"], "ab") as log:
            child = subprocess.Popen(
                server["argv"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=server["cwd"],
                env=environment(),
                start_new_session=True,
            )
    except OSError as error:
        report(event="failed", name=server["name"], error=str(error))
        return None
    report(event="started", name=server["name"], pid=child.pid)
    threading.Thread(target=watch, args=(server["name"], child), daemon=True).start()
    return child


def watch(name: str, child: subprocess.Popen[bytes]) -> None:
    """Report the end of one server."""
    report(event="exited", name=name, code=child.wait())


def stop(children: list[subprocess.Popen[bytes]]) -> None:
    """End every child and wait until it is gone."""
    for child in children:
        child.terminate()
    give_up = time.monotonic() + GRACE_S
    for child in children:
        try:
            child.wait(max(0.0, give_up - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def on_sigterm(_signal: int, _frame: FrameType | None) -> None:
    """Leave the read of stdin."""
    raise SystemExit(0)


def main() -> None:
    """Own the servers until stdin ends."""
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, on_sigterm)
    children: list[subprocess.Popen[bytes]] = []
    try:
        servers: list[dict[str, Any]] = json.loads(sys.stdin.buffer.readline() or b"[]")
        for server in servers:
            child = start(server)
            if child is not None:
                children.append(child)
        sys.stdin.buffer.read()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stop(children)


if __name__ == "__main__":
    main()
