"""Knowledge tools: ranked search and exact reading of runbooks and post-mortems.

Above: the composition root declares `KnowledgeSource`s and asks for the tools. Below: files, and
an SQLite FTS5 index of them in memory. The agent names a source and a document, never a path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from activities.knowledge.index import Index
from activities.knowledge.probing import probe
from activities.knowledge.read import ReadKnowledge
from activities.knowledge.search import SearchKnowledge
from activities.knowledge.source import KnowledgeSource
from boundary.tools import Tool

__all__ = ["KnowledgeSource", "knowledge_tools", "probe"]


def knowledge_tools(sources: Sequence[KnowledgeSource]) -> list[Tool]:
    """Make `search_knowledge` and `read_knowledge` for the sources; none without any source.

    Raises:
        ValueError: two sources have one name, or a path is relative (`KnowledgeSource.resolve` it first).
    """
    names = Counter(source.name for source in sources)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        raise ValueError(f"knowledge sources must have different names: {', '.join(repeated)}")
    relative = sorted(source.name for source in sources if not source.root.is_absolute())
    if relative:
        raise ValueError(f"knowledge sources need absolute paths: {', '.join(relative)}")
    return [SearchKnowledge(sources, Index()), ReadKnowledge(sources)] if sources else []
