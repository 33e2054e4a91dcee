"""What must hold exactly for each of the hundred runs. Reads what they left; changes nothing."""

from __future__ import annotations

from collections import Counter

from activities.contracts import RunOutcome
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from tests.load.scripts import OWN_BYTES, Expected, expected
from tests.load.stage import Ended


def judge(ended: Ended) -> Expected:
    """Hold one run to the model; returns what the model said."""
    sizes = {call_id: stored.bytes for call_id, stored in ended.records.items()}
    model, limits, used = expected(ended.script, sizes), ended.script.limits, ended.result.budget
    assert not ended.result.unsettled
    assert ended.result.outcome is model.outcome, f"{ended.result.outcome}, not {model.outcome}: {ended.script}"
    assert set(ended.records) == set(model.grants), f"records {sorted(ended.records)}, not {list(model.grants)}"
    assert used.tool_calls.used == len(model.grants) <= limits.max_tool_calls
    assert used.run_bytes.used == sum(sizes.values()) <= limits.max_run_bytes
    assert ended.at_once <= limits.max_parallel_calls, f"{ended.at_once} at once of {limits.max_parallel_calls}"
    _each_settled_within_its_grant(ended, model)
    refused = Counter((failed.tool_call_id, failed.error.code) for failed in ended.result.could_not_check)
    refused -= Counter((call_id, code) for call_id, code in _failed(ended))
    assert refused == Counter(model.refused), f"refused {refused}, not {model.refused}"
    return model


def _each_settled_within_its_grant(ended: Ended, model: Expected) -> None:
    for call_id, stored in ended.records.items():
        grant, body = model.grants[call_id], model.bodies[call_id]
        assert stored.record.settled, f"{call_id} is left PROJECTING"
        assert stored.bytes <= grant, f"{call_id}: {stored.bytes} bytes, granted {grant}"
        too_large = stored.record.status is not InvocationStatus.READY
        least, most = 2 * body + OWN_BYTES.start, 2 * body + OWN_BYTES.stop
        assert too_large or least <= grant, f"{call_id}: READY with {body} bytes twice, granted {grant}"
        assert not too_large or most > grant, f"{call_id}: {stored.record.error} with {body} bytes twice of {grant}"
        assert stored.record.error is None or stored.record.error.code is ErrorCode.RESULT_TOO_LARGE


def _failed(ended: Ended) -> list[tuple[str, ErrorCode]]:
    return [(call_id, s.record.error.code) for call_id, s in ended.records.items() if s.record.error is not None]


def kinds_seen(ended: list[Ended], models: list[Expected]) -> Counter[str]:
    """Count what the hundred runs came to, so that a test sees that nothing was too easy."""
    seen: Counter[str] = Counter(code for model in models for _, code in model.refused)
    seen.update(str(stored.record.status) for run in ended for stored in run.records.values())
    seen.update(str(run.result.outcome) for run in ended if run.result.outcome is RunOutcome.BUDGET_EXHAUSTED)
    for run in ended:
        spent = "bytes" if "bytes" in run.result.detail else "calls"
        seen[f"out of {spent}"] += run.result.outcome is RunOutcome.BUDGET_EXHAUSTED
    return seen
