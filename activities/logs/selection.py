"""Compiles what a request selects: a pattern, what to leave out, a window of time.

Above: the tools check and run requests with it; `scan` asks it about blocks. Below: `patterns`
and `moments`. It reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from activities.logs.entries import Begins, by_entry
from activities.logs.levels import LEVELS
from activities.logs.lines import LineReader
from activities.logs.moments import iso_utc, parse_iso
from activities.logs.patterns import BadPattern, Found, Pattern, line_bounds
from activities.logs.requests import Request
from activities.logs.requests import Selection as SelectionRequest
from activities.logs.results import Window
from activities.logs.source import LogSource
from boundary.contracts import CallError, JsonObject, call_error
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure

_R = TypeVar("_R", bound=Request)


@dataclass(frozen=True)
class Repeat:
    """A line that says it stands for several."""

    count: int
    message: bytes | None
    """The line as it would read if it stood for itself only."""


class Matcher:
    """Tells which lines or entries of a block match; a line that stands for a message is matched as it, too."""

    def __init__(
        self, pattern: Pattern | None, exclude: Pattern | None, repeat: Pattern | None, begins: Begins | None = None
    ) -> None:
        """Find lines, or where `begins` tells which lines begin entries, the entries they are in."""
        self.names = pattern.names if pattern is not None else ()
        self._pattern = pattern
        self._exclude = exclude
        self._repeat = repeat
        self._begins = begins

    @property
    def skimmed_for(self) -> Pattern | None:
        """A pattern that tells where lines may match, if lines are matched alone; None: all have to be read."""
        alone = self._repeat is None and self._begins is None
        return self._pattern if alone and self._pattern is not None and self._pattern.requires_texts else None

    def find(self, data: bytes) -> Iterator[tuple[Found, int]]:
        """Yield what matches in a block in order, each with the number of occurrences it stands for."""
        if self._begins is not None:
            yield from ((entry, 1) for entry in self._entries(data, self._begins))
            return
        repeats = self._repeats(data)
        plain = self._plain(data)
        found = plain if not repeats else iter(self._with_messages(data, plain, repeats))
        for line in found:
            repeat = repeats.get(line.start)
            if self._exclude is None or not self._excluded(data[line.start : line.end], repeat):
                yield line, 1 if repeat is None else repeat.count

    def _entries(self, data: bytes, begins: Begins) -> Iterator[Found]:
        for entry in by_entry(self._plain(data), data, begins):
            if self._exclude is None or next(self._exclude.find(data[entry.start : entry.end]), None) is None:
                yield entry

    def _plain(self, data: bytes) -> Iterator[Found]:
        if self._pattern is None:
            return (Found(start, end, start) for start, end in line_bounds(data))
        return self._pattern.find(data)

    def _with_messages(self, data: bytes, plain: Iterator[Found], repeats: dict[int, Repeat]) -> list[Found]:
        """Match repeating lines by their message first: its groups are the ones that count."""
        lines = {line.start: line for line in plain}
        for start, repeat in repeats.items():
            if self._pattern is None or repeat.message is None:
                continue
            groups = self._pattern.first(repeat.message)
            if groups is not None:
                end = data.find(b"\n", start)
                lines[start] = Found(start, end if end >= 0 else len(data), start, groups)
        return [lines[start] for start in sorted(lines)]

    def _repeats(self, data: bytes) -> dict[int, Repeat]:
        if self._repeat is None:
            return {}
        return {line.start: self._read_repeat(self._repeat, data, line) for line in self._repeat.find(data)}

    @staticmethod
    def _read_repeat(pattern: Pattern, data: bytes, line: Found) -> Repeat:
        groups = dict(zip(pattern.names, line.groups, strict=True))
        text = groups.get("text")
        head = data[line.start : line.match_start]
        return Repeat(_number(groups["count"]), None if text is None else head + text)

    def _excluded(self, line: bytes, repeat: Repeat | None) -> bool:
        exclude = self._exclude
        if exclude is None:
            return False
        message = None if repeat is None else repeat.message
        return exclude.first(line) is not None or (message is not None and exclude.first(message) is not None)


@dataclass(frozen=True)
class Selection:
    """A request's selection, compiled."""

    source: LogSource
    matcher: Matcher
    since_us: int | None
    until_us: int | None
    least_level: int | None = None
    """Rank of the least severe level that is selected."""
    fields: tuple[str, ...] = ()
    """Fields of JSON lines that hits bring along after the groups of the pattern."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the values of a hit are called."""
        return (*self.matcher.names, *self.fields)

    @property
    def has_window(self) -> bool:
        """Whether times decide what is selected."""
        return self.since_us is not None or self.until_us is not None

    def window(self) -> Window:
        """State the absolute window."""
        since, until = (None if us is None else _iso(us) for us in (self.since_us, self.until_us))
        return Window(since=since, until=until, zone=self.source.zone or "UTC")


