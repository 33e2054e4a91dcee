"""A hundred runs at once on one worker, calls of each side by side: capacity and budgets are exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from temporalio.client import Client

from activities.contracts import RunOutcome
from boundary.contracts import InvocationStatus
from boundary.errors import ErrorCode
from boundary.redis_backend import MAX_CONNECTIONS
from casebound.settings import WorkerSettings
from tests.load.judge import judge, kinds_seen
from tests.load.stage import open_stage


@pytest.mark.proves("INV-CAPACITY", "INV-ONE-RECORD", "INV-NONE-PROJECTING", "INV-CONCLUDES")
@pytest.mark.timeout(240)
async def test_a_hundred_runs_at_once_keep_to_each_limit_exactly(
    temporal_client: Client, valkey_url: str, key_prefix: str, task_queue: str, tmp_path: Path
) -> None:
    """Calls at once, calls, bytes, calls per tool: a model that knows the records' sizes alone says the same."""
    async with open_stage(temporal_client, valkey_url, key_prefix, task_queue, tmp_path) as stage:
        ended = await stage.play()
        sample, connected = await stage.sample(), await stage.connected()
        at_once = stage.connections
    models = [judge(run) for run in ended]
    over = {
        run.result.run_id: (sample.peaks[run.result.run_id], run.script.limits.max_parallel_calls)
        for run in ended
        if sample.peaks.get(run.result.run_id, 0) > run.script.limits.max_parallel_calls and not run.taken_over
    }
    assert not over, f"calls at once, and how many may be: {over}"
    owners = sum(stored.record.executions for run in ended for stored in run.records.values())
    assert sum(len(run.records) for run in ended) <= sample.executed <= owners, "each call ran, once for each attempt"
    assert max(sample.peaks.values()) > 1, "no two calls of a run met"
    full = {run.at_once for run in ended if run.at_once == run.script.limits.max_parallel_calls}
    assert full >= {1, 2, 3, 4}, f"only {full} calls at once were ever used up"
    assert sample.peak <= WorkerSettings().concurrent_calls
    assert 1 < at_once <= WorkerSettings().concurrent_calls <= MAX_CONNECTIONS
    assert (sample.in_use, connected <= at_once) == (0, True), "a connection is still in use"
    seen = kinds_seen(ended, models)
    hard = (*_REFUSALS, *InvocationStatus, RunOutcome.BUDGET_EXHAUSTED, "out of bytes", "out of calls")
    assert not [kind for kind in hard if not seen[kind] and kind != InvocationStatus.PROJECTING], seen


_REFUSALS = (ErrorCode.BUDGET_EXCEEDED, ErrorCode.DUPLICATE_TOOL_CALL_ID, ErrorCode.UNKNOWN_TOOL)
