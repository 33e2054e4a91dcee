"""Where histories to replay come from: files as Temporal's CLI and UI write them, or a server.

Above: `casebound replay`. Below: the file system, a client.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from google.protobuf.json_format import ParseError
from temporalio.client import Client, WorkflowExecution, WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from boundary.errors import CaseboundError
from casebound.client import WORKFLOW_TYPE
from casebound.replay import NotReplayable, check_history

TOLD_MAX = 10
"""Unusable files told at once."""


class NoHistories(CaseboundError):
    """What was named has no history that could be replayed; the message says why, file by file."""


@dataclass(frozen=True)
class Sourced:
    """A history, and where it is from."""

    source: str
    """A file's path, or workflow id and execution."""
    history: WorkflowHistory


def read_files(paths: Sequence[Path]) -> list[Sourced]:
    """Read history files; a directory stands for the `*.json` in it.

    Raises:
        NoHistories: one of them cannot be used.
    """
    read: list[Sourced] = []
    wrong: list[str] = []
    for path in _files(paths, wrong):
        try:
            read.append(Sourced(str(path), _history(path)))
        except NotReplayable as error:
            wrong.append(f"{path}: {error.message}")
    if wrong:
        more = [f"... and {len(wrong) - TOLD_MAX} more"] if len(wrong) > TOLD_MAX else []
        raise NoHistories("\n".join([*wrong[:TOLD_MAX], *more]))
    return read


def _files(paths: Sequence[Path], wrong: list[str]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.json"))
            if not inside:
                wrong.append(f"{path}: there is no *.json in this directory")
            yield from inside
        elif path.exists():
            yield path
        else:
            wrong.append(f"{path}: there is no such file")


def _history(path: Path) -> WorkflowHistory:
    """Read one file.

    Raises:
        NotReplayable: it holds no history of a run.
    """
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotReplayable(f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise NotReplayable("it is no JSON; write it with `temporal workflow show --output json`") from None
    # Older versions of the UI download the bare list of events.
    document = cast("dict[str, Any]", {"events": values} if isinstance(values, list) else values)
    if not isinstance(values, (dict, list)) or not isinstance(document.get("events"), list):
        raise NotReplayable("it is no history: there is no list of events in it")
    try:
        history = WorkflowHistory.from_json(path.stem, document)
    except (ParseError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise NotReplayable(f"its events cannot be read: {reason}") from None
    check_history(history)
    named = history.events[0].workflow_execution_started_event_attributes.workflow_id
    return WorkflowHistory(named or path.stem, cast("Any", history.events))


async def fetch(
    client: Client, query: str, limit: int, skip: Callable[[WorkflowExecution], bool] = lambda _: False
) -> AsyncIterator[Sourced]:
    """Fetch the histories of runs, the latest first.

    Args:
        client: of the server.
        query: of visibility; empty: every run there is.
        limit: histories at most.
        skip: tells that an execution is not wanted.

    Raises:
        NoHistories: the server does not understand the query.
    """
    wanted = f"WorkflowType = '{WORKFLOW_TYPE}'" + (f" AND ({query})" if query else "")
    left = limit
    try:
        async for execution in client.list_workflows(wanted):
            if left == 0:
                return
            if skip(execution):
                continue
            left -= 1
            handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
            history = await _history_of(handle)
            if history is not None:
                yield Sourced(f"{execution.id} {execution.run_id}", history)
    except RPCError as error:
        if error.status is RPCStatusCode.INVALID_ARGUMENT:
            raise NoHistories(f"Temporal does not understand the query: {error.message}") from None
        raise


async def _history_of(handle: WorkflowHandle[Any, Any]) -> WorkflowHistory | None:
    """Fetch a history; None: it was deleted since the run was listed."""
    try:
        return await handle.fetch_history()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
