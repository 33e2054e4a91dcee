"""Every promise of docs/requirements.yaml has a test that proves it, and every proof a promise."""

from __future__ import annotations

import ast
from pathlib import Path

import yaml

from tests.support import tree

MANIFEST = tree.ROOT / "docs" / "requirements.yaml"


def promises() -> dict[str, str]:
    """Read the manifest: id to sentence."""
    return yaml.safe_load(MANIFEST.read_text())


def proved_ids(path: Path) -> set[str]:
    """Name the ids in the file's `proves(...)` markers."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "proves":
            found.update(arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
    return found


def proofs() -> dict[str, list[str]]:
    """Map each id that a test names to the files naming it."""
    found: dict[str, list[str]] = {}
    for path in tree.python_files("tests"):
        for name in proved_ids(path):
            found.setdefault(name, []).append(tree.relative(path))
    return found


def test_every_promise_has_a_proof() -> None:
    """A promise nobody tests is a wish."""
    assert sorted(promises().keys() - proofs().keys()) == []


def test_every_proof_names_a_promise() -> None:
    """A typing error would otherwise prove nothing."""
    assert {name: files for name, files in proofs().items() if name not in promises()} == {}


def test_every_promise_is_one_sentence() -> None:
    """Ids are stable; the sentence says what is promised."""
    for name, sentence in promises().items():
        assert name.startswith(("INV-", "FIELD-"))
        assert sentence.endswith(".")
