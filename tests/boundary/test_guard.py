"""EvidenceGuard: each word it can say on a citation, how well a claim stands, what a repair turn is told."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundary.contracts import EvidenceStatus, InvocationStatus, JsonValue
from boundary.guard import FAULT_MAX, MAX_FAULTS, RECORDS_AT_ONCE, CheckedClaims, EvidenceGuard, EvidenceRecord
from boundary.report import Citation, CitationStatus, Claim, Report, Standing
from boundary.strict_json import dump

RUN = "run-1"
NOW = 1_700_000_000_000
LINES = {"lines": ["Failed password for root from 1.2.3.4"], "total": 286}


def sha256(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


def ready(result: JsonValue = LINES, evidence: EvidenceStatus = EvidenceStatus.EVIDENCE_FOUND) -> EvidenceRecord:
    """A READY record with that agent result."""
    body = dump(result)
    return EvidenceRecord(RUN, InvocationStatus.READY, evidence, sha256(b"record" + body), body, sha256(body))


FOUND = ready()
EMPTY = ready({"lines": [], "searched": "auth.log from 06:00 to 07:00"}, EvidenceStatus.NO_EVIDENCE)
FAILED = EvidenceRecord(RUN, InvocationStatus.ERROR, EvidenceStatus.ERROR, sha256(b"error"), None, None)
RUNNING = EvidenceRecord(RUN, InvocationStatus.PROJECTING, EvidenceStatus.UNKNOWN, sha256(b"open"), None, None)


@dataclass
class Shelf:
    """Records by id; notes what was read, in which portions and for when."""

    records: dict[str, EvidenceRecord]
    reads: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    async def read(self, run_id: str, tool_call_ids: Sequence[str], *, now_ms: int) -> Mapping[str, EvidenceRecord]:
        assert (run_id, now_ms) == (RUN, NOW)
        self.reads.append(tuple(tool_call_ids))
        return {call_id: self.records[call_id] for call_id in tool_call_ids if call_id in self.records}


async def check(
    *claims: Claim, records: dict[str, EvidenceRecord] | None = None, seen: dict[str, str | None] | None = None
) -> CheckedClaims:
    """Check claims; unless said otherwise the history saw every record as it is."""
    shelf = Shelf({"call_1": FOUND} if records is None else records)
    if seen is None:
        seen = {call_id: record.record_sha256 for call_id, record in shelf.records.items()}
    return await EvidenceGuard(shelf).check(RUN, Report(claims=claims), seen, now_ms=NOW)


def finding(*citations: Citation) -> Claim:
    """A claim that something was found."""
    return Claim(text="Someone guesses root's password.", citations=citations)


def absence(*citations: Citation) -> Claim:
    """A claim that something was not found."""
    return Claim(text="Nobody logged in.", kind="absence", citations=citations)


def cite(call_id: str = "call_1", pointer: str | None = None, quote: str | None = None) -> Citation:
    """A citation."""
    return Citation(tool_call_id=call_id, pointer=pointer, quote=quote)


def only(checked: CheckedClaims) -> tuple[CitationStatus, Standing]:
    """Status and standing of a report with one claim and one citation."""
    claim = checked.claims[0]
    return claim.citations[0].status, claim.standing


@pytest.mark.parametrize(
    ("pointer", "quote"),
    [(None, "Failed password"), ("/total", "286"), ("/lines/0", "Failed password"), ("/total", None), ("/lines", None)],
)
async def test_a_citation_that_holds_and_says_where_proves_its_claim(pointer: str | None, quote: str | None) -> None:
    """By quote, by pointer or by both."""
    checked = await check(finding(cite(pointer=pointer, quote=quote)))
    assert only(checked) == (CitationStatus.OK, Standing.PROVEN)
    assert checked.faults == ()


async def test_a_citation_without_quote_or_pointer_never_proves() -> None:
    """It holds, but nobody can say what it shows: cited, whatever stands beside it."""
    assert only(await check(finding(cite()))) == (CitationStatus.OK, Standing.CITED)
    assert only(await check(absence(cite()))) == (CitationStatus.OK, Standing.CITED)
    both = await check(finding(cite(quote="Failed password"), cite()))
    assert both.claims[0].standing is Standing.CITED


async def test_a_claim_without_citations_is_unproven() -> None:
    """And the repair turn is told."""
    checked = await check(finding())
    assert checked.claims[0].standing is Standing.UNPROVEN
    assert "claim 1: it has no citation" in checked.faults[0]


QUOTED = cite(quote="Failed password")


@dataclass(frozen=True)
class Case:
    """A citation that does not hold, and why."""

    status: CitationStatus
    record: EvidenceRecord | None = FOUND
    seen: dict[str, str | None] | None = None
    citation: Citation = QUOTED


CASES = {
    "not admitted": Case(CitationStatus.UNKNOWN_CALL, seen={}),
    "other id": Case(CitationStatus.UNKNOWN_CALL, citation=cite("call_2", quote="Failed password")),
    "gone": Case(CitationStatus.EXPIRED, None, {"call_1": FOUND.record_sha256}),
    "gone and never settled": Case(CitationStatus.EXPIRED, None, {"call_1": None}),
    "other run": Case(CitationStatus.RUN_MISMATCH, replace(FOUND, run_id="run-2")),
    "still projecting": Case(CitationStatus.NOT_READY, RUNNING, {"call_1": None}),
    "settled after the history looked": Case(CitationStatus.NOT_READY, FOUND, {"call_1": None}),
    "failed": Case(CitationStatus.NOT_READY, FAILED),
    "record changed": Case(
        CitationStatus.DIGEST_MISMATCH, replace(FOUND, record_sha256="0" * 64), {"call_1": "1" * 64}
    ),
    "record replaced by an error": Case(CitationStatus.DIGEST_MISMATCH, FAILED, {"call_1": FOUND.record_sha256}),
    "result changed": Case(
        CitationStatus.DIGEST_MISMATCH, replace(FOUND, agent_result=dump({"lines": ["Failed password"]}))
    ),
    "result lost": Case(CitationStatus.DIGEST_MISMATCH, replace(FOUND, agent_result=None)),
    "digest lost": Case(CitationStatus.DIGEST_MISMATCH, replace(FOUND, agent_result_sha256=None)),
    "result not JSON": Case(
        CitationStatus.DIGEST_MISMATCH, replace(FOUND, agent_result=b"{", agent_result_sha256=sha256(b"{"))
    ),
    "finding on nothing": Case(CitationStatus.NO_EVIDENCE, EMPTY, citation=cite(quote="auth.log from")),
    "no such quote": Case(CitationStatus.QUOTE_NOT_FOUND, citation=cite(quote="Accepted password")),
    "paraphrase": Case(CitationStatus.QUOTE_NOT_FOUND, citation=cite(quote="failed password for root")),
    "quote too short": Case(CitationStatus.QUOTE_NOT_FOUND, citation=cite(quote="Failed")),
    "no such place": Case(CitationStatus.QUOTE_NOT_FOUND, citation=cite(pointer="/lines/7")),
    "whole document": Case(CitationStatus.QUOTE_NOT_FOUND, citation=cite(pointer="")),
    "quote elsewhere": Case(CitationStatus.QUOTE_NOT_FOUND, citation=cite(pointer="/total", quote="Failed password")),
}


@pytest.mark.proves("FIELD-INVENTED-SOURCES")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_citation_that_does_not_hold_leaves_its_claim_unproven(case: Case) -> None:
    """Each reason has its own status, and the repair turn is told which."""
    records = {} if case.record is None else {"call_1": case.record}
    checked = await check(finding(case.citation), records=records, seen=case.seen)
    assert only(checked) == (case.status, Standing.UNPROVEN)
    assert checked.faults[0].startswith(f"claim 1, citation 1 ({case.citation.tool_call_id}): {case.status}: ")


def test_every_status_has_a_case() -> None:
    """A new status needs a test."""
    assert {case.status for case in CASES.values()} | {CitationStatus.OK} == set(CitationStatus)


async def test_one_citation_that_does_not_hold_spoils_the_claim() -> None:
    """However good the others are."""
    checked = await check(finding(cite(quote="Failed password"), cite("call_9", quote="Failed password")))
    assert [citation.status for citation in checked.claims[0].citations] == [
        CitationStatus.OK,
        CitationStatus.UNKNOWN_CALL,
    ]
    assert checked.claims[0].standing is Standing.UNPROVEN


@pytest.mark.parametrize(
    ("citation", "status", "standing"),
    [
        (cite(), CitationStatus.OK, Standing.PROVEN),
        (cite(quote="auth.log from"), CitationStatus.OK, Standing.PROVEN),
        (cite(pointer="/lines"), CitationStatus.OK, Standing.PROVEN),
        (cite(quote="not in the result"), CitationStatus.QUOTE_NOT_FOUND, Standing.UNPROVEN),
        (cite(pointer="/lines/0"), CitationStatus.QUOTE_NOT_FOUND, Standing.UNPROVEN),
    ],
)
async def test_an_absence_rests_on_a_call_that_found_nothing(
    citation: Citation, status: CitationStatus, standing: Standing
) -> None:
    """It needs no quote; one that is given must hold."""
    assert only(await check(absence(citation), records={"call_1": EMPTY})) == (status, standing)


@pytest.mark.proves("FIELD-CONFIDENT-WITHOUT-DATA")
async def test_an_absence_never_rests_on_a_call_that_failed() -> None:
    """No errors were found is not the same as could not look."""
    checked = await check(absence(cite()), records={"call_1": FAILED})
    assert only(checked) == (CitationStatus.NOT_READY, Standing.UNPROVEN)


@pytest.mark.parametrize(
    ("pointer", "quote", "shown"),
    [
        ("/total", None, "286"),
        ("/lines/0", None, "Failed password for root from 1.2.3.4"),
        ("/lines/0", "Failed password", "Failed password"),
        ("/lines", None, None),
        (None, None, None),
        ("/missing", None, None),
    ],
)
async def test_a_pointer_alone_is_published_with_the_scalar_it_leads_to(
    pointer: str | None, quote: str | None, shown: str | None
) -> None:
    """A reader of the report sees the evidence, not only its place; the planner's own quote is kept."""
    citation = (await check(finding(cite(pointer=pointer, quote=quote)))).claims[0].citations[0]
    assert (citation.pointer, citation.quote) == (pointer, shown)


