"""What a run keeps in its index beside the records of its calls: brief, turns, summary.

Written by the internal activities, read by planners and by `casebound show`. These models stand
in the store only; what crosses the Temporal line is in `contracts`.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import ValidationError

from activities.contracts import (
    CatalogEntry,
    PlanInput,
    PlannedTurn,
    PlannerRef,
)
from boundary.contracts import Frozen
from boundary.errors import RecordExpired
from boundary.report import Report

_Model = TypeVar("_Model", bound=Frozen)


def read_stored(model: type[_Model], text: bytes) -> _Model:
    """Read what a run keeps in its index.

    Raises:
        RecordExpired: it is not what was written there, so what was is gone.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError:
        raise RecordExpired(f"a {model.__name__} of the run's index was altered or lost") from None


class SourceStatus(Frozen):
    """What a look at a declared source found when the run was opened."""

    kind: str
    """Name of its tables in the settings, such as `logs`."""
    name: str
    available: bool
    """False: known to be of no use at present."""
    reason: str | None = None
    """Why not, with what to do about it."""


class RunBrief(Frozen):
    """What a run was asked, with what planner and what tools; stored once by `open_run`."""

    run_id: str
    workflow_id: str
    question: str
    planner: PlannerRef
    runbook: str | None = None
    catalog: tuple[CatalogEntry, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    """What the tools look at, as it was when the run was opened."""
    deadline_ms: int
    expires_at_ms: int


class StoredTurn(Frozen):
    """One turn with the input it answered; stored before the workflow sees it, never changed."""

    input: PlanInput
    turn: PlannedTurn
    report: Report | None = None
    """The report, if the turn is one and could be taken."""
    excess_ids: tuple[str | None, ...] = ()
    """Ids of the calls beyond the turn's limits, in order, so that each gets its refusal; None: no legal id."""
    remarks: tuple[str, ...] = ()
    """What the planner says of this turn, for people: steps it skipped, claims it left out, and why."""
