"""What a legal tool call id, run id and tool name look like. Pure, light, workflow-safe."""

from __future__ import annotations

import re

TOOL_CALL_ID_MAX = 256
"""Characters; real providers stay below 64 (`call_...`, `toolu_...`, `functions.search:0`)."""

_TOOL_CALL_ID = re.compile(r"[\x21-\x7e]{1,256}")
_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def is_tool_call_id(value: str) -> bool:
    """Tell whether the value is 1..256 printable ASCII characters without space."""
    return _TOOL_CALL_ID.fullmatch(value) is not None


def is_run_id(value: str) -> bool:
    """Tell whether the value can stand in a key: no colon, no blank, at most 128 characters."""
    return _RUN_ID.fullmatch(value) is not None


def is_tool_name(value: str) -> bool:
    """Tell whether the value is a model-safe tool name, `^[a-z][a-z0-9_]{0,63}$`."""
    return _TOOL_NAME.fullmatch(value) is not None
