"""A log source as an operator declares it: where its files are and how its lines say the time.

Above: the application reads one from each `[logs.NAME]` table and hands them to `log_tools`.
Below: `formats`, `moments` and `patterns` check what is declared. Nothing here opens a file.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from activities.logs.formats import BadTimeFormat, TimeFormat
from activities.logs.levels import LEVELS
from activities.logs.moments import BadZone, parse_zone
from activities.logs.patterns import BadPattern, Pattern

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

_WILDCARDS = frozenset("*?[")


class LogSource(BaseModel):
    """One named log: a file, or a set of files that are read as one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME_PATTERN)
    """How the agent names it."""
    path: Path | None = None
    """The one file; exactly one of `path` and `glob`."""
    glob: str | None = Field(default=None, min_length=1)
    """Files, `**` for any folders between; those outside the folder before the first wildcard are refused."""
    format: Literal["text", "json"] = "text"
    """`json`: each line is a JSON object."""
    timestamp: str = Field(min_length=1)
    """strptime format of the time text, or `epoch`, or `epoch_ms`."""
    timestamp_regex: str | None = None
    """RE2 with one group that holds the time text; by default it begins the line."""
    timestamp_field: str | None = Field(default=None, min_length=1)
    """Path of the field that holds the time, such as `event.created`; required for JSON lines, and only there."""
    zone: str | None = None
    """IANA name, `UTC` or an offset such as `+02:00`; required unless the format has %z or is epoch."""
    year: int | None = Field(default=None, ge=1970, le=9998)
    """Year of the first entry, required when the format has none."""
    level_regex: str | None = None
    """RE2 with one group that holds the word for the level."""
    level_field: str | None = Field(default=None, min_length=1)
    """Path of the field that holds the level of JSON lines."""
    levels: dict[str, str] = Field(default_factory=dict[str, str])
    """Levels of words that are not usual, such as `{"30": "info"}`."""
    multiline: bool = False
    """A line without a time of its own belongs to the entry before it, such as a stack trace."""
    ordered: bool = False
    """Entries, and the files of a rotated set, are in order of time, to within an hour: windows are sought."""
    repeated: str | None = None
    """RE2 that tells a line standing for `(?P<count>...)` equal ones, optionally with their `(?P<text>...)`."""
    description: str = Field(default="", max_length=1000)
    """For the agent: what is logged here."""

    @model_validator(mode="after")
    def _is_complete(self) -> LogSource:
        _check_place(self)
        _check_time(self)
        _check_patterns(self)
        _check_lines(self)
        return self

    def resolve(self, base: Path) -> LogSource:
        """Return the source with its path or glob taken from `base` where it was relative."""
        if self.path is not None:
            return self.model_copy(update={"path": base / self.path})
        return self.model_copy(update={"glob": str(base / (self.glob or ""))})

    @property
    def root(self) -> Path:
        """The folder its files are in and named from."""
        if self.path is not None:
            return self.path.parent
        return Path(*split_glob(self.glob or "")[0])

    @property
    def wildcard(self) -> str | None:
        """The glob from `root` on; None for a single file."""
        return None if self.glob is None else str(Path(*split_glob(self.glob)[1]))

    @cached_property
    def time_format(self) -> TimeFormat:
        """The compiled `timestamp`."""
        return TimeFormat(self.timestamp)

    @cached_property
    def tzinfo(self) -> tzinfo:
        """The zone of its times, and of a window that names none; UTC where no zone is declared."""
        return UTC if self.zone is None else parse_zone(self.zone)

    @cached_property
    def time_pattern(self) -> Pattern | None:
        """The compiled `timestamp_regex`."""
        return None if self.timestamp_regex is None else Pattern(self.timestamp_regex, capture="all")

    @property
    def has_levels(self) -> bool:
        """Whether its lines say a level."""
        return self.level_regex is not None or self.level_field is not None

    @cached_property
    def level_pattern(self) -> Pattern | None:
        """The compiled `level_regex`."""
        return None if self.level_regex is None else Pattern(self.level_regex, capture="all")

    @cached_property
    def repeat_pattern(self) -> Pattern | None:
        """The compiled `repeated`."""
        return None if self.repeated is None else Pattern(self.repeated, capture="named")


