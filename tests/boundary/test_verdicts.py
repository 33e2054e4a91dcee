"""The verdict of a report is decided by how its claims stand, and by nothing the planner says."""

from __future__ import annotations

import pytest

from boundary.report import CheckedClaim, Standing, Verdict, verdict_of

PROVEN, CITED, UNPROVEN = Standing.PROVEN, Standing.CITED, Standing.UNPROVEN


@pytest.mark.parametrize(
    ("standings", "verdict"),
    [
        ([], Verdict.INCONCLUSIVE),
        ([UNPROVEN], Verdict.INCONCLUSIVE),
        ([UNPROVEN, UNPROVEN], Verdict.INCONCLUSIVE),
        ([CITED], Verdict.PARTIAL),
        ([CITED, UNPROVEN], Verdict.PARTIAL),
        ([PROVEN, UNPROVEN], Verdict.PARTIAL),
        ([PROVEN, CITED], Verdict.PARTIAL),
        ([PROVEN], Verdict.SUPPORTED),
        ([PROVEN, PROVEN], Verdict.SUPPORTED),
    ],
)
@pytest.mark.proves("INV-PROVEN")
def test_a_verdict_is_no_better_than_its_claims(standings: list[Standing], verdict: Verdict) -> None:
    """SUPPORTED: there are claims and all are proven; INCONCLUSIVE: none stands; PARTIAL: anything between."""
    assert verdict_of(tuple(CheckedClaim(text="x", standing=standing) for standing in standings)) is verdict
