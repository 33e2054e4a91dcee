"""The `casebound.check_report` activity: EvidenceGuard over the report of a stored turn.

Above: the workflow names the turn and gives the digests its history saw. Below: `guard` and the
`InvocationStore`. The report itself never passes through the workflow unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from temporalio import activity

from activities.contracts import CHECK_REPORT, CheckedReport, CheckReportInput
from activities.edge import codes_only
from activities.heartbeat import attempt, of_run
from activities.masking import masked_claims, masked_lines
from activities.stored import StoredTurn, read_stored
from boundary.errors import RecordExpired
from boundary.guard import EvidenceGuard, EvidenceRecord
from boundary.record import sha256_hex
from boundary.redaction import Redactor
from boundary.report import verdict_of
from boundary.run_index import RunIndex
from boundary.store import InvocationStore


class ReportChecks:
    """Checks reports against the store.

    Args:
        runs, store: where the turn and the evidence are.
        redactor: masks secrets in quotes that no evidence holds.
    """

    def __init__(self, runs: RunIndex, store: InvocationStore, redactor: Redactor) -> None:
        self._runs = runs
        self._redactor = redactor
        self._guard = EvidenceGuard(StoredEvidence(store))

    @activity.defn(name=CHECK_REPORT)
    async def check_report(self, request: CheckReportInput) -> CheckedReport:
        """Check every citation of the turn's report."""
        with codes_only():
            async with attempt() as current:
                request, now_ms = of_run(request), current.now_ms()
                _, stored = await self._runs.turn(request.run_id, request.turn_key, now_ms=now_ms)
                if stored is None:
                    raise RecordExpired(f"turn {request.turn_key!r} of run {request.run_id!r} was lost")
                turn = read_stored(StoredTurn, stored)
                if turn.report is None:
                    return CheckedReport(faults=turn.turn.faults, usable=False)
                checked = await self._guard.check(request.run_id, turn.report, request.seen, now_ms=now_ms)
                return CheckedReport(
                    claims=masked_claims(checked.claims, self._redactor),
                    verdict=verdict_of(checked.claims),
                    faults=masked_lines(checked.faults, self._redactor),
                )


class StoredEvidence:
    """Reads records for the guard. Implements `guard.EvidenceReader`."""

    def __init__(self, store: InvocationStore) -> None:
        self._store = store

    async def read(self, run_id: str, tool_call_ids: Sequence[str], *, now_ms: int) -> Mapping[str, EvidenceRecord]:
        """Read records with their agent results in one round trip."""
        found = await self._store.read(run_id, tool_call_ids, now_ms=now_ms)
        return {
            call_id: EvidenceRecord(
                run_id=stored.record.run_id,
                status=stored.record.status,
                evidence_status=stored.record.evidence_status,
                record_sha256=sha256_hex(stored.encoded),
                agent_result=stored.agent_result,
                agent_result_sha256=stored.record.sha256.agent_result,
            )
            for call_id, stored in found.items()
        }
