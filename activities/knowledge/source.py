"""A knowledge source as an operator declares it: a folder, one file, or a glob of documents.

Above: the application reads one from each `[knowledge.NAME]` table. Below: `logs.source`, for what a
name and a glob are. Nothing here
opens a file.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from activities.logs.source import NAME_PATTERN, split_glob


class KnowledgeSource(BaseModel):
    """One named set of documents."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME_PATTERN)
    """How the agent names it."""
    path: Path | None = None
    """A folder, read with its folders, or one file; exactly one of `path` and `glob`."""
    glob: str | None = Field(default=None, min_length=1)
    """Files, `**` for any folders between; those outside the folder before the first wildcard are refused."""
    description: str = Field(default="", max_length=1000)
    """For the agent: what is written here."""

    @model_validator(mode="after")
    def _is_complete(self) -> KnowledgeSource:
        if (self.path is None) == (self.glob is None):
            raise ValueError("give exactly one of `path` and `glob`")
        if self.glob is not None and not split_glob(self.glob)[1]:
            raise ValueError(f"`glob` {self.glob!r} has no wildcard: use `path` for a folder or a single file")
        return self

    def resolve(self, base: Path) -> KnowledgeSource:
        """Return the source with its path or glob taken from `base` where it was relative."""
        if self.path is not None:
            return self.model_copy(update={"path": base / self.path})
        return self.model_copy(update={"glob": str(base / (self.glob or ""))})

    @property
    def root(self) -> Path:
        """The declared path, or the folder before a glob's first wildcard."""
        return self.path if self.path is not None else Path(*split_glob(self.glob or "")[0])

    @property
    def wildcard(self) -> str | None:
        """The glob from `root` on; None where a path is declared."""
        return None if self.glob is None else str(Path(*split_glob(self.glob)[1]))
