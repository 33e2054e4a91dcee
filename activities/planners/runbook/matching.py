"""Regular expressions by RE2: linear in the text, whatever the pattern.

Above: `functions`. Look-around and back-references do not exist in RE2; the message says so.
"""

from __future__ import annotations

from typing import Any, cast

import re2 as _re2  # pyright: ignore[reportMissingTypeStubs] - google-re2 ships none

from activities.planners.runbook.values import CannotEvaluate, Meter, Missing
from boundary.contracts import JsonValue

re2 = cast(Any, _re2)

PATTERN_MAX = 500
"""Characters of a pattern."""


def first_match(text: str, pattern: str, group: JsonValue, meter: Meter) -> str:
    """Return a group of the first match; group 0 is the whole match.

    Raises:
        Missing: nothing matches, or the group took no part.
        CannotEvaluate: the pattern or the group is not usable.
    """
    matches = _matches(text, pattern, meter)
    match = next(matches, None)
    if match is None:
        raise Missing(f"nothing matches {pattern!r}")
    return _group(match, group, pattern)


def all_matches(text: str, pattern: str, group: JsonValue, meter: Meter) -> list[str]:
    """Return a group of every match, in order.

    Raises:
        CannotEvaluate: the pattern or the group is not usable.
    """
    results: list[str] = []
    for match in _matches(text, pattern, meter):
        meter.spend()
        results.append(_group(match, group, pattern))
    return results


def found(text: str, pattern: str, meter: Meter) -> bool:
    """Tell whether the pattern matches anywhere in the text.

    Raises:
        CannotEvaluate: the pattern is not usable.
    """
    return next(_matches(text, pattern, meter), None) is not None


def _matches(text: str, pattern: str, meter: Meter) -> Any:
    meter.spend(len(pattern))
    meter.spend_on_text(text)
    return _compiled(pattern).finditer(_unicode(text))


def _compiled(pattern: str) -> Any:
    if len(pattern) > PATTERN_MAX:
        raise CannotEvaluate(f"a pattern has at most {PATTERN_MAX} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_unicode(pattern), options)
    except re2.error as error:
        raise CannotEvaluate(
            f"bad pattern {pattern!r}: {_reason(error)} (RE2 has no look-around or back-references)"
        ) from None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CannotEvaluate("the text is not valid Unicode") from None
    return text


def _group(match: Any, group: JsonValue, pattern: str) -> str:
    try:
        value = match.group(group)
    except (IndexError, KeyError, TypeError, re2.error):
        raise CannotEvaluate(f"{pattern!r} has no group {group!r}") from None
    if value is None:
        raise Missing(f"group {group!r} of {pattern!r} took no part in the match")
    return str(value)
