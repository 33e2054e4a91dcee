"""Finds and reads a source's documents; nothing outside the source's folder is ever opened.

Above: `index`, `read`, `probing`. Below: the operating system. Names that leave this module are
relative to the source's folder, also in messages.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from activities.knowledge.source import KnowledgeSource
from boundary.errors import ErrorCode
from boundary.tools import ToolFailure

SUFFIXES = frozenset({".md", ".markdown", ".txt", ".rst"})
MAX_FILES = 2000
"""Documents of one source."""
MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_SOURCE_BYTES = 64 * 1024 * 1024
"""Of all documents of a source together; bounds the index."""

Fingerprint = tuple[int, int, int]
"""Size, mtime_ns, inode."""


class Unreadable(Exception):
    """A document cannot be used; the text says why, without a path."""


@dataclass(frozen=True)
class Refused:
    """A match of a source that is not read."""

    document: str
    reason: str


@dataclass(frozen=True)
class KnowledgeFile:
    """A document's file."""

    path: Path
    """Resolved."""
    name: str
    """Relative to the source's folder, `/` between its parts."""
    fingerprint: Fingerprint


@dataclass(frozen=True)
class Found:
    """What a source leads to, in order of names."""

    files: tuple[KnowledgeFile, ...]
    refused: tuple[Refused, ...] = ()


def find_documents(source: KnowledgeSource) -> Found:
    """List the source's documents.

    Raises:
        ToolFailure: UPSTREAM_UNAVAILABLE, the folder is missing, cannot be read, or has no document or too many.
    """
    files: list[KnowledgeFile] = []
    refused: list[Refused] = []
    try:
        base = source.root if source.root.is_dir() else source.root.parent
        names = sorted(islice(_matches(source), MAX_FILES + 1))
        if len(names) > MAX_FILES:
            raise unavailable(source.name, f"has more than {MAX_FILES} documents: declare it in narrower parts")
        total = 0
        for name in names:
            found = _inspect(base, name, single=source.path is not None and base != source.root)
            if isinstance(found, KnowledgeFile):
                total += found.fingerprint[0]
                if total > MAX_SOURCE_BYTES:
                    found = Refused(_safe(name), "over the 64 MiB of a source: declare it in narrower parts")
            if isinstance(found, KnowledgeFile):
                files.append(found)
            elif found is not None:
                refused.append(found)
    except OSError as error:
        raise unavailable(source.name, f"cannot be read ({_reason(error)}): check its permissions") from None
    if not files and not refused:
        raise unavailable(source.name, "has no document (.md, .markdown, .txt, .rst): put some there or correct `path`")
    return Found(tuple(files), tuple(refused))


def read_text(file: KnowledgeFile) -> tuple[Fingerprint, str]:
    """Read a document, and what identifies the content read: taken before, so that a later write differs.

    Raises:
        Unreadable: it is gone, too large, binary, or not UTF-8.
    """
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(descriptor, "rb") as opened:
            fingerprint = _fingerprint(os.fstat(descriptor))
            data = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {_reason(error)}") from None
    if len(data) > MAX_FILE_BYTES:
        raise Unreadable("larger than 5 MiB: split it")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("encoded in UTF-16: save it as UTF-8")
    if b"\0" in data:
        raise Unreadable("binary, not text")
    try:
        return fingerprint, data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8: save it as UTF-8") from None


def unavailable(source: str, problem: str) -> ToolFailure:
    """Make the failure for a source that could not be looked at."""
    return ToolFailure(f"source {source!r} {problem}", code=ErrorCode.UPSTREAM_UNAVAILABLE)


def _matches(source: KnowledgeSource) -> Iterator[str]:
    root = source.root
    if not root.exists():
        raise unavailable(source.name, "has no such folder or file: create it or correct its `path` or `glob`")
    if root.is_file():
        yield root.name
    elif source.wildcard is not None:
        yield from (path.relative_to(root).as_posix() for path in root.glob(source.wildcard) if _wanted(path, root))
    else:
        yield from _walk(root)


def _walk(root: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(root, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder) / name
            if _wanted(path, root):
                yield path.relative_to(root).as_posix()


def _wanted(path: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return path.suffix.lower() in SUFFIXES and not hidden


def _inspect(base: Path, name: str, *, single: bool) -> KnowledgeFile | Refused | None:
    """Look at a match; None: a folder, or gone. A single declared file may be a link to anywhere."""
    try:
        real = (base / name).resolve(strict=True)
    except FileNotFoundError:
        return None
    except (RuntimeError, OSError):
        return Refused(_safe(name), "a symbolic link that leads nowhere")
    if not single and not real.is_relative_to(base.resolve()):
        return Refused(_safe(name), "a symbolic link that leaves the source's folder")
    status = real.stat()
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return Refused(_safe(name), "not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        return Refused(_safe(name), "larger than 5 MiB: split it")
    return KnowledgeFile(real, _safe(name), _fingerprint(status))


def _fingerprint(status: os.stat_result) -> Fingerprint:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _safe(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")
