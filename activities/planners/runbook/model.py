"""What a runbook is: as written (checked field by field by pydantic) and as compiled.

Above: `loader` turns the first into the second. No behaviour here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from activities.contracts import QUESTION_MAX
from activities.planners.runbook.expressions import Expression, Template, Use
from boundary.contracts import JsonObject, JsonValue
from boundary.report import MAX_CITATIONS, MAX_CLAIMS

MAX_ITEMS = 64
"""Items of one `for_each`, as many as one turn has calls."""

MAX_STEPS = 500


_ITEM = re.compile(r"(.+)\.[0-9]+")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")


def name_of(step_id: str) -> str:
    """Give the name under which expressions read a step: its id, `_` for what no name can hold."""
    name = _NO_NAME.sub("_", step_id)
    return f"_{name}" if name[:1].isdigit() else name


def step_of(call_id: str, repeated: Mapping[str, bool]) -> str:
    """Name the step a call id belongs to: `probe.2` is of `probe` if that has `for_each`; otherwise the id itself."""
    item = _ITEM.fullmatch(call_id)
    return item[1] if call_id not in repeated and item and repeated.get(item[1]) else call_id


class _Written(BaseModel):
    """Base of what stands in the file: nothing is converted, nothing unknown is let through."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class WrittenStep(_Written):
    """One entry of `steps`."""

    id: str
    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    when: str | bool | None = None
    for_each: str | list[JsonValue] | None = None


class WrittenCite(_Written):
    """One entry of a claim's `cites`."""

    call: str
    pointer: str | None = None
    quote: str | int | float | bool | None = None
    for_each: str | list[JsonValue] | None = None


class WrittenClaim(_Written):
    """One entry of the report's `claims`."""

    text: str = Field(min_length=1)
    kind: Literal["finding", "absence"] = "finding"
    cites: list[WrittenCite] = Field(min_length=1, max_length=MAX_CITATIONS)
    when: str | bool | None = None
    for_each: str | list[JsonValue] | None = None


class WrittenReport(_Written):
    """The section `report`."""

    claims: list[WrittenClaim] = Field(min_length=1, max_length=MAX_CLAIMS)


class WrittenRunbook(_Written):
    """The whole file."""

    name: str = Field(min_length=1, max_length=200)
    question: str | None = Field(default=None, min_length=1, max_length=QUESTION_MAX)
    vars: JsonObject = Field(default_factory=dict)
    steps: list[WrittenStep] = Field(min_length=1, max_length=MAX_STEPS)
    report: WrittenReport


Tree = JsonValue
"""A JSON value whose texts are compiled `Template`s."""


@dataclass(frozen=True)
class Repeat:
    """A compiled `for_each`: an expression, or a list with templates in it."""

    over: Expression | list[Tree]


@dataclass(frozen=True)
class Step:
    """One compiled step."""

    id: str
    tool: str
    arguments: Mapping[str, Tree]
    when: Expression | bool | None = None
    for_each: Repeat | None = None
    uses: tuple[Use, ...] = ()
    """Everything its expressions read."""


@dataclass(frozen=True)
class Cite:
    """One compiled citation."""

    call: Template
    pointer: Template | None = None
    quote: Template | None = None
    for_each: Repeat | None = None


@dataclass(frozen=True)
class ClaimRule:
    """One compiled claim."""

    text: Template
    kind: str
    cites: tuple[Cite, ...]
    when: Expression | bool | None = None
    for_each: Repeat | None = None
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Runbook:
    """A runbook that was checked and can run."""

    name: str
    question: str | None
    vars: JsonObject
    steps: tuple[Step, ...]
    claims: tuple[ClaimRule, ...]

    @property
    def repeated(self) -> dict[str, bool]:
        """Ids of the steps, each with whether it has `for_each`."""
        return {step.id: step.for_each is not None for step in self.steps}
