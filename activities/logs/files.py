"""Finds and opens a source's files; nothing outside the source's root folder is ever opened.

Above: `scan` and `listing`. Below: the operating system. Every name that leaves this module is
relative to the root folder, also in error messages: absolute paths are not the agent's business.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from activities.logs.compression import EXPANSION, SUFFIXES, UNSOUND, Compression, bare, compression_of
from activities.logs.source import LogSource
from boundary.tools import ToolFailure

MAX_FILES = 1000
"""Files of one source."""

_UNREAD = (
    (re.compile(rb"BZh[1-9]1AY&SY"), "compressed with bzip2"),
    (re.compile(rb"\xfd7zXZ\x00"), "compressed with xz"),
    (re.compile(rb"PK\x03\x04"), "a zip archive"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "encoded in UTF-16"),
)
"""Read as text, these would match nothing, and that would look like no evidence."""
_MAGIC_BYTES = 10
_GENERATION = re.compile(r"(?P<stem>.*?)(?:\.(?P<count>\d{1,5})|[.-](?P<date>\d{6,}))")

_T = TypeVar("_T")


class Vanished(Exception):
    """The file was there when the source was listed and is not any more, as when logs rotate."""


class Order(NamedTuple):
    """Sorts rotated files from the oldest to the one still written."""

    stem: str
    """Name without rotation number and the suffix of a compression: files of one stem are one sequence of entries."""
    current: bool
    generation: int


@dataclass(frozen=True)
class LogFile:
    """A file of a source."""

    path: Path
    """Resolved."""
    name: str
    """Relative to the source's root."""
    size: int
    order: Order


@dataclass(frozen=True)
class Refused:
    """A match of a source that is not read."""

    file: str
    reason: str


@dataclass(frozen=True)
class Found:
    """What a source's path or glob leads to, oldest generation first."""

    files: tuple[LogFile, ...]
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Part:
    """A file of which any part can be read."""

    size: int
    at: Callable[[int, int], bytes]
    """Reads from an offset that many bytes, or up to the end."""

    into: Callable[[memoryview, int], int]
    """Fills memory from an offset on; returns how many bytes there were."""

    def between(self, start: int, end: int) -> Callable[[int], bytes]:
        """Return a reader of the bytes from `start` up to `end`."""
        place = start

        def read(count: int) -> bytes:
            nonlocal place
            chunk = self.at(place, min(count, end - place))
            place += len(chunk)
            return chunk

        return read


@dataclass(frozen=True)
class Opened:
    """A file open for reading, decompressed."""

    read: Callable[[int], bytes]
    """Reads on from where it last ended."""
    part: Part | None
    """None: it is compressed, so no part can be read without all before it."""


def find_files(source: LogSource) -> Found:
    """List the source's files.

    Raises:
        ToolFailure: the folder cannot be read, or there are more than `MAX_FILES`.
    """
    root = source.root
    files: list[LogFile] = []
    refused: list[Refused] = []
    for path in _matches(source, root):
        name = _relative(path, root)
        try:
            found = _inspect(path, name, None if source.glob is None else root)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _failure(source.name, name, error) from None
        if isinstance(found, Refused):
            refused.append(found)
        elif found is not None:
            files.append(found)
        if len(files) + len(refused) > MAX_FILES:
            raise ToolFailure(
                f"source {source.name!r} has more than {MAX_FILES} files: its declaration must be narrower"
            )
    files.sort(key=lambda file: file.order)
    return Found(tuple(files), tuple(sorted(refused, key=lambda item: item.file)))


@contextmanager
def open_log(source: LogSource, file: LogFile) -> Generator[Opened]:
    """Open a file for reading, compressed or not by its first bytes; one still growing ends where it now ends.

    Raises:
        Vanished: it is gone.
        ToolFailure: it cannot be read, or is of a kind that is not read; also later, when it becomes shorter.
    """
    try:
        # No wait for a writer should it have become a pipe, no step outside should it have become a link.
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Vanished(file.name) from None
    except OSError as error:
        raise _failure(source.name, file.name, error) from None
    with open(descriptor, "rb", buffering=0) as raw:
        size = _guarded(source, file, lambda: os.fstat(descriptor).st_size)
        magic = _guarded(source, file, lambda: os.pread(descriptor, _MAGIC_BYTES, 0))
        for signature, kind in _UNREAD:
            if signature.match(magic):
                raise ToolFailure(
                    f"{_where(source.name, file.name)} is {kind}: only plain text, gzip and zstd are read"
                )
        form = compression_of(magic)
        read = _up_to(size, raw.read, _shortened(source, file)) if form is None else form.reader(raw)
        part = _part_of(source, file, descriptor, size) if form is None else None
        yield Opened(lambda count: _guarded(source, file, lambda: read(count), form), part)


