"""Admitted calls and settlements for tests, at a fixed time."""

from __future__ import annotations

from boundary.contracts import AdmittedCall, EvidenceStatus, Grant, ReplacedText, call_error
from boundary.errors import ErrorCode
from boundary.record import Failed, Ready

NOW_MS = 1_790_000_000_000
"""2026-09-21, an arbitrary fixed time; no store may look at its own clock instead."""

HOUR_MS = 3_600_000


def admitted(
    call_id: str = "call_1",
    *,
    run_id: str = "run-a",
    tool: str = "probe",
    arguments: str | ReplacedText = '{"q": 1}',
    turn: int = 1,
    position: int = 0,
    now_ms: int = NOW_MS,
    deadline_ms: int | None = None,
    ttl_ms: int = HOUR_MS,
    grant_bytes: int = 1_000_000,
    timeout_ms: int = 60_000,
    attempts: int = 3,
) -> AdmittedCall:
    """An admitted call; the defaults make a call that may run for ten minutes."""
    return AdmittedCall(
        run_id=run_id,
        tool_call_id=call_id,
        tool_name=tool,
        arguments=arguments,
        turn=turn,
        position=position,
        call_index=1,
        grant=Grant(
            deadline_ms=now_ms + 600_000 if deadline_ms is None else deadline_ms,
            expires_at_ms=now_ms + ttl_ms,
            bytes=grant_bytes,
            timeout_ms=timeout_ms,
            attempts=attempts,
        ),
    )


def ready(agent: bytes = b'{"lines":[]}', raw: bytes = b'{"raw":true}') -> Ready:
    """A settlement with evidence."""
    return Ready(raw, agent, EvidenceStatus.EVIDENCE_FOUND)


def failed(code: ErrorCode = ErrorCode.EXECUTION_ERROR) -> Failed:
    """A settlement without."""
    return Failed(call_error(code, "it broke"))
