"""Makes the report of a runbook from what its steps gave.

Above: `planner`. A claim is left out, with a remark, where its `when` does not hold, where its texts
have no value for the data at hand, or where a call it cites cannot carry it: a failed or skipped call
carries nothing, one that found nothing carries only an absence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from activities.planners.runbook.evaluation import Scope
from activities.planners.runbook.expressions import Template
from activities.planners.runbook.model import MAX_ITEMS, ClaimRule, Runbook
from activities.planners.runbook.progress import repeated, scope_of
from activities.planners.runbook.values import CannotEvaluate, View
from boundary.contracts import JsonObject, JsonValue
from boundary.limits import REPORT_MAX_BYTES
from boundary.report import MAX_CLAIMS

_RESERVE = 1024
"""Bytes of a report kept for the claim that says what did not fit, and for the report's own brackets."""

_FAULTY_CLAIM = re.compile(r"claim ([0-9]{1,6})\b")
"""How a fault begins that names a claim of the report, from 1: `claim 3, citation 1 (logins): ...`."""


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


def draft_report(runbook: Runbook, views: Mapping[str, View], made: Mapping[str, View], scope: Scope) -> Draft:
    """Make the report.

    Args:
        runbook: its claims.
        views: of all steps, by id.
        made: views of the calls made, by tool call id.
        scope: `vars` and `question`.

    Raises:
        TooMuchWork: the turn's meter ran out.
    """
    draft = Draft()
    for number, rule in enumerate(runbook.claims, start=1):
        _ClaimWalk(f"claim {number}", rule, made, draft).add(scope_of(scope, views))
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


def without_faulty(draft: Draft, faults: Sequence[str]) -> Draft:
    """Withdraw the claims that the faults name; faults count claims from 1."""
    faulty = {int(match[1]) - 1: fault for fault in reversed(faults) if (match := _FAULTY_CLAIM.match(fault))}
    kept = [claim for index, claim in enumerate(draft.claims) if index not in faulty]
    return Draft(kept, [*draft.remarks, *(f"a claim was withdrawn: {faulty[index]}" for index in sorted(faulty))])


def _unproven(text: str) -> JsonObject:
    return {"text": text, "kind": "finding", "citations": []}


@dataclass(frozen=True)
class _ClaimWalk:
    """Adds the claims of one rule to a draft."""

    label: str
    rule: ClaimRule
    made: Mapping[str, View]
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
            text = f"{self.label} of the runbook speaks of the first {MAX_ITEMS} of {len(items)} items only."
            self.draft.claims.append(_unproven(text[0].upper() + text[1:]))

    def _add_one(self, label: str, scope: Scope) -> None:
        try:
            if scope.holds(self.rule.when):
                self.draft.claims.append(self._claim(scope))
        except CannotEvaluate as reason:
            self._leave_out(label, reason.message)

    def _claim(self, scope: Scope) -> JsonObject:
        citations: list[JsonObject] = []
        for cite in self.rule.cites:
            call = scope.text(cite.call)
            self._check_carries(call)
            citation: JsonObject = {"tool_call_id": call}
            citation |= dict(_given(scope, (("pointer", cite.pointer), ("quote", cite.quote))))
            citations.append(citation)
        return {"text": scope.text(self.rule.text).strip(), "kind": self.rule.kind, "citations": citations}

    def _check_carries(self, call: str) -> None:
        view = self.made.get(call)
        if view is None:
            raise CannotEvaluate(f"it cites {call!r}, which was not called")
        if view.fields["failed"]:
            raise CannotEvaluate(f"it cites {call!r}, which failed")
        if view.fields["empty"] and self.rule.kind != "absence":
            raise CannotEvaluate(f"it cites {call!r}, which found nothing; only an absence can")

    def _leave_out(self, label: str, reason: str) -> None:
        self.draft.remarks.append(f"{label} was left out: {reason}")


def _given(scope: Scope, templates: Iterable[tuple[str, Template | None]]) -> Iterable[tuple[str, JsonValue]]:
    return ((name, scope.text(template)) for name, template in templates if template is not None)
