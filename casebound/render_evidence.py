"""What one call's record is, as lines above its evidence.

Above: `casebound evidence` prints them on stderr. Below: the record. Secrets are masked as in a report.
"""

from __future__ import annotations

from boundary.record import CanonicalInvocation
from boundary.redaction import Redactor
from casebound.cli_text import Line, exact_line

LINE_SHOWN = 4000
"""Characters of a line; arguments may have more."""


def evidence_lines(record: CanonicalInvocation, redactor: Redactor) -> list[Line]:
    """Say what one call's record is, for above its evidence."""
    asked = record.request.arguments
    settled = f", settled {record.settled_at:%H:%M:%S}" if record.settled_at else ""
    given = (
        redactor.text(asked)[0] if isinstance(asked, str) else f"({asked.reason}, {asked.bytes} bytes, {asked.sha256})"
    )
    parts = {
        "Call": f"{record.tool_call_id}  #{record.call_index}, turn {record.turn}",
        "Tool": record.tool_name,
        "Arguments": given,
        "Status": f"{record.status.value}, {record.evidence_status.value}",
        "Error": f"{record.error.code.value}: {record.error.message}" if record.error else "",
        "Times": f"begun {record.created_at:%Y-%m-%d %H:%M:%S} UTC{settled}, executions {record.executions}",
        "Kept": f"until {record.expires_at:%Y-%m-%d %H:%M} UTC, {record.redactions} redactions",
        "Raw": _body(record.sizes.raw, record.sha256.raw),
        "Result": _body(record.sizes.agent_result, record.sha256.agent_result)
        + (" (items of raw left out)" if record.truncated else ""),
    }
    return [Line(f"{name:<10}{exact_line(text, LINE_SHOWN)}") for name, text in parts.items() if text]


def _body(size: int | None, digest: str | None) -> str:
    return f"{size} bytes, sha256 {digest}" if size is not None else ""
