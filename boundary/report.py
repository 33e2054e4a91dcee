"""What a report is before and after EvidenceGuard looked at it. Light, workflow-safe."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from boundary.contracts import Frozen

MAX_CLAIMS = 100
MAX_CITATIONS = 20
"""Of one claim."""
CLAIM_TEXT_MAX = 4000
QUOTE_MAX = 2000
QUOTE_MIN = 8
"""Characters of a quote without a pointer; a shorter one would be found anywhere."""
POINTER_MAX = 500


class Citation(Frozen):
    """A reference from a claim to the evidence it rests on."""

    tool_call_id: str = Field(max_length=256)
    pointer: str | None = Field(default=None, max_length=POINTER_MAX)
    """JSON Pointer (RFC 6901) into the call's agent result."""
    quote: str | None = Field(default=None, max_length=QUOTE_MAX)
    """Text of a string value of the agent result, or the scalar at the pointer."""


class Claim(Frozen):
    """One statement of a report."""

    text: str = Field(min_length=1, max_length=CLAIM_TEXT_MAX)
    kind: Literal["finding", "absence"] = "finding"
    """`absence`: the statement that something was looked for and not found."""
    citations: tuple[Citation, ...] = Field(default=(), max_length=MAX_CITATIONS)


class Report(Frozen):
    """What a planner hands in at the end."""

    claims: tuple[Claim, ...] = Field(default=(), max_length=MAX_CLAIMS)


class CitationStatus(StrEnum):
    """EvidenceGuard's word on one citation."""

    OK = "OK"
    UNKNOWN_CALL = "UNKNOWN_CALL"
    """No admitted call of this run has the id."""
    RUN_MISMATCH = "RUN_MISMATCH"
    """The record belongs to another run."""
    NOT_READY = "NOT_READY"
    """The call failed, or never settled."""
    NO_EVIDENCE = "NO_EVIDENCE"
    """The call found nothing; only an `absence` may cite it."""
    EXPIRED = "EXPIRED"
    """The record was there and is not any more."""
    QUOTE_NOT_FOUND = "QUOTE_NOT_FOUND"
    """The quote or pointer is not in the agent result."""
    DIGEST_MISMATCH = "DIGEST_MISMATCH"
    """The record is not the one the run's history saw."""


class CheckedCitation(Citation):
    """A citation with its verdict."""

    status: CitationStatus


class Standing(StrEnum):
    """How well a claim stands."""

    PROVEN = "proven"
    """Every citation holds and carries a quote or a pointer: that evidence exists in this run, unchanged."""
    CITED = "cited"
    """Every citation holds, not every one says where."""
    UNPROVEN = "unproven"
    """No citation, or one that does not hold."""


class CheckedClaim(Frozen):
    """A claim with its standing."""

    text: str
    kind: Literal["finding", "absence"] = "finding"
    standing: Standing
    citations: tuple[CheckedCitation, ...] = ()


class Verdict(StrEnum):
    """What the report as a whole may say."""

    SUPPORTED = "SUPPORTED"
    """There are claims and all are proven."""
    PARTIAL = "PARTIAL"
    """Some claim is proven or says where it was seen, and some claim is not proven."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """There are no claims, or none has anything to stand on."""


def verdict_of(claims: tuple[CheckedClaim, ...]) -> Verdict:
    """Decide the verdict from the claims' standings."""
    standings = {claim.standing for claim in claims}
    if standings <= {Standing.UNPROVEN}:
        return Verdict.INCONCLUSIVE
    return Verdict.SUPPORTED if standings == {Standing.PROVEN} else Verdict.PARTIAL
