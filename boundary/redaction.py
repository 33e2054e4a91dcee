"""Masks secrets in what an agent, a history or a report may show.

Above: the boundary redacts every agent result, preview and message before the settle; the
commands redact what they print. Below: `secret_patterns`, `secret_contexts`, `secret_shapes`. It
works by form, so it is a safety net and no proof that nothing secret is left; the secrets of our
own configuration are given to it as known and are masked exactly. Raw responses are not redacted:
they never leave the store.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast
from urllib.parse import quote, quote_plus

from boundary.contracts import JsonObject, JsonValue, shorten
from boundary.secret_contexts import contexts_in
from boundary.secret_patterns import (
    ANY_NAME,
    ASSIGNMENT,
    ASSIGNMENT_START,
    BEGINS_A_LINE,
    EVERYDAY_NAME,
    MORE_WORDS,
    begins_a_remark,
    folded,
    is_placeholder,
    is_secret_name,
)
from boundary.secret_shapes import PEM, SHAPES

MASK = "[redacted]"

KNOWN_SECRET_MIN = 4
"""Characters of a known secret; a shorter one would mask half of every text."""

MESSAGE_READ = 16 * 1024
"""Characters read of a message, which anyone may make megabytes long: masking costs up to 4 s a megabyte."""

MESSAGE_TAIL = 4 * 1024
"""Of what was read of a longer message, left out: a secret cut in half may end it, and is not recognised."""

EVERYDAY_VALUE_MAX = 200
"""A value longer than this is no everyday word, whatever the name before it."""

_ROUNDS = 8
"""Masking can uncover a further secret (a boundary appears); texts settle after one or two rounds."""

_MASKS = re.compile(re.escape(MASK))

# `password= user=x`: the first value is empty.
_EMPTY = re.compile(r"=>?[ \t]+\Z")
_NEXT_PAIR = re.compile(r"[\w.-]{1,40}=[^\s=]")

Span = tuple[int, int]


class Redactor:
    """Masks known secrets, and what looks like one. Masking twice changes nothing more."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Take the secrets of our own configuration; those under `KNOWN_SECRET_MIN` characters are not masked."""
        forms = {form for secret in secrets if len(secret) >= KNOWN_SECRET_MIN for form in _forms(secret)}
        longest_first = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        # In a look-ahead, so that overlapping secrets are all found.
        self._known = re.compile(f"(?=({longest_first}))") if forms else None

    def text(self, text: str) -> tuple[str, int]:
        """Return the text with its secrets masked, and how many masks were put."""
        return _masked(text, self._spans)

    def message(self, text: str) -> str:
        """Return the beginning of a message of any length with its secrets masked: more than is ever shown of one."""
        masked = self.text(text[:MESSAGE_READ])[0]
        return masked if len(text) <= MESSAGE_READ else masked[:-MESSAGE_TAIL] + "…"

    def known(self, text: str) -> str:
        """Return the text with the known secrets masked and no others: what only looks like one may be evidence."""
        return _masked(text, self._known_spans)[0]

    def value(self, value: JsonValue) -> tuple[JsonValue, int]:
        """Return a copy with the secrets of all its strings and keys masked, and how many masks were put.

        A string, or a number where the name leaves no doubt, under a name such as `password` is
        masked whole; so are the second of a name/value pair, the argument after a flag, and a
        column of rows.
        """
        return _Walk(self).run(value)

    def _known_spans(self, text: str) -> Iterator[Span]:
        if self._known is not None:
            yield from (match.span(1) for match in self._known.finditer(text))

    def _spans(self, text: str) -> Iterator[Span]:
        yield from self._known_spans(text)
        lower = folded(text)
        if any(word in lower for word in ANY_NAME):
            yield from _assignments(text, lower)
        for pattern in (SHAPES, PEM, *contexts_in(lower)):
            for match in pattern.finditer(text):
                yield match.span(match.lastindex or 0)


_BY_FORM = Redactor()


