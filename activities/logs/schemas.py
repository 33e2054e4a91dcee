"""JSON Schemas of the log tools' arguments and results, made of their models.

Above: the tools' definitions. Below: `requests` and `results`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from activities.logs.requests import Request
from activities.logs.results import Result
from boundary.contracts import JsonObject


def arguments_schema(model: type[Request], sources: Sequence[str]) -> JsonObject:
    """Make a tool's arguments schema; `source` is one of the declared names."""
    schema = _plain(model.model_json_schema())
    place: JsonObject = schema["properties"]["source"]
    description = place["description"]
    names = list(sources)
    schema["properties"]["source"] = (
        {"type": "string", "enum": names, "description": description}
        if "source" in schema.get("required", ())
        else {"enum": [*names, None], "default": None, "description": description}
    )
    return schema


def result_schema(model: type[Result]) -> JsonObject:
    """Make a tool's result schema."""
    return _plain(model.model_json_schema(mode="serialization"))


def _plain(schema: Any) -> Any:
    """Take the titles out of a schema: they only repeat the names."""
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        return {
            key: {name: _plain(part) for name, part in value.items()}
            if key in ("properties", "$defs")
            else _plain(value)
            for key, value in members.items()
            if key != "title"
        }
    if isinstance(schema, list):
        return [_plain(item) for item in cast("list[Any]", schema)]
    return schema
