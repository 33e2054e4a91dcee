"""The workflow's one argument: what a run is asked, and what it carries from the execution before."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from activities.contracts.carried import CarriedRun
from activities.contracts.runs import (
    LONGEST_S,
    QUESTION_MAX,
    RECORD_TTL_DEFAULT_S,
    RECORD_TTL_MARGIN_S,
    RUNBOOK_MAX_BYTES,
    PlannerRef,
    RunLimits,
)
from boundary.contracts import Frozen


class RunInput(Frozen):
    """The workflow's one argument."""

    question: str = Field(min_length=1, max_length=QUESTION_MAX)
    planner: PlannerRef = PlannerRef()
    runbook: str | None = None
    """Text of the runbook, at most `RUNBOOK_MAX_BYTES`."""
    limits: RunLimits = RunLimits()
    deadline_s: float = Field(default=600, gt=0, le=LONGEST_S, allow_inf_nan=False)
    """From the start of the run."""
    record_ttl_s: float | None = Field(default=None, gt=0, le=2 * LONGEST_S, allow_inf_nan=False)
    """From the start of the run; None: deadline + 7 days."""
    owner: str = Field(default="", max_length=200)
    """Who asked; for people and the search attribute."""
    search_attributes: tuple[str, ...] = ()
    """Those of casebound's search attributes that the server knows; no others are written."""

    carried: CarriedRun | None = None
    """Only where the run goes on in another execution; the runbook stands in the brief then."""

    @property
    def ttl_s(self) -> float:
        """How long records live, from the start of the run."""
        return self.deadline_s + RECORD_TTL_DEFAULT_S if self.record_ttl_s is None else self.record_ttl_s

    @model_validator(mode="after")
    def _evidence_outlives_the_report(self) -> Self:
        least = self.deadline_s + RECORD_TTL_MARGIN_S
        if self.ttl_s < least:
            raise ValueError(f"record_ttl of {self.ttl_s:g} s is too short: deadline + margin is {least:g} s")
        size = len((self.runbook or "").encode("utf-8", "surrogatepass"))
        if size > RUNBOOK_MAX_BYTES:
            raise ValueError(f"the runbook has {size} bytes, the limit is {RUNBOOK_MAX_BYTES}")
        return self