async def test_the_report_comes_back_in_its_own_words_and_order() -> None:
    """The guard adds verdicts and changes nothing."""
    claims = (absence(cite("nope")), finding(cite(quote="Failed password"), cite()), finding())
    checked = await check(*claims)
    assert [(claim.text, claim.kind, len(claim.citations)) for claim in checked.claims] == [
        (claim.text, claim.kind, len(claim.citations)) for claim in claims
    ]


async def test_an_empty_report_has_no_faults() -> None:
    """Nothing is read for it."""
    shelf = Shelf({})
    assert await EvidenceGuard(shelf).check(RUN, Report(), {}, now_ms=NOW) == CheckedClaims((), ())
    assert shelf.reads == []


async def test_each_cited_record_is_read_once_and_no_other_ever() -> None:
    """In portions, in the order of the first mention; ids the run never admitted are not looked up."""
    names = [f"call_{index}" for index in range(RECORDS_AT_ONCE + 3)]
    shelf = Shelf(dict.fromkeys(names, FOUND))
    seen: dict[str, str | None] = dict.fromkeys([*names, "admitted_but_not_cited"], FOUND.record_sha256)
    claims = [finding(cite(name, quote="Failed password"), cite(name), cite("of:another run")) for name in names]
    checked = await EvidenceGuard(shelf).check(RUN, Report(claims=tuple(claims * 2)), seen, now_ms=NOW)
    assert shelf.reads == [tuple(names[:RECORDS_AT_ONCE]), tuple(names[RECORDS_AT_ONCE:])]
    assert {citation.status for claim in checked.claims for citation in claim.citations[:2]} == {CitationStatus.OK}


