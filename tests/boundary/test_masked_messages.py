"""Messages have no bound of their own: what is masked of one is its beginning, and no half of a secret shows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from boundary.evidence import explain
from boundary.redaction import MESSAGE_READ, MESSAGE_TAIL, Redactor

PLAIN = Redactor()
HUGE = "password= x " * 800_000


class Counting(Redactor):
    """Counts the characters it is given to mask."""

    read = 0

    def text(self, text: str) -> tuple[str, int]:
        self.read += len(text)
        return super().text(text)


@given(st.text(max_size=200))
def test_a_short_message_is_masked_as_any_text(text: str) -> None:
    """The bound changes nothing for those that people write."""
    assert PLAIN.message(text) == PLAIN.text(text)[0]


def test_of_a_message_of_megabytes_no_more_than_its_beginning_is_read() -> None:
    """Masking all of it would take tens of seconds, in which nothing else of a worker goes on."""
    redactor = Counting()
    redactor.message(HUGE)
    explain(ValueError(HUGE), redactor)
    assert redactor.read <= 2 * MESSAGE_READ


@given(st.integers(min_value=0, max_value=64), st.integers(min_value=0, max_value=200))
def test_no_half_of_a_secret_shows_where_a_message_is_cut(cut_after: int, shrunk: int) -> None:
    """Also where so much before it was masked that little is left."""
    secret = "ghp_" + "A1b2C3d4" * 4 + "wxyz"
    before = ("token=" + "Zq7" * 60 + "\n") * shrunk
    filler = "." * (MESSAGE_READ - len(before) - 1 - cut_after) + " "
    shown = PLAIN.message((before + filler)[: MESSAGE_READ - cut_after] + secret + "." * MESSAGE_TAIL)
    assert "ghp_" not in shown
    assert "A1b2C3d4" not in shown