def _check_place(source: LogSource) -> None:
    if (source.path is None) == (source.glob is None):
        raise ValueError("give exactly one of `path` and `glob`")
    if source.path is not None and str(source.path) in ("", "."):
        raise ValueError("`path` is empty: name the file")
    if source.glob is not None and not split_glob(source.glob)[1]:
        raise ValueError(f"`glob` {source.glob!r} has no wildcard: use `path` for a single file")
    if source.glob is not None and any("**" in part and part != "**" for part in Path(source.glob).parts):
        raise ValueError(
            f"`glob` {source.glob!r}: `**` stands for folders, alone between slashes, as in `logs/**/*.log`"
        )


def _check_time(source: LogSource) -> None:
    try:
        form = source.time_format
        _ = source.tzinfo
    except (BadTimeFormat, BadZone) as error:
        raise ValueError(str(error)) from None
    if source.zone is None and not form.has_zone:
        raise ValueError("`zone` is missing: the format has no %z, and a zone is never guessed")
    if source.year is None and not form.has_year:
        raise ValueError("`year` is missing: the format has none; give the year of the first entry")
    if source.year is not None and form.has_year:
        raise ValueError("`year` is for formats without one; this format has it")


def _check_patterns(source: LogSource) -> None:
    for field in ("timestamp_regex", "level_regex", "repeated"):
        text: str | None = getattr(source, field)
        if text is None:
            continue
        try:
            pattern = Pattern(text)
        except BadPattern as error:
            raise ValueError(f"`{field}` is no pattern: {error}") from None
        if field == "timestamp_regex" and pattern.size != 1:
            raise ValueError(f"`timestamp_regex` has {pattern.size} groups: it needs one, around the time text")
        if field == "level_regex" and pattern.size != 1:
            raise ValueError(f"`level_regex` has {pattern.size} groups: it needs one, around the word for the level")
        if field == "repeated" and not {"count"} <= set(pattern.names) <= {"count", "text"}:
            raise ValueError("`repeated` needs a group (?P<count>...) and may have one (?P<text>...)")


def _check_lines(source: LogSource) -> None:
    if source.format == "json":
        _check_json(source)
    elif source.timestamp_field is not None or source.level_field is not None:
        raise ValueError('`timestamp_field` and `level_field` are for JSON lines: add `format = "json"`')
    if source.levels and not source.has_levels:
        raise ValueError("`levels` says what words mean; say where the word is: `level_regex` or `level_field`")
    for word, level in source.levels.items():
        if level not in LEVELS:
            raise ValueError(f"`levels` makes {word!r} a {level!r}: it must be one of {', '.join(LEVELS)}")
    if source.multiline and source.repeated is not None:
        raise ValueError("`multiline` and `repeated` do not go together: a line that repeats another is an entry")
    if source.ordered and not source.time_format.has_year:
        raise ValueError("`ordered` needs a format with a year: without one, the lines before a window say which it is")


def _check_json(source: LogSource) -> None:
    if source.timestamp_field is None:
        raise ValueError("`timestamp_field` is missing: JSON lines hold their time in a field, name it")
    for name in ("timestamp_regex", "level_regex", "repeated", "multiline"):
        if getattr(source, name):
            raise ValueError(f"`{name}` is for text; JSON lines have fields and are one entry each")


def split_glob(glob: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a glob's parts before the first one with a wildcard."""
    parts = Path(glob).parts
    fixed = next((place for place, part in enumerate(parts) if _WILDCARDS & set(part)), len(parts))
    return parts[:fixed], parts[fixed:]
