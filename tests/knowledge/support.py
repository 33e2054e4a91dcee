"""What the knowledge tests share: the tools run as the boundary runs them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from activities.knowledge import KnowledgeSource, knowledge_tools
from boundary.tools import Projection, ToolContext

CORPUS = Path(__file__).parent / "corpus"


class Knowledge:
    """The tools over one source `kb`."""

    def __init__(self, path: Path) -> None:
        tools = knowledge_tools([KnowledgeSource(name="kb", path=path)])
        self.tools = {tool.definition.name: tool for tool in tools}

    def project(self, tool: str, *, budget: int = 24 * 1024, **arguments: Any) -> Projection:
        """Execute and project; the result always fits the tool's own result schema."""
        raw = self.tools[tool].execute(arguments, ToolContext(stop=threading.Event()))
        projection = self.tools[tool].project(arguments, raw, budget)
        Draft202012Validator(self.tools[tool].definition.result_schema).validate(projection.agent_result)
        return projection

    def search(self, query: str, **arguments: Any) -> Any:
        """Result of `search_knowledge`."""
        return self.project("search_knowledge", query=query, **arguments).agent_result

    def read(self, document: str, **arguments: Any) -> Any:
        """Result of `read_knowledge`."""
        return self.project("read_knowledge", source="kb", document=document, **arguments).agent_result
