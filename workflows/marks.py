"""Short marks of ids and calls: what a run remembers of each call, however long its texts are. Pure.

A mark is 72 bits of a SHA-256: among 5,000 calls, the chance that two share one is below 10^-14.
"""

from __future__ import annotations

import base64
import hashlib
import json

from boundary.contracts import ReplacedText
from boundary.strict_json import StrictJsonError, parse_object

MARK_CHARS = 12
"""Six bits each."""


def id_mark(tool_call_id: str) -> str:
    """Mark a tool call id."""
    return _mark(tool_call_id)


def call_mark(tool_name: str, arguments: str | ReplacedText) -> str | None:
    """Mark what is asked: the same tool and the same arguments, however they are written, have one mark.

    None: the arguments are no strict JSON object; such a call fails, and may be made again.
    """
    if isinstance(arguments, ReplacedText):
        return None
    try:
        parsed = parse_object(arguments)
    except StrictJsonError:
        return None
    return _mark(json.dumps([tool_name, parsed], sort_keys=True, separators=(",", ":")))


def _mark(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())[:MARK_CHARS].decode()
