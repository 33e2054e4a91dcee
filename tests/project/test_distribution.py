"""What is built and committed: a wheel that works by itself, locks for every index, no machine's paths."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.support import tree

LOCKS = ("requirements/run.txt", "requirements/ci.txt")
MACHINE_PATH = re.compile(rb"(?<![\w.$}~*-])/(?:root|work|home/(?!a\b|user\b)\w+|Users/\w+)/\w+")
"""An absolute path into somebody's checkout or home; `/home/a` and `/home/user` are nobody's."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from this tree without network."""
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=tree.ROOT, check=True, capture_output=True, timeout=60)
    (built,) = target.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Tests, benchmarks and examples stay in the source distribution."""
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(tree.PACKAGES)
    for package in tree.PACKAGES:
        expected = {tree.relative(path) for path in tree.python_files(package)} | {f"{package}/py.typed"}
        assert expected <= set(wheel.namelist())


def test_the_wheel_offers_the_casebound_command(wheel: zipfile.ZipFile) -> None:
    """The command's name is the distribution's."""
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "casebound = casebound.cli:main" in wheel.read(name).decode()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_index_and_hashes_everything(lock: str) -> None:
    """It must hold for any mirror, and for nothing but the files it was made from."""
    text = (tree.ROOT / lock).read_text()
    assert re.findall(r"\w+://|^-", text, flags=re.MULTILINE) == []
    pins = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert pins
    assert [pin for pin in pins if "--hash=sha256:" not in pin] == []


def test_what_runs_and_what_tests_are_locked_alike() -> None:
    """Each pin of run.txt stands in ci.txt."""
    run, ci = (pins((tree.ROOT / lock).read_text()) for lock in LOCKS)
    assert run.items() <= ci.items()


def test_every_declared_dependency_is_locked() -> None:
    """`make lock` was run after the last change of the dependencies."""
    pyproject = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    run, ci = (pins((tree.ROOT / lock).read_text()) for lock in LOCKS)
    assert {distribution(line) for line in pyproject["project"]["dependencies"]} <= run.keys()
    groups = pyproject["dependency-groups"]
    assert {distribution(line) for line in groups["dev"] if isinstance(line, str)} <= ci.keys()


def test_no_file_names_a_path_of_some_machine() -> None:
    """A checkout works wherever it lies."""
    found = {
        tree.relative(path): sorted(set(MACHINE_PATH.findall(path.read_bytes())))
        for path in tree.tracked_files()
        if path != Path(__file__) and MACHINE_PATH.search(path.read_bytes())
    }
    assert found == {}


def distribution(requirement: str) -> str:
    """Name the distribution a requirement asks for, as locks write it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def pins(lock: str) -> dict[str, str]:
    """Read a lock: distribution to version."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", lock, flags=re.MULTILINE))
