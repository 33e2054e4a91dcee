"""How an error in `casebound.toml` is told: file, key, what was expected, what to do.

Above: `casebound.settings`. Below: pydantic's validation errors, whose wording is for programmers.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from boundary.errors import CaseboundError

MAX_SHOWN = 10
"""Errors of one file that are told at once."""

_WORDS = {
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "string_type": "expected a text in quotes",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "tuple_type": "expected a list",
    "path_type": "expected a path in quotes",
}
"""What pydantic says in a programmer's words."""

_NOT_SHOWN = "url"
"""Values of this key may hold a password."""


class SettingsError(CaseboundError):
    """The configuration cannot be used; the message has a line for each error and one for its fix."""


def describe(file: Path, error: ValidationError, root: type[BaseModel]) -> str:
    """Tell every error of a file in two lines each."""
    details = error.errors(include_url=False)
    told = [_one(file, detail, root) for detail in details[:MAX_SHOWN]]
    if len(details) > MAX_SHOWN:
        told.append(f"... and {len(details) - MAX_SHOWN} more")
    return "\n".join(told)


def _one(file: Path, detail: ErrorDetails, root: type[BaseModel]) -> str:
    names = [str(part) for part in detail["loc"] if part != "[key]"]
    where = ".".join(names) or "the file"
    model = _model_at(root, names[:-1])
    if detail["type"] == "extra_forbidden":
        problem, fix = _unknown_key(names, model)
    elif detail["type"] == "missing":
        problem, fix = "is missing", f"add `{names[-1]} = ...` there"
    else:
        problem = _wrong_value(detail, names)
        fix = "correct it" if detail["type"] == "value_error" else _correction(names, model)
    return f"{file}: {where}: {problem}\n  fix: {fix}"


def _unknown_key(names: list[str], model: type[BaseModel] | None) -> tuple[str, str]:
    known = sorted(model.model_fields) if model else []
    near = difflib.get_close_matches(names[-1], known, n=1, cutoff=0.5)
    kind = "section" if len(names) == 1 else "key"
    fix = f"write `{near[0]}`" if near else f"remove it; known here: {', '.join(known)}"
    return f"unknown {kind}", fix


def _wrong_value(detail: ErrorDetails, names: list[str]) -> str:
    message = _WORDS.get(detail["type"], detail["msg"].removeprefix("Value error, "))
    message = message.replace("Input should be", "expected").replace("String should", "expected a text that should")
    message = message[:1].lower() + message[1:]
    if detail["type"] == "value_error":
        return message
    given = detail["input"]
    shown = isinstance(given, (str, int, float, bool)) and _NOT_SHOWN not in names
    return f"{message}, got {str(given)[:100]!r}" if shown else message


def _correction(names: list[str], model: type[BaseModel] | None) -> str:
    field = model.model_fields.get(names[-1]) if model and names else None
    if field is None or not isinstance(field.default, (str, int, float)):
        return f"write it as [{'.'.join(names)}]" if len(names) == 1 else "correct it"
    return f"correct it, or remove the line for the default, {field.default}"


def _model_at(root: type[BaseModel], names: list[str]) -> type[BaseModel] | None:
    """Find the model that describes the table at a key path; None where there is none."""
    here: Any = root
    for name in names:
        if get_origin(here) is dict:
            here = get_args(here)[1]
        elif isinstance(here, type) and issubclass(here, BaseModel) and name in here.model_fields:
            here = here.model_fields[name].annotation
        else:
            return None
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None
