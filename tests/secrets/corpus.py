"""Labelled texts: `positives.json` with each secret between ⟦ and ⟧, `negatives.txt` with one text a line.

A `·` in a positive is taken out on reading, so that no scanner of repositories takes the file for a leak.
Every secret is made up.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from boundary.redaction import MASK

FOLDER = Path(__file__).parent


class Positive(NamedTuple):
    """A text that holds secrets."""

    form: str
    text: str
    masked: str
    """The text as it has to be shown: each secret masked, nothing else lost."""


def positives() -> list[Positive]:
    """Read the texts with secrets."""
    entries: list[dict[str, str]] = json.loads((FOLDER / "positives.json").read_text(encoding="utf-8"))
    return [_positive(entry["form"], entry["text"].replace("·", "")) for entry in entries]


def negatives() -> list[str]:
    """Read the texts without."""
    return (FOLDER / "negatives.txt").read_text(encoding="utf-8").splitlines()


def _positive(form: str, marked: str) -> Positive:
    masked = re.sub(r"⟦[^⟧]*⟧", MASK, marked)
    return Positive(form, marked.replace("⟦", "").replace("⟧", ""), masked)
