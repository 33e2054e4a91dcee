"""The evidence store hangs: it takes connections and commands, and answers none."""

from __future__ import annotations

import pytest

from activities.contracts import RunOutcome
from boundary.report import Verdict
from tests.crash.private_valkey import PrivateValkey
from tests.crash.stage import Stage, one_call


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN")
async def test_a_run_whose_store_hangs_ends_store_lost(breakable: Stage, valkey: PrivateValkey) -> None:
    """The last attempt is cut off while it waits; that the store did not answer is still what is said."""
    async with breakable.worker(one_call()) as points:
        valkey.freeze()
        handle = await breakable.start(deadline_s=16)
        result = await handle.result()
        valkey.thaw()
    await breakable.harness.finished(handle, result)
    assert points.count("casebound.open_run failed STORE_UNAVAILABLE") >= 1
    assert (result.outcome, result.verdict) == (RunOutcome.STORE_LOST, Verdict.INCONCLUSIVE)
    assert result.detail.startswith("STORE_UNAVAILABLE")
