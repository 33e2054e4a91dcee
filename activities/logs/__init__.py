"""Log tools: read-only search and counting over declared log files.

Above: the composition root declares `LogSource`s and asks for the tools. Below: files. The agent
names a source, never a path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from activities.logs.count import CountLogs
from activities.logs.listing import ListLogs
from activities.logs.probing import probe
from activities.logs.search import SearchLogs
from activities.logs.source import LogSource
from activities.logs.templates import LogTemplates
from boundary.tools import Tool

__all__ = ["LogSource", "log_tools", "probe"]


def log_tools(sources: Sequence[LogSource]) -> list[Tool]:
    """Make `list_logs`, `search_logs`, `count_logs` and `log_templates` for the sources; none without any source.

    Raises:
        ValueError: two sources have one name, or a path is relative (`LogSource.resolve` it first).
    """
    names = Counter(source.name for source in sources)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        raise ValueError(f"log sources must have different names: {', '.join(repeated)}")
    relative = sorted(source.name for source in sources if not source.root.is_absolute())
    if relative:
        raise ValueError(f"log sources need absolute paths: {', '.join(relative)}")
    if not sources:
        return []
    return [ListLogs(sources), SearchLogs(sources), CountLogs(sources), LogTemplates(sources)]
