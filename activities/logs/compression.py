"""Compressed logs: which forms are read, and what their errors mean.

Above: `files` opens a file by its first bytes. Below: gzip and zstd. Both read frames that were
appended to each other as one stream, as some log rotations write them.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile

UNSOUND = (EOFError, gzip.BadGzipFile, zlib.error, ZstdError)
"""What reading damaged data raises; EOFError where it only ends too soon."""

EXPANSION = 10
"""How much larger than its file a compressed log is, about."""


@dataclass(frozen=True)
class Compression:
    """A form of compression that is read."""

    name: str
    magic: bytes
    suffixes: tuple[str, ...]
    reader: Callable[[IO[bytes]], Callable[[int], bytes]]


COMPRESSIONS = (
    Compression("gzip", b"\x1f\x8b", (".gz",), lambda raw: gzip.GzipFile(fileobj=raw).read),
    Compression("zstd", b"\x28\xb5\x2f\xfd", (".zst", ".zstd"), lambda raw: ZstdFile(raw).read),
)

SUFFIXES = tuple(suffix for form in COMPRESSIONS for suffix in form.suffixes)


def compression_of(start: bytes) -> Compression | None:
    """Tell the compression from a file's first bytes; None: not one that is read."""
    return next((form for form in COMPRESSIONS if start.startswith(form.magic)), None)


def bare(name: str) -> str:
    """Return the file name without the suffix of its compression."""
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