def expanded_size(files: Sequence[LogFile]) -> int:
    """About how many bytes the files hold when decompressed; to decide how exactly to look, no more."""
    return sum(file.size * (EXPANSION if file.name.endswith(SUFFIXES) else 1) for file in files)


def missing(source: LogSource) -> str:
    """Say that a source has no file."""
    if source.path is not None:
        return f"source {source.name!r}: there is no file {_safe(source.path.name)!r}"
    return f"source {source.name!r}: no file matches {_safe(source.wildcard or '')!r}"


def _matches(source: LogSource, root: Path) -> Iterator[Path]:
    if source.path is not None:
        yield source.path
        return
    try:
        if root.is_dir():
            yield from sorted(root.glob(source.wildcard or ""))
    except OSError as error:
        raise _failure(source.name, "its folder", error) from None


def _inspect(path: Path, name: str, root: Path | None) -> LogFile | Refused | None:
    """Look at a match; None: a folder. A single declared `path` may be a link to anywhere."""
    try:
        real = path.resolve(strict=True)
    except RuntimeError:  # a loop of links
        return Refused(name, "a symbolic link that leads to itself")
    if root is not None and not real.is_relative_to(root.resolve()):
        return Refused(name, "a symbolic link that leaves the source's folder")
    status = real.stat()
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return Refused(name, "not a regular file")
    return LogFile(real, name, status.st_size, _order(name))


def _order(name: str) -> Order:
    generation = _GENERATION.fullmatch(bare(name))
    if generation is None:
        return Order(bare(name), True, 0)
    # app.log.2 is older than app.log.1, app.log-20240102 is younger than app.log-20240101.
    count, date = generation["count"], generation["date"]
    return Order(generation["stem"], False, int(date) if count is None else -int(count))


def _part_of(source: LogSource, file: LogFile, descriptor: int, size: int) -> Part:
    def at(offset: int, count: int) -> bytes:
        wanted = min(count, size - offset)
        if wanted <= 0:
            return b""
        chunk = _guarded(source, file, lambda: os.pread(descriptor, wanted, offset))
        if not chunk:
            raise _shortened(source, file)
        return chunk

    def into(memory: memoryview, offset: int) -> int:
        wanted = memory[: max(size - offset, 0)]
        if not wanted:
            return 0
        count = _guarded(source, file, lambda: os.preadv(descriptor, [wanted], offset))
        if count == 0:
            raise _shortened(source, file)
        return count

    return Part(size, at, into)


def _up_to(size: int, read: Callable[[int], bytes | None], shortened: ToolFailure) -> Callable[[int], bytes]:
    left = size

    def bounded(count: int) -> bytes:
        nonlocal left
        wanted = min(count, left)
        chunk = read(wanted) or b""
        if wanted and not chunk:
            raise shortened
        left -= len(chunk)
        return chunk

    return bounded


def _guarded(source: LogSource, file: LogFile, act: Callable[[], _T], form: Compression | None = None) -> _T:
    try:
        return act()
    except UNSOUND as error:
        name = "" if form is None else form.name
        what = f"ends in the middle of its {name} data" if isinstance(error, EOFError) else f"is not sound {name}"
        raise ToolFailure(f"{_where(source.name, file.name)} {what}, so it cannot be searched") from None
    except OSError as error:
        raise _failure(source.name, file.name, error) from None


def _failure(source: str, name: str, error: OSError) -> ToolFailure:
    # Not str(error): it holds the absolute path.
    reason = (error.strerror or type(error).__name__).lower()
    retryable = not isinstance(error, (PermissionError, FileNotFoundError, NotADirectoryError))
    return ToolFailure(f"{_where(source, name)} cannot be read: {reason}", retryable=retryable)


def _shortened(source: LogSource, file: LogFile) -> ToolFailure:
    message = f"{_where(source.name, file.name)} became shorter while it was read; ask again"
    return ToolFailure(message, retryable=True)


def _where(source: str, name: str) -> str:
    return f"source {source!r}: {name}"


def _relative(path: Path, root: Path) -> str:
    return _safe(path.relative_to(root).as_posix())


def _safe(name: str) -> str:
    """Make a file name valid Unicode, so that it can be sent."""
    return os.fsencode(name).decode(errors="replace")
