"""The labelled corpus: each secret of the listed forms is masked, and ordinary text stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boundary.redaction import Redactor
from tests.secrets.corpus import Positive, negatives, positives

PLAIN = Redactor()


@pytest.mark.parametrize("one", positives(), ids=lambda one: one.form.replace(" ", "-"))
def test_every_secret_of_the_corpus_is_masked_and_nothing_around_it(one: Positive) -> None:
    """In a text of its own, in the middle of a log line, and as a string of a JSON value."""
    assert PLAIN.text(one.text)[0] == one.masked
    stamp = "2026-01-02T03:04:05Z INFO [app] "
    assert PLAIN.text(f"first\n{one.text}\nlast")[0] == f"first\n{one.masked}\nlast"
    assert PLAIN.value({"lines": [stamp, one.text]})[0] == {"lines": [stamp, one.masked]}


@pytest.mark.parametrize("text", negatives())
def test_no_ordinary_text_of_the_corpus_is_masked(text: str) -> None:
    """Evidence that is masked for nothing cannot be quoted."""
    assert PLAIN.text(text) == (text, 0)
    assert PLAIN.value([text]) == ([text], 0)


def test_the_ordinary_texts_stay_as_they_are_all_together() -> None:
    """No line becomes a secret by the lines around it."""
    text = "\n".join(negatives())
    assert PLAIN.text(text) == (text, 0)


def test_a_secret_inside_escaped_json_is_masked() -> None:
    """A log line may hold JSON as text; what is secret by name is so there, too."""
    inner = json.dumps({"user": "app", "password": "hunter2", "headers": {"Authorization": "Bearer x9"}})
    for text in (inner, json.dumps({"body": inner})):
        masked = PLAIN.text(text)[0]
        assert "hunter2" not in masked
        assert "x9" not in masked
        assert "app" in masked


def test_ten_thousand_lines_of_real_logs_have_nothing_to_mask(loghub: Path) -> None:
    """Authentication failures among them, which speak of passwords all the time."""
    files = sorted(loghub.glob("*.log"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        assert PLAIN.text(text) == (text, 0), file
