"""Works out where a run stands in its runbook: what each step gave, and which calls come next.

Above: `planner`. Below: `evaluation`. Everything is computed anew each turn from the calls made so
far and their results; equal inputs give equal calls. A step whose expressions have no value for the
data at hand is skipped with the reason; it never fails the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from activities.plain_json import escaped_bytes
from activities.planners.port import RequestedCall
from activities.planners.runbook.evaluation import Scope
from activities.planners.runbook.expressions import Expression, Template
from activities.planners.runbook.model import MAX_ITEMS, Repeat, Runbook, Step, Tree, name_of
from activities.planners.runbook.values import CannotEvaluate, View, items_of
from activities.planners.runbook.views import group, skipped, with_item
from boundary.contracts import JsonObject, JsonValue
from boundary.limits import TURN_MAX_BYTES, TURN_MAX_CALLS

NOT_REACHED = "the run concluded before it"
"""Reason of a step that never came to its turn."""


@dataclass
class Batch:
    """The calls of the next turn, within the limits of a turn."""

    calls: list[RequestedCall] = field(default_factory=list[RequestedCall])
    full: bool = False
    _bytes: int = 0

    def add(self, call: RequestedCall) -> None:
        """Take the call if it fits; the first that does not closes the batch."""
        size = escaped_bytes(call.arguments)
        if len(self.calls) == TURN_MAX_CALLS or (self.calls and self._bytes + size > TURN_MAX_BYTES):
            self.full = True
        if not self.full:
            self._bytes += size
            self.calls.append(call)


@dataclass
class Progress:
    """How far the runbook is."""

    views: dict[str, View] = field(default_factory=dict[str, View])
    """Of each step that is done, by id; all of them once there are no calls to make."""
    calls: list[RequestedCall] = field(default_factory=list[RequestedCall])
    """Of the next turn; none: the report is due."""
    remarks: list[str] = field(default_factory=list[str])
    """Steps that could not be evaluated, for people."""
    refused: list[str] = field(default_factory=list[str])
    """Steps that asked for too much: the report must say that they were not carried out."""


def advance(runbook: Runbook, made: Mapping[str, View], scope: Scope, *, concluding: bool) -> Progress:
    """Go through the steps in order until one needs an answer that is not there yet.

    Args:
        runbook: what to do.
        made: views of the calls made so far, by tool call id.
        scope: `vars` and `question`; step views are added here.
        concluding: no calls can be made any more.

    Raises:
        TooMuchWork: the turn's meter ran out.
    """
    batch = None if concluding else Batch()
    progress = Progress()
    pending: set[str] = set()
    for step in runbook.steps:
        if batch is not None and (batch.full or _reads(step) & pending or ("steps" in _reads(step) and pending)):
            break
        walk = _StepWalk(step, made, scope_of(scope, progress.views), batch)
        view = walk.view()
        if walk.waiting:
            pending.add(step.id)
        else:
            progress.views[step.id] = view
            progress.remarks += walk.remarks
            progress.refused += walk.refused
    progress.calls = batch.calls if batch else []
    return progress


def scope_of(scope: Scope, views: Mapping[str, View]) -> Scope:
    """Make the scope in which steps are names of their own and fields of `steps`."""
    named: dict[str, JsonValue] = {name_of(step_id): view for step_id, view in views.items()}
    return Scope({**named, **scope.names, "steps": View("steps", named | dict(views))}, scope.meter)


def repeated(repeat: Repeat, scope: Scope) -> list[JsonValue]:
    """Evaluate a `for_each`.

    Raises:
        CannotEvaluate: it is no list, or has no value.
    """
    if isinstance(repeat.over, Expression):
        return items_of(scope.value(repeat.over), scope.meter)
    return [render(item, scope) for item in repeat.over]


def render(tree: Tree, scope: Scope) -> JsonValue:
    """Evaluate every template of a tree.

    Raises:
        CannotEvaluate: one of them has no value.
    """
    if isinstance(tree, Template):
        return scope.rendered(tree)
    if isinstance(tree, dict):
        return {key: render(item, scope) for key, item in cast("JsonObject", tree).items()}
    if isinstance(tree, list):
        return [render(item, scope) for item in cast("list[Tree]", tree)]
    return tree


def _reads(step: Step) -> set[str]:
    return {use.name for use in step.uses}


class _StepWalk:
    """Evaluates one step: asks for its calls, or makes its view of what they gave."""

    def __init__(self, step: Step, made: Mapping[str, View], scope: Scope, batch: Batch | None) -> None:
        self.waiting = False
        self.remarks: list[str] = []
        self.refused: list[str] = []
        self._step = step
        self._made = made
        self._scope = scope
        self._batch = batch

    def view(self) -> View:
        """Return the step's view; `waiting` says that calls of it are still to be made."""
        if self._step.for_each is None:
            return self._one(self._step.id, self._scope)
        label = f"step {self._step.id!r}"
        try:
            items = repeated(self._step.for_each, self._scope)
        except CannotEvaluate as reason:
            return self._skip(label, reason)
        if len(items) > MAX_ITEMS:
            return self._refuse(label, items)
        views = [self._item(index, item) for index, item in enumerate(items)]
        return group(label, views)

    def _refuse(self, label: str, items: list[JsonValue]) -> View:
        """Make no call at all rather than some of them; the report says so, unless there was none to make."""
        try:
            if not any(self._scope_of(index, item).holds(self._step.when) for index, item in enumerate(items)):
                return skipped(label, "its `when` does not hold")
        except CannotEvaluate as reason:
            return self._skip(label, reason)
        reason = f"its for_each has {len(items)} items, at most {MAX_ITEMS}; take some, as in list[:{MAX_ITEMS}]"
        self.refused.append(f"S{label[1:]} of the runbook was not carried out: {reason}.")
        return skipped(label, reason)

    def _scope_of(self, index: int, item: JsonValue) -> Scope:
        return self._scope.having(item=item, index=index)

    def _item(self, index: int, item: JsonValue) -> View:
        call_id = f"{self._step.id}.{index + 1}"
        return with_item(self._one(call_id, self._scope_of(index, item)), item)

    def _one(self, call_id: str, scope: Scope) -> View:
        if call_id in self._made:
            return self._made[call_id]
        label = f"step {call_id!r}"
        try:
            if not scope.holds(self._step.when):
                return skipped(label, "its `when` does not hold")
            if self._batch is None:
                return skipped(label, NOT_REACHED)
            arguments = _json_text(render(dict(self._step.arguments), scope))
        except CannotEvaluate as reason:
            return self._skip(label, reason)
        self.waiting = True
        self._batch.add(RequestedCall(call_id, self._step.tool, arguments))
        return skipped(label, NOT_REACHED)

    def _skip(self, label: str, reason: CannotEvaluate) -> View:
        self.remarks.append(f"{label} was skipped: {reason.message}")
        return skipped(label, reason.message)


def _json_text(arguments: JsonValue) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise CannotEvaluate("the arguments are no JSON; name fields of steps, as in .result") from None
