"""What the log tests share: sources over files of their own, tools run as the boundary runs them."""

from __future__ import annotations

import gzip
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from activities.logs import LogSource, log_tools
from boundary.contracts import CallError, JsonObject
from boundary.tools import Projection, StopFlag, Tool, ToolContext

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd.compress}
"""How files of a suffix are packed."""

PLAIN: dict[str, Any] = {"timestamp": "%Y-%m-%d %H:%M:%S", "zone": "UTC"}
"""Declaration of a log whose lines begin with such a time, in UTC."""

BUDGET = 24 * 1024


@dataclass(frozen=True)
class Logs:
    """The tools over some sources."""

    tools: dict[str, Tool]

    def check(self, tool: str, **arguments: Any) -> CallError | None:
        """Ask the tool to check arguments."""
        return self.tools[tool].check(arguments)

    def raw(self, tool: str, *, stop: StopFlag | None = None, max_raw_bytes: int = 8 << 20, **arguments: Any) -> Any:
        """Execute and return the raw response."""
        assert self.tools[tool].check(arguments) is None
        context = ToolContext(stop=stop or threading.Event(), max_raw_bytes=max_raw_bytes)
        return self.tools[tool].execute(arguments, context)

    def project(self, tool: str, *, budget: int = BUDGET, stop: StopFlag | None = None, **arguments: Any) -> Projection:
        """Execute and project; the result always fits the tool's own result schema."""
        projection = self.tools[tool].project(arguments, self.raw(tool, stop=stop, **arguments), budget)
        Draft202012Validator(self.tools[tool].definition.result_schema).validate(projection.agent_result)
        return projection

    def search(self, **arguments: Any) -> JsonObject:
        """Result of `search_logs` on the source `app`."""
        return self.project("search_logs", **_on_app(arguments)).agent_result

    def count(self, **arguments: Any) -> JsonObject:
        """Result of `count_logs` on the source `app`."""
        return self.project("count_logs", **_on_app(arguments)).agent_result

    def list(self, **arguments: Any) -> JsonObject:
        """Result of `list_logs`."""
        return self.project("list_logs", **arguments).agent_result


def _on_app(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"source": "app", **arguments}


def logs(*sources: LogSource) -> Logs:
    """Make the tools."""
    return Logs({tool.definition.name: tool for tool in log_tools(sources)})


def app(folder: Path, content: str | bytes, *, compress: bool = False, **declared: Any) -> Logs:
    """Make the tools over one source `app` with one file `app.log` of that content."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / "app.log"
    path.write_bytes(gzip.compress(data) if compress else data)
    return logs(LogSource(name="app", path=path, **{**PLAIN, **declared}))


def texts(result: JsonObject) -> list[str]:
    """Texts of the lines of a search."""
    return [line["text"] for line in result["lines"]]
