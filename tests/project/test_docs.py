"""What the documents tell people to type exists, and what they link to is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from activities.knowledge import KnowledgeSource
from activities.logs import LogSource
from activities.sql import SqlSource
from tests.support import tree

PAGES = [path for path in tree.tracked_files() if path.suffix == ".md"]
CONSOLE = re.compile(r"^```console\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")


def commands(page: Path) -> list[str]:
    """List the lines a page tells to type, without the prompt."""
    blocks = CONSOLE.findall(page.read_text())
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_every_make_target_in_a_document_exists() -> None:
    """`make run` is the first thing anybody types."""
    makefile = (tree.ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    told = {word for page in PAGES for line in commands(page) for word in re.findall(r"^make (\w+)", line)}
    assert {"run", "test", "check"} <= told <= targets


def test_every_casebound_command_in_the_readme_exists() -> None:
    """Each answers --help, and knows the options that the README gives it."""
    told = [line for line in commands(tree.ROOT / "README.md") if "casebound " in line]
    assert told
    for line in told:
        command, *rest = line.split("casebound ", 1)[1].split()
        code = f"import sys; sys.argv = ['casebound', {command!r}, '--help']; from casebound.cli import main; main()"
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
        assert answer.returncode == 0, answer.stderr
        assert [option for option in rest if option.startswith("--") and option not in answer.stdout] == []


@pytest.mark.parametrize(
    ("section", "model"), [("logs", LogSource), ("sql", SqlSource), ("knowledge", KnowledgeSource)]
)
def test_every_key_of_a_source_is_told(section: str, model: type[BaseModel]) -> None:
    """In the table of its section, and no key that there is not."""
    page = (tree.ROOT / "docs" / "configuration.md").read_text()
    table = page.split(f"### [{section}.NAME]", 1)[1].split("###", 1)[0]
    told = {key for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)}
    assert told == set(model.model_fields) - {"name"}


@pytest.mark.parametrize("page", PAGES, ids=tree.relative)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    """Documents move; their links must follow."""
    targets = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert targets == []


def test_the_guides_for_contributors_stay_short() -> None:
    """Two pages that are read, together under 120 lines."""
    assert sum(tree.line_count(tree.ROOT / name) for name in ("CONTRIBUTING.md", "AGENTS.md")) < 120
