"""Checks what expressions read: names that exist, steps that come earlier, fields that there are.

Above: `loader`. Works on `Use`s only, before a run starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from activities.contracts import CatalogEntry
from activities.planners.runbook.expressions import Use
from activities.planners.runbook.model import name_of
from activities.planners.runbook.schema_check import path_fault
from activities.planners.runbook.suggest import suggest
from activities.planners.runbook.views import CALL_FIELDS, GROUP_FIELDS
from boundary.contracts import JsonObject

RESERVED = frozenset({"vars", "question", "notes", "sources", "steps", "item", "index"})
"""Names of the scope's own."""

WORDS = frozenset(
    {"none", "None", "true", "True", "false", "False", "and", "or", "not", "in", "is", "if", "else", "loop", "self"}
)
"""Words of the expression language: a step of that name could not be read."""


@dataclass(frozen=True)
class Reach:
    """What the expressions of one step or claim may read."""

    earlier: Mapping[str, bool]
    """Ids of the steps before, each with whether it has `for_each`."""
    later: frozenset[str]
    """Ids of the step itself and of those after it."""
    vars: JsonObject
    repeated: bool
    """`item` and `index` are there."""
    tools: Mapping[str, CatalogEntry | None]
    """Of each earlier step; None: no catalog is at hand."""

    def faults(self, use: Use) -> Iterator[str]:
        """Say what is wrong with one use of a name."""
        if use.name in RESERVED:
            yield from self._of_reserved(use)
        elif use.name in self.earlier:
            yield from self._of_step(use)
        elif use.name in self.later:
            yield f"step {use.name!r} has not run by then; only steps before this one can be read"
        else:
            names = [
                *map(name_of, self.earlier),
                "vars",
                "question",
                "notes",
                "sources",
                "steps",
                *(["item", "index"] if self.repeated else []),
            ]
            yield f"there is no step or name {use.name!r}{suggest(use.name, names)}"

    def _of_reserved(self, use: Use) -> Iterator[str]:
        if use.name in ("item", "index") and not self.repeated:
            yield f"{use.name!r} exists only under for_each"
        name = use.path[0] if use.path else None
        if use.name == "vars" and isinstance(name, str) and name not in self.vars:
            yield f"there is no var {name!r}{suggest(name, self.vars)}"

    def _of_step(self, use: Use) -> Iterator[str]:
        repeated = self.earlier[use.name]
        key = use.path[0] if use.path else None
        known = GROUP_FIELDS if repeated else CALL_FIELDS
        if isinstance(key, int) or (isinstance(key, str) and key not in known):
            hint = (
                f"; it has for_each, use .results[0].{key}"
                if repeated and key in CALL_FIELDS
                else suggest(str(key), known)
            )
            yield f"step {use.name!r} has no field {key!r}{hint}"
            return
        rest = use.path[1:]
        if key == "results" and len(rest) > 1 and rest[1] == "result":
            rest = rest[2:]
        elif key != "result":
            return
        entry = self.tools.get(use.name)
        fault = path_fault(entry.result_schema, rest) if entry else None
        if fault:
            yield f"the result of {use.name!r} ({entry.name if entry else ''}) {fault}"