def read_request(model: type[_R], arguments: JsonObject) -> _R:
    """Read arguments that fit the schema; explicit nulls mean defaults.

    Raises:
        ToolFailure: they do not fit after all.
    """
    try:
        return model.model_validate({name: value for name, value in arguments.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "/".join(str(part) for part in first["loc"])
        raise refusal(f"{place}: {first['msg']}") from None


def compile_selection(request: SelectionRequest, source: LogSource, *, values: Sequence[str] = ()) -> Selection:
    """Compile a request; `values` are the named groups, or fields of JSON lines, that hits are to bring along.

    Raises:
        ToolFailure: INVALID_ARGUMENTS, the message says what to write instead.
    """
    if request.pattern is not None and request.text is not None:
        raise refusal("give either `pattern` or `text`, not both")
    if request.text is not None and "\n" in request.text:
        raise refusal("`text` holds a line break, which no line does: search for one line's text")
    pattern = None
    if request.text is not None:
        pattern = Pattern(request.text, literal=True, case_sensitive=request.case_sensitive)
    elif request.pattern is not None:
        pattern = _pattern("pattern", request.pattern, request.case_sensitive, groups=bool(values))
    exclude = None
    if request.exclude is not None:
        exclude = _pattern("exclude", request.exclude, request.case_sensitive)
    since, until = _time("since", request.since, source), _time("until", request.until, source)
    if since is not None and until is not None and since >= until:
        raise refusal(f"the window is empty: `since` is {_iso(since)}, `until` {_iso(until)}, in UTC")
    if request.level is not None and not source.has_levels:
        raise refusal(
            f"source {source.name!r} declares no level: leave out `level` and search for the word by `pattern`"
        )
    begins = LineReader(source).begins_entry if source.multiline else None
    matcher = Matcher(pattern, exclude, source.repeat_pattern, begins)
    fields = tuple(dict.fromkeys(name for name in values if name not in matcher.names))
    if fields and source.format != "json":
        raise refusal(
            f"the pattern's named groups are: {', '.join(matcher.names) or 'none'}; to count {fields[0]!r} write "
            f"(?P<{fields[0]}>...)"
        )
    least = None if request.level is None else LEVELS.index(request.level)
    return Selection(source, matcher, since, until, least, fields)


def checked(compile_request: Callable[[], object]) -> CallError | None:
    """Return the refusal that compiling a request ends with, or None."""
    try:
        compile_request()
    except ToolFailure as failure:
        return call_error(ErrorCode.INVALID_ARGUMENTS, failure.message)
    return None


def refusal(message: str) -> ToolFailure:
    """Make the failure for arguments JSON Schema could not refuse."""
    return ToolFailure(message, code=ErrorCode.INVALID_ARGUMENTS)


def known(sources: dict[str, LogSource], name: str) -> LogSource:
    """Return the source of that name.

    Raises:
        ToolFailure: INVALID_ARGUMENTS, there is none.
    """
    if name not in sources:
        raise refusal(f"no source {name!r}: expected one of {', '.join(sources)}")
    return sources[name]


def _pattern(field: str, text: str, case_sensitive: bool, *, groups: bool = False) -> Pattern:
    try:
        return Pattern(text, case_sensitive=case_sensitive, capture="named" if groups else "none")
    except BadPattern as error:
        raise refusal(f"`{field}` is no pattern: {error}") from None


def _time(field: str, text: str | None, source: LogSource) -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text, source.tzinfo)
    except ValueError:
        raise refusal(
            f"`{field}` is {text!r}: expected an ISO 8601 time such as 2015-07-29T19:04:00 or 2015-07-29T19:04:00Z"
        ) from None


def _iso(us: int) -> str:
    return iso_utc(us, 0 if us % 1_000_000 == 0 else 6)


def _number(text: bytes | None) -> int:
    """How many lines a repeating line stands for; a count nobody can mean stands for one."""
    return int(text) if text is not None and text.isdigit() and 0 < len(text) <= 9 else 1
