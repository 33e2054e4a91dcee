"""SQL tools: read-only looks at MariaDB, MySQL, PostgreSQL and SQLite.

Above: the composition root declares `SqlSource`s and asks for the tools. Below: the databases. The agent names a
source, never an address or an account.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from activities.sql.describe import DescribeDatabase
from activities.sql.probing import probe
from activities.sql.query import QueryDatabase
from activities.sql.source import SqlSource
from boundary.tools import Tool

__all__ = ["SqlSource", "probe", "sql_tools"]


def sql_tools(sources: Sequence[SqlSource]) -> list[Tool]:
    """Make `describe_database` and `query_database` for the sources; none without any source.

    Raises:
        ValueError: two sources have one name, or an SQLite path is relative (`SqlSource.resolve` it first).
    """
    names = Counter(source.name for source in sources)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        raise ValueError(f"SQL sources must have different names: {', '.join(repeated)}")
    relative = sorted(source.name for source in sources if source.dialect == "sqlite" and not source.path.is_absolute())
    if relative:
        raise ValueError(f"SQL sources need absolute SQLite paths: {', '.join(relative)}")
    return [DescribeDatabase(sources), QueryDatabase(sources)] if sources else []
