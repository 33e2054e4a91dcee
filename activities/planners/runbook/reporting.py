"""Makes the report of a runbook from what its steps gave.

Above: `planner`. A claim is left out, with a remark, where its `when` does not hold, where its texts
have no value for the data at hand, or where it cites a step that made no call. Everything else is handed in as
the runbook says it, for EvidenceGuard to judge; a runbook cannot think again, so a repaired report is the
same report. What cannot be handed in (too many claims, too long a text) becomes a claim without proof that says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from activities.planners.runbook.evaluation import Scope
from activities.planners.runbook.model import MAX_ITEMS, Cite, ClaimRule, Repeat, Runbook, step_of
from activities.planners.runbook.progress import Progress, repeated, scope_of
from activities.planners.runbook.values import CannotEvaluate, View
from activities.turns import read_report
from boundary.contracts import JsonObject
from boundary.limits import REPORT_MAX_BYTES
from boundary.report import MAX_CITATIONS, MAX_CLAIMS

_RESERVE = 1024
"""Bytes of a report kept for the claim that says what did not fit, and for the report's own brackets."""


@dataclass
class Draft:
    """A report in the making."""

    claims: list[JsonObject] = field(default_factory=list[JsonObject])
    remarks: list[str] = field(default_factory=list[str])
    """Claims that were left out, for people."""

    @property
    def report(self) -> JsonObject:
        """The report as a planner hands it in."""
        return {"claims": self.claims}


def draft_report(runbook: Runbook, progress: Progress, made: Mapping[str, View], scope: Scope) -> Draft:
    """Make the report.

    Args:
        runbook: its claims.
        progress: views of all steps, and steps that were refused, each of which becomes a claim without proof.
        made: views of the calls made, by tool call id.
        scope: `vars` and `question`.

    Raises:
        TooMuchWork: the turn's meter ran out.
    """
    draft = Draft(remarks=list(progress.remarks))
    for number, rule in enumerate(runbook.claims, start=1):
        _ClaimWalk(f"claim {number}", rule, made, runbook.repeated, draft).add(scope_of(scope, progress.views))
    draft.claims += map(_unproven, progress.refused)
    fitting = _fitting(draft.claims)
    if fitting < len(draft.claims):
        more = len(draft.claims) - fitting
        draft.claims[fitting:] = [_unproven(f"{more} more claims of the runbook do not fit into this report.")]
    return draft


def _fitting(claims: Sequence[JsonObject]) -> int:
    """Count the claims a report can hold, one place left for the claim that says so."""
    sizes = list(accumulate(_size(claim) for claim in claims))
    if len(claims) <= MAX_CLAIMS and (not sizes or sizes[-1] <= REPORT_MAX_BYTES - _RESERVE):
        return len(claims)
    return sum(size <= REPORT_MAX_BYTES - _RESERVE for size in sizes[: MAX_CLAIMS - 1])


def _size(claim: JsonObject) -> int:
    return len(json.dumps(claim, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _unproven(text: str) -> JsonObject:
    return {"text": text, "kind": "finding", "citations": []}


@dataclass(frozen=True)
class _ClaimWalk:
    """Adds the claims of one rule to a draft."""

    label: str
    rule: ClaimRule
    made: Mapping[str, View]
    steps: Mapping[str, bool]
    draft: Draft

    def add(self, scope: Scope) -> None:
        if self.rule.for_each is None:
            self._add_one(self.label, scope)
            return
        try:
            items = repeated(self.rule.for_each, scope)
        except CannotEvaluate as reason:
            self._leave_out(self.label, reason.message)
            return
        for index, item in enumerate(items[:MAX_ITEMS]):
            self._add_one(f"{self.label}, item {index}", scope.having(item=item, index=index))
        if len(items) > MAX_ITEMS:
            note = f"C{self.label[1:]} of the runbook speaks of the first {MAX_ITEMS} of {len(items)} items only."
            self.draft.claims.append(_unproven(note))

    def _add_one(self, label: str, scope: Scope) -> None:
        try:
            if scope.holds(self.rule.when):
                self.draft.claims.append(self._checked(label, self._claim(scope)))
        except CannotEvaluate as reason:
            self._leave_out(label, reason.message)

    def _claim(self, scope: Scope) -> JsonObject:
        scopes = [(cite, inner) for cite in self.rule.cites for inner in _repeated_scopes(cite.for_each, scope)]
        if not 0 < len(scopes) <= MAX_CITATIONS:
            raise CannotEvaluate(f"it would have {len(scopes)} citations; 1 to {MAX_CITATIONS} are possible")
        citations = [self._citation(cite, inner) for cite, inner in scopes]
        return {"text": scope.text(self.rule.text).strip(), "kind": self.rule.kind, "citations": citations}

    def _checked(self, label: str, claim: JsonObject) -> JsonObject:
        """Keep a claim that a report can hold; one that is too long must not cost the others their place."""
        _, faults = read_report({"claims": [claim]})
        if not faults:
            return claim
        return _unproven(f"C{label[1:]} of the runbook could not be reported: {faults[0].removeprefix('claim 1, ')}")

    def _citation(self, cite: Cite, scope: Scope) -> JsonObject:
        call = scope.text(cite.call)
        self._check_made(call)
        given = (("pointer", cite.pointer), ("quote", cite.quote))
        return {"tool_call_id": call} | {name: scope.text(one) for name, one in given if one is not None}

    def _check_made(self, call: str) -> None:
        """A step that made no call has none to cite; an id of no step at all is left to EvidenceGuard."""
        if call not in self.made and step_of(call, self.steps) in self.steps:
            raise CannotEvaluate(f"it cites {call!r}, which was not called")

    def _leave_out(self, label: str, reason: str) -> None:
        self.draft.remarks.append(f"{label} was left out: {reason}")


def _repeated_scopes(repeat: Repeat | None, scope: Scope) -> list[Scope]:
    if repeat is None:
        return [scope]
    return [scope.having(item=item, index=index) for index, item in enumerate(repeated(repeat, scope))]
