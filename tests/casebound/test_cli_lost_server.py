"""What an attached command says when Temporal goes away in the middle of a run."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from casebound.paths import StatePaths
from casebound.stack import open_stack
from casebound.temporal import connect_local
from tests.casebound import programs

pytestmark = pytest.mark.timeout(120)


async def test_a_lost_temporal_is_a_failure_and_stdout_stays_clean(tmp_path: Path) -> None:
    """Exit code 3; what the store has is printed; the SDK's complaints do not spoil the JSON object."""
    programs.case(tmp_path)
    async with open_stack(StatePaths(tmp_path / "other")) as stack:
        client = await connect_local(stack.temporal_address)
        # A poller makes the command believe in a worker; it takes no task, so the run stays where it is.
        async with programs.poller(client, "casebound"):
            more = {"TEMPORAL_ADDRESS": stack.temporal_address, "REDIS_URL": stack.redis_url}
            process = programs.start(tmp_path, "diagnose", "--runbook", "book.yaml", "--json", more=more)
            try:
                run_id = await programs.run_id_of(process)
                for child in psutil.Process().children(recursive=True):
                    if child.name() == "temporal" and str(tmp_path) in " ".join(child.cmdline()):
                        child.kill()
                code, out, err = await programs.ended(process)
            finally:
                process.kill()
                process.communicate()
    assert code == 3, err
    assert json.loads(out)["run_id"] == run_id
    assert "Temporal does not answer any more" in err