async def test_faults_are_bounded_in_number_and_length() -> None:
    """They stand in the history and in the next prompt."""
    worst = finding(*(cite("x" * 256, pointer="/" + "y" * 499) for _ in range(20)))
    checked = await check(*([worst] * 5))
    assert len(checked.faults) == MAX_FAULTS
    assert all(len(fault) <= FAULT_MAX for fault in checked.faults)
    assert "and 51 more" in checked.faults[-1]
    assert checked.faults[20].startswith("claim 2, citation 1 ")


async def test_a_fault_shows_an_illegal_id_escaped() -> None:
    """It is the planner's text, and may hold anything."""
    checked = await check(finding(cite("a\nb")))
    assert "('a\\nb')" in checked.faults[0]


citations = st.builds(
    Citation,
    tool_call_id=st.sampled_from(["found", "empty", "failed", "gone", "nope"]),
    pointer=st.sampled_from([None, None, "", "/lines", "/lines/0", "/total", "/searched"]),
    quote=st.sampled_from([None, None, "Failed password", "286", "auth.log from", "invented text"]),
)
reports = st.builds(
    Report,
    claims=st.lists(
        st.builds(
            Claim,
            text=st.just("c"),
            kind=st.sampled_from(["finding", "absence"]),
            citations=st.lists(citations, max_size=4).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
)


@given(reports)
async def test_a_claim_is_proven_only_by_evidence_anyone_can_look_up(report: Report) -> None:
    """For any report: proven means each citation holds and has its place, or nothing was found by it."""
    records = {"found": FOUND, "empty": EMPTY, "failed": FAILED}
    seen = {**{name: record.record_sha256 for name, record in records.items()}, "gone": "0" * 64}
    checked = await EvidenceGuard(Shelf(records)).check(RUN, report, seen, now_ms=NOW)
    for claim, result in zip(report.claims, checked.claims, strict=True):
        holds = [citation.status is CitationStatus.OK for citation in result.citations]
        placed = [
            citation.pointer is not None
            or citation.quote is not None
            or (claim.kind == "absence" and citation.tool_call_id == "empty")
            for citation in claim.citations
        ]
        assert (result.standing is Standing.PROVEN) == (bool(holds) and all(holds) and all(placed))
        assert (result.standing is Standing.UNPROVEN) == (not holds or not all(holds))
        for citation in result.citations:
            if citation.status is CitationStatus.OK:
                assert citation.tool_call_id == "found" or (citation.tool_call_id, claim.kind) == ("empty", "absence")
                assert citation.quote != "invented text"


@given(reports)
async def test_checking_a_checked_report_again_gives_the_same_answer(report: Report) -> None:
    """What is published can be checked by anyone who has the records."""
    records = {"found": FOUND, "empty": EMPTY, "failed": FAILED}
    seen: dict[str, str | None] = {name: record.record_sha256 for name, record in records.items()}
    guard = EvidenceGuard(Shelf(records))
    once = await guard.check(RUN, report, seen, now_ms=NOW)
    published = Report.model_validate({"claims": [claim.model_dump() for claim in once.claims]})
    assert await guard.check(RUN, published, seen, now_ms=NOW) == once
