"""Checks the fields of a runbook and says what is wrong with them, each with its line.

Above: `loader`. Below: `document`, `model`; pydantic finds the faults, the words are ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError

from activities.planners.runbook.document import Document, Problem
from activities.planners.runbook.model import (
    WrittenCite,
    WrittenClaim,
    WrittenReport,
    WrittenRunbook,
    WrittenStep,
)
from activities.planners.runbook.suggest import suggest

_EXPECTED = {
    "string_type": "a text (put quotes around it)",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "an object (name: value)",
    "model_type": "an object (name: value)",
}
"""Pydantic's error types in words."""

Location = tuple[str | int, ...]


def read_written(document: Document) -> tuple[WrittenRunbook | None, list[Problem]]:
    """Return the runbook's fields, or None and what is wrong with them."""
    if not isinstance(document.data, dict):
        return None, [Problem(1, "a runbook is an object with the fields name, steps and report")]
    try:
        return WrittenRunbook.model_validate(document.data), []
    except ValidationError as error:
        return None, _problems(document, error)


def _problems(document: Document, error: ValidationError) -> list[Problem]:
    """One problem for each place; the branches of a union are told as one."""
    expected: dict[Location, list[str]] = {}
    problems: list[Problem] = []
    for fault in error.errors(include_url=False, include_input=False):
        location = _existing(document, fault["loc"])
        line = document.place(location).line
        if fault["type"] == "missing":
            problems.append(Problem(line, f"{_label(location)}: the field {fault['loc'][-1]!r} is missing"))
        elif fault["type"] == "extra_forbidden":
            name = str(fault["loc"][-1])
            known = suggest(name, _fields_at(fault["loc"]))
            problems.append(Problem(line, f"{_label(location[:-1])}: there is no field {name!r}{known}"))
        else:
            expected.setdefault(location, []).append(_EXPECTED.get(fault["type"], _ours(fault)))
    for location, kinds in expected.items():
        words = " or ".join(dict.fromkeys(kinds))
        problems.append(Problem(document.place(location).line, f"{_label(location)}: expected {words}"))
    return problems


def _ours(fault: Any) -> str:
    return str(fault["msg"]).removeprefix("Input should be ")


def _existing(document: Document, location: Location) -> Location:
    while location and location not in document.places:
        location = location[:-1]
    return location


def _label(location: Location) -> str:
    if not location:
        return "runbook"
    label = ""
    for token in location:
        label += f"[{token}]" if isinstance(token, int) else f".{token}" if label else token
    return label


def _fields_at(location: Location) -> Iterable[str]:
    shapes: dict[int, type[BaseModel]] = {1: WrittenRunbook, 2: WrittenReport, 3: WrittenStep, 4: WrittenClaim}
    return shapes.get(len(location), WrittenCite).model_fields
