"""Where two values of a history differ: JSON is compared value by value, so that a place can be named.

Above: `casebound.replay_comparing`. Below: payloads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from temporalio.api.common.v1 import Payload

from boundary.contracts import shorten
from boundary.redaction import Redactor

SHOWN = 80
"""Characters of a value in a difference."""

NOTHING = "nothing"

Found = Iterator[tuple[str, str, str]]
"""Where, as recorded, as it is now."""

_REDACTOR = Redactor()
"""Differences are printed, in CI's logs for one."""


class _Missing:
    """Stands for what is not there."""


def payload_differences(words: str, recorded: Sequence[Payload], asked: Sequence[Payload]) -> Found:
    """Find the places where arguments, or results, differ."""
    if len(recorded) != len(asked):
        yield f"number of {words}s", str(len(recorded)), str(len(asked))
        return
    for number, (was, now) in enumerate(zip(recorded, asked, strict=True), 1):
        if was.data != now.data:
            yield from value_differences(
                words if len(asked) == 1 else f"{words} {number}", value_of(was), value_of(now)
            )


def value_of(payload: Payload) -> object:
    """Read what a payload says; bytes that are no JSON are told as such."""
    if not payload.data:
        return _Missing
    try:
        return json.loads(payload.data)
    except ValueError:
        return f"({len(payload.data)} bytes, {payload.data[:16].hex()}...)"


def value_differences(words: str, was: object, now: object) -> Found:
    """Find the places where two JSON values differ; a place is written like `results[0].error`."""
    for place, one, other in _places("", was, now):
        yield f"{words} {place.removeprefix('.')}".rstrip(), _shown(one), _shown(other)


def _places(place: str, was: object, now: object) -> Iterator[tuple[str, object, object]]:
    if isinstance(was, dict) and isinstance(now, dict):
        one, other = cast("dict[str, object]", was), cast("dict[str, object]", now)
        for key in dict.fromkeys((*one, *other)):
            yield from _places(f"{place}.{key}", one.get(key, _Missing), other.get(key, _Missing))
        return
    if isinstance(was, list) and isinstance(now, list):
        ours, theirs = cast("list[Any]", was), cast("list[Any]", now)
        if len(ours) == len(theirs):
            for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                yield from _places(f"{place}[{number}]", one, other)
            return
    if (was, isinstance(was, bool)) != (now, isinstance(now, bool)):
        yield place, was, now


def _shown(value: object) -> str:
    if value is _Missing:
        return NOTHING
    return shorten(_REDACTOR.text(json.dumps(value, ensure_ascii=False))[0], SHOWN)
