"""No planner, tool or user input can kill or hang a run: whole hostile runs through the real workflow.

A few hundred turns in CI, always the same ones; `make soak` tries 10,000 and more, new ones each time.
"""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.judge import judge
from tests.fuzz.scripts import Script, runs
from tests.fuzz.stage import Stage
from tests.support.busy import SLOW
from tests.support.runs import replay

SOAK = bool(os.environ.get("CASEBOUND_SOAK"))
EXAMPLES = int(os.environ.get("CASEBOUND_SOAK_EXAMPLES", "600")) if SOAK else 10
SIDE_BY_SIDE = 6
"""Runs of one example."""
REPLAYED = 10
"""One run in so many is replayed."""
TIMEOUT_S = 3 * 3600 if SOAK else 150


@pytest.mark.proves("INV-NO-INPUT-KILLS-A-RUN", "INV-ONE-RESULT-EACH", "INV-ONE-RECORD", "INV-CAPACITY")
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.filterwarnings(SLOW)
@given(scripts=st.lists(runs(), min_size=SIDE_BY_SIDE, max_size=SIDE_BY_SIDE))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not SOAK,
    database=None,
    # A failing run is named by its script; shrinking would play hundreds of batches more.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        HealthCheck.function_scoped_fixture,
    ],
    print_blob=True,
)
async def test_whatever_comes_the_run_completes_and_its_records_add_up(stage: Stage, scripts: list[Script]) -> None:
    """Each run ends, no workflow task fails, payloads stay small, results, records, bytes and standings agree."""
    for played in await stage.play(scripts):
        judge(played)
        if played.number % REPLAYED == 0:
            await replay(played.history)
            stage.replayed += 1
    if SOAK:
        print(stage.tally(), file=sys.stderr)