def looks_secret(text: str) -> bool:
    """Tell whether something in the text looks like a secret."""
    return _BY_FORM.text(text)[1] > 0


def masked_short(text: str, limit: int) -> str:
    """Mask what looks like a secret, then cut: half a secret would not be recognised any more."""
    return shorten(_BY_FORM.text(text)[0], limit)


def _masked(text: str, find: Callable[[str], Iterator[Span]]) -> tuple[str, int]:
    count = 0
    for _ in range(_ROUNDS):
        masks = [match.span() for match in _MASKS.finditer(text)]
        spans = _merged(find(text), masks)
        if not spans:
            break
        text = _replaced(text, spans)
        count += len(spans)
    return text, count


def _forms(secret: str) -> set[str]:
    encoded = {secret}
    if secret.isascii() or _is_unicode(secret):
        encoded |= {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    lower = {re.sub(r"%[0-9A-F]{2}", lambda match: match.group().lower(), form) for form in encoded}
    return encoded | lower | {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _assignments(text: str, lower: str) -> Iterator[Span]:
    position = 0
    while (start := ASSIGNMENT_START.search(lower, position)) is not None:
        match = ASSIGNMENT.match(text, start.start())
        if match is None:
            position = start.start() + 1
            continue
        span = match.span(match.lastindex or 0)
        if _is_assigned_secret(text, match, text[slice(*span)]):
            position = _end_of_value(text, match, span[1])
            yield span[0], position
        else:
            position = span[0]  # what was taken for a value may itself name a secret


def _end_of_value(text: str, match: re.Match[str], end: int) -> int:
    """Say where the value ends: a line that is all `password: value` may have one of several words."""
    bare = match.lastindex == match.re.groups
    if not bare or match["between"][-1:] not in (" ", "\t") or EVERYDAY_NAME.match(match["name"]):
        return end
    name_at = match.start()
    line_at = max(text.rfind(end_of_line, max(0, name_at - 110), name_at) for end_of_line in "\r\n") + 1
    if BEGINS_A_LINE.match(text, line_at, name_at) is None or (line_at == 0 and name_at > 110):
        return end
    more = MORE_WORDS.match(text, end)
    return more.end() if more else end


def _is_assigned_secret(text: str, match: re.Match[str], value: str) -> bool:
    between, bare = match["between"], match.lastindex == match.re.groups
    before = text[match.start() - 1 : match.start()]
    if is_placeholder(value) or (bare and _EMPTY.match(between) and _NEXT_PAIR.match(value)):
        return False
    if bare and "=" not in between and begins_a_remark(value, text[match.end() : match.end() + 2]):
        return False
    if match["name"].lower() == "pass" and before not in ("_", "-"):  # `pass=12 fail=0`, `pass: on`
        return not value.isdigit() and not (bare and "=" not in between)
    if "=" in between:
        return True
    if before == "/":  # a path, as in `/etc/passwd: Permission denied`
        return False
    part_of_a_name = before.isalnum() or before in ("_", "-")
    if EVERYDAY_NAME.match(match["name"]) and not part_of_a_name and between[0] in ": \t":
        return len(value) > EVERYDAY_VALUE_MAX or (len(value) >= 8 and (not bare or _is_mixed(value)))
    return True


def _is_mixed(value: str) -> bool:
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def _merged(found: Iterable[Span], masks: list[Span]) -> list[Span]:
    """Join what overlaps or touches, masks included; leave out what covers nothing but masks."""
    starts = [start for start, _ in masks]
    marked = [(start, end, False) for start, end in masks]
    for start, end in found:
        nearest = bisect_right(starts, start) - 1
        if end > start and not (nearest >= 0 and end <= masks[nearest][1]):
            marked.append((start, end, True))
    joined: list[tuple[int, int, bool]] = []
    for start, end, is_new in sorted(marked):
        if joined and start <= joined[-1][1]:
            first, last, any_new = joined[-1]
            joined[-1] = (first, max(last, end), any_new or is_new)
        else:
            joined.append((start, end, is_new))
    return [(start, end) for start, end, any_new in joined if any_new]


def _replaced(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], MASK)
        position = end
    return "".join((*parts, text[position:]))


class _Job(NamedTuple):
    """One value still to be copied into its place."""

    value: JsonValue
    into: Any
    place: Any
    secret_as: str
    """Name of the secret the value holds; empty: none."""


class _Walk:
    """Copies one JSON value without recursion, so that no nesting is too deep."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._jobs: list[_Job] = []
        self._count = 0

    def run(self, value: JsonValue) -> tuple[JsonValue, int]:
        result: list[JsonValue] = [None]
        self._jobs.append(_Job(value, result, 0, ""))
        while self._jobs:
            job = self._jobs.pop()
            job.into[job.place] = self._copy(job)
        return result[0], self._count

    def _copy(self, job: _Job) -> JsonValue:
        match job.value:
            case dict():
                return self._object(cast(JsonObject, job.value))
            case list() | tuple():
                return self._array(cast(list[JsonValue], job.value), job.secret_as)
            case str() if job.secret_as:
                return self._secret(job.value)
            case str():
                return self._text(job.value)
            case int() | float() if not isinstance(job.value, bool) and _holds_numbers(job.secret_as):
                self._count += 1
                return MASK
            case _:
                return job.value

    def _secret(self, value: str) -> str:
        if not value or value == MASK or is_placeholder(value):
            return value
        self._count += 1
        return MASK

    def _text(self, text: str) -> str:
        masked, count = self._redactor.text(text)
        self._count += count
        return masked

    def _object(self, value: JsonObject) -> JsonObject:
        copy: JsonObject = {}
        repeated: dict[str, int] = {}
        columns = _secret_columns(value)
        pair = next((value[field] for field in ("name", "key") if isinstance(value.get(field), str)), "")
        for key, item in value.items():
            masked = name = self._text(key)
            while name in copy or (name != key and name in value):  # two keys that differed by a secret
                repeated[masked] = repeated.get(masked, 1) + 1
                name = f"{masked} ({repeated[masked]})"
            copy[name] = None  # now, so that the order is kept
            if key == "rows" and columns and isinstance(item, list):
                copy[name] = self._rows(cast(list[JsonValue], item), columns)
                continue
            secret_as = pair if key == "value" and is_secret_name(pair) else key if is_secret_name(key) else ""
            self._jobs.append(_Job(item, copy, name, secret_as))
        return copy

    def _array(self, items: list[JsonValue], secret_as: str) -> list[JsonValue]:
        copy: list[JsonValue] = [None] * len(items)
        flag = ""
        for index, item in enumerate(items):
            self._jobs.append(_Job(item, copy, index, secret_as or flag))
            flag = item if isinstance(item, str) and item.startswith("--") and is_secret_name(item) else ""
        return copy

    def _rows(self, rows: list[JsonValue], columns: dict[int, str]) -> list[JsonValue]:
        copy: list[JsonValue] = [None] * len(rows)
        for index, row in enumerate(rows):
            if not isinstance(row, list):
                self._jobs.append(_Job(row, copy, index, ""))
                continue
            cells = cast(list[JsonValue], row)
            copied: list[JsonValue] = [None] * len(cells)
            copy[index] = copied
            self._jobs.extend(_Job(cell, copied, place, columns.get(place, "")) for place, cell in enumerate(cells))
        return copy


def _holds_numbers(name: str) -> bool:
    """A number under `password` is one; under `token` it is a count."""
    return bool(name) and EVERYDAY_NAME.search(name) is None


def _secret_columns(value: JsonObject) -> dict[int, str]:
    """Find the columns of `{"columns": [...], "rows": [[...]]}` that hold secrets."""
    columns: object = value.get("columns")
    if not isinstance(columns, list):
        return {}
    found: dict[int, str] = {}
    for index, column in enumerate(cast(list[Any], columns)):
        name: object = cast(JsonObject, column).get("name") if isinstance(column, dict) else column
        if isinstance(name, str) and is_secret_name(name):
            found[index] = name
    return found
