"""Claims as people read them: what each rests on can be checked from the text."""

from __future__ import annotations

from typing import Literal

from boundary.contracts import EvidenceStatus
from boundary.report import CheckedCitation, CheckedClaim, CitationStatus, Standing
from casebound.cli_text import Line
from casebound.commands.output import broken
from tests.casebound.reports import VIEW, text


def citing(*citations: CheckedCitation, kind: Literal["finding", "absence"] = "finding") -> CheckedClaim:
    return CheckedClaim(text="So it is.", kind=kind, standing=Standing.PROVEN, citations=citations)


def ok(call_id: str, pointer: str | None = None, quote: str | None = None) -> CheckedCitation:
    return CheckedCitation(tool_call_id=call_id, pointer=pointer, quote=quote, status=CitationStatus.OK)


def test_an_absence_shows_all_that_was_looked_for() -> None:
    """A pattern stands there as it was asked, and is not cut where other arguments would be."""
    pattern = "|".join(f"word{number}" for number in range(60))
    asked = {"source": "app", "pattern": pattern, "since": "2026-01-02T03:04:05Z"}
    sought = VIEW.calls[0].model_copy(update={"evidence_status": EvidenceStatus.NO_EVIDENCE, "arguments": asked})
    view = VIEW.model_copy(update={"claims": (citing(ok("db-errors"), kind="absence"),), "calls": (sought,)})
    line = f"   - db-errors: search_logs source=app pattern={pattern} since=2026-01-02T03:04:05Z -> found nothing"
    assert line in text(view).splitlines()
    found = view.model_copy(update={"calls": (VIEW.calls[0].model_copy(update={"arguments": asked}),)})
    [short] = [line for line in text(found).splitlines() if "- db-errors" in line]
    assert short.startswith("   - db-errors: search_logs source=app pattern=word0|word1|")
    assert short.endswith("… since=2026-01-02T03:04:05Z")
    assert len(short) < 200


def test_a_call_is_described_where_it_is_cited_first() -> None:
    """After that, the number of that claim; its places stand together in a column."""
    first = citing(ok("db-errors", "/a", "x"), ok("ghost", quote="long enough"), ok("db-errors", "/a/b", "y"))
    printed = text(VIEW.model_copy(update={"claims": (first, citing(ok("db-errors", "")))}))
    assert (
        """\
   - db-errors: search_logs source=db pattern='too many "c'
       /a    “x”
       /a/b  “y”
   - ghost
       “long enough”

2. [✔ proven] So it is.
   - db-errors: as in claim 1
       (the whole result)
"""
        in printed
    )


def test_the_rest_of_a_claim_stands_below_its_beginning() -> None:
    """With numbers of two digits, too."""
    printed = text(VIEW.model_copy(update={"claims": (VIEW.claims[1],) * 10})).splitlines()
    assert "   Not even a small one." in printed
    place = printed.index("10. [✘ unproven] (absence) No deploy happened.")
    assert printed[place + 1] == "    Not even a small one."


def test_a_quote_can_be_found_in_the_log_as_it_stands_in_the_report() -> None:
    """Blanks are kept, tabs too; what would act on the terminal is written out."""
    quote = "# Query_time: 20.0  Lock_time:\t0.02   "
    printed = text(VIEW.model_copy(update={"claims": (citing(ok("a", "/x", quote), ok("a", "/y", "a\nb\x1b[2J")),)}))
    assert f"“{quote}”" in printed
    assert "“a\\nb\\x1b[2J”" in printed


def test_the_evidence_to_read_next_is_that_of_the_conclusion() -> None:
    """The first call of the last claim; of claims that hold."""
    claims = (citing(ok("a")), citing(ok("b"), ok("c")))
    assert text(VIEW.model_copy(update={"claims": claims})).endswith("casebound evidence 0199-run b")


def test_a_narrow_terminal_breaks_lines_between_words_but_never_a_quote() -> None:
    """The rest stands below the text; what is to be copied stays whole."""
    assert broken(Line("1. [✔ proven] It failed at noon.", hang=3), 24) == ["1. [✔ proven] It failed", "   at noon."]
    assert broken(Line("   “a very long quote of a log”"), 10) == ["   “a very long quote of a log”"]
    assert broken(Line(hang=3), 24) == [""]
    prose = Line("1. [✔ proven] It failed at noon,\n   and at night, and the cat sat\n   - on a mat.", hang=3)
    assert broken(prose, 24) == [
        "1. [✔ proven] It failed",
        "   at noon, and at",
        "   night, and the cat",
        "   sat - on a mat.",
    ]
    assert broken(prose, 99) == prose.text.split("\n")
