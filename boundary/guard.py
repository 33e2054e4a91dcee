"""EvidenceGuard: checks every citation of a report against the records it names.

Above: the report-check activity gives the report, and the digest of each admitted call's record
as the run's history saw it. Below: a reader of records and `quotes`. It proves that the
quoted evidence exists in this run, unchanged; it does not judge whether it entails the claim.
It writes nothing and changes no text of the report.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from boundary.contracts import EvidenceStatus, InvocationStatus, shorten
from boundary.ids import is_tool_call_id
from boundary.quotes import NotFound, Quotable
from boundary.report import CheckedCitation, CheckedClaim, Citation, CitationStatus, Claim, Report, Standing
from boundary.strict_json import NotJson

MAX_FAULTS = 50
"""Faults named to the repair turn; they stand in the history."""

SHOWN_MAX_BYTES = 256 * 1024
"""Of the scalars shown for citations that have a pointer only; a checked report has to fit Temporal's 2 MiB."""

FAULT_MAX = 300
"""Characters of one fault."""

RECORDS_AT_ONCE = 16
"""Records held in memory together; each may have an agent result of 256 KiB."""


@dataclass(frozen=True)
class EvidenceRecord:
    """What the guard needs of a stored record."""

    run_id: str
    status: InvocationStatus
    evidence_status: EvidenceStatus
    record_sha256: str
    """Hex digest of the stored `record` field."""
    agent_result: bytes | None
    agent_result_sha256: str | None
    """As the record says; the guard compares it with the bytes."""


class EvidenceReader(Protocol):
    """Where records come from."""

    async def read(self, run_id: str, tool_call_ids: Sequence[str], *, now_ms: int) -> Mapping[str, EvidenceRecord]:
        """Return the records that are there; expired ones, and those that never were, are left out."""
        ...


@dataclass(frozen=True)
class CheckedClaims:
    """A report after the check."""

    claims: tuple[CheckedClaim, ...]
    faults: tuple[str, ...]
    """What a repair turn should mend, at most `MAX_FAULTS`."""


class _Place(NamedTuple):
    """Where a citation stands in the report, from 0."""

    claim: int
    citation: int


class _Word(NamedTuple):
    """The guard's word on one citation."""

    status: CitationStatus
    fault: str = ""
    quote: str | None = None
    """Text of the scalar at the pointer, where the citation has no quote of its own."""
    empty: bool = False
    """The record says that nothing was found."""


_UNKNOWN = _Word(CitationStatus.UNKNOWN_CALL, "no admitted call of this run has the id: cite one that has")
_EXPIRED = _Word(CitationStatus.EXPIRED, "its record is not there any more: cite another call")
_OTHER_RUN = _Word(CitationStatus.RUN_MISMATCH, "its record belongs to another run: cite a call of this one")
_UNSETTLED = _Word(CitationStatus.NOT_READY, "the call never settled, it proves nothing: cite another call")
_FAILED = _Word(CitationStatus.NOT_READY, "the call failed, it proves nothing: cite another call")
_CHANGED = _Word(CitationStatus.DIGEST_MISMATCH, "its record is not the one this run saw: cite another call")
_EMPTY = _Word(CitationStatus.NO_EVIDENCE, "the call found nothing: only a claim of kind absence may cite it")


class EvidenceGuard:
    """Checks reports; holds nothing between two checks."""

    def __init__(self, reader: EvidenceReader) -> None:
        self._reader = reader

    async def check(self, run_id: str, report: Report, seen: Mapping[str, str | None], *, now_ms: int) -> CheckedClaims:
        """Check every citation; each record is read and parsed once, however often it is cited.

        `seen` holds the admitted calls among those cited, each with the digest of its `record` field as
        the history saw it; None: the history saw no settlement.

        Raises:
            StoreUnavailable: the reader could not read.
        """
        words = dict.fromkeys(_places(report), _UNKNOWN)
        known = _by_call(report, seen)
        ids = list(known)
        for first in range(0, len(ids), RECORDS_AT_ONCE):
            some = ids[first : first + RECORDS_AT_ONCE]
            records = await self._reader.read(run_id, some, now_ms=now_ms)
            for call_id in some:
                check = _RecordCheck(run_id, seen[call_id], records.get(call_id))
                for place in known[call_id]:
                    claim = report.claims[place.claim]
                    words[place] = check.word(claim, claim.citations[place.citation])
        _bound_shown(words)
        claims = tuple(_checked(claim, index, words) for index, claim in enumerate(report.claims))
        return CheckedClaims(claims, _bounded(list(_faults(report, words))))


class _RecordCheck:
    """Decides the citations of one record; parses its agent result when first needed."""

    def __init__(self, run_id: str, seen_sha256: str | None, record: EvidenceRecord | None) -> None:
        self._record = record
        self._refusal = _record_word(run_id, seen_sha256, record)
        self._quotable: Quotable | None = None

    def word(self, claim: Claim, citation: Citation) -> _Word:
        """Decide one citation."""
        if self._refusal is not None or self._record is None or self._record.agent_result is None:
            return self._refusal or _CHANGED
        empty = self._record.evidence_status is EvidenceStatus.NO_EVIDENCE
        if empty and claim.kind != "absence":
            return _EMPTY
        try:
            self._quotable = self._quotable or Quotable(self._record.agent_result)
        except NotJson:
            return _CHANGED
        found = self._quotable.find(citation.pointer, citation.quote)
        if isinstance(found, NotFound):
            return _Word(CitationStatus.QUOTE_NOT_FOUND, found.reason)
        return _Word(CitationStatus.OK, quote=found.scalar, empty=empty)


def _record_word(run_id: str, seen_sha256: str | None, record: EvidenceRecord | None) -> _Word | None:
    """Refuse a record that cannot be cited at all.

    Where the history saw a digest, a record that differs from it is DIGEST_MISMATCH, whatever
    its status says now: the status of a record that was never seen is no evidence either.
    """
    if record is None:
        return _EXPIRED
    if record.run_id != run_id:
        return _OTHER_RUN
    if seen_sha256 is None:
        return _UNSETTLED
    if record.record_sha256 != seen_sha256:
        return _CHANGED
    if record.status is not InvocationStatus.READY:
        return _FAILED
    if record.agent_result is None or _sha256(record.agent_result) != record.agent_result_sha256:
        return _CHANGED
    return None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _places(report: Report) -> Iterator[_Place]:
    for index, claim in enumerate(report.claims):
        for number in range(len(claim.citations)):
            yield _Place(index, number)


def _by_call(report: Report, seen: Mapping[str, str | None]) -> dict[str, list[_Place]]:
    """Group the citations of admitted calls by call, in the order of the first mention."""
    grouped: dict[str, list[_Place]] = {}
    for place in _places(report):
        call_id = report.claims[place.claim].citations[place.citation].tool_call_id
        if call_id in seen:
            grouped.setdefault(call_id, []).append(place)
    return grouped


def _bound_shown(words: dict[_Place, _Word]) -> None:
    """Keep the scalars shown for pointers within `SHOWN_MAX_BYTES`; a later citation goes without."""
    left = SHOWN_MAX_BYTES
    for place, word in words.items():
        left -= len(json.dumps(word.quote)) if word.quote is not None else 0
        if left < 0 and word.quote is not None:
            words[place] = word._replace(quote=None)


def _checked(claim: Claim, index: int, words: Mapping[_Place, _Word]) -> CheckedClaim:
    own = [words[_Place(index, number)] for number in range(len(claim.citations))]
    citations = tuple(
        CheckedCitation(
            tool_call_id=citation.tool_call_id,
            pointer=citation.pointer,
            quote=word.quote if citation.quote is None else citation.quote,
            status=word.status,
        )
        for citation, word in zip(claim.citations, own, strict=True)
    )
    return CheckedClaim(text=claim.text, kind=claim.kind, standing=_standing(claim, own), citations=citations)


def _standing(claim: Claim, words: Sequence[_Word]) -> Standing:
    """Proven needs a place for each citation; that nothing was found has none, and needs none."""
    if not words or any(word.status is not CitationStatus.OK for word in words):
        return Standing.UNPROVEN
    placed = (
        citation.pointer is not None or citation.quote is not None or word.empty
        for citation, word in zip(claim.citations, words, strict=True)
    )
    return Standing.PROVEN if all(placed) else Standing.CITED


def _faults(report: Report, words: Mapping[_Place, _Word]) -> Iterator[str]:
    for index, claim in enumerate(report.claims):
        if not claim.citations:
            yield f"claim {index + 1}: it has no citation: cite the tool call it rests on, or leave it out"
        for number, citation in enumerate(claim.citations):
            word = words[_Place(index, number)]
            if word.status is not CitationStatus.OK:
                call = _shown_id(citation.tool_call_id)
                fault = f"claim {index + 1}, citation {number + 1} ({call}): {word.status}: {word.fault}"
                yield shorten(fault, FAULT_MAX)


def _shown_id(tool_call_id: str) -> str:
    short = shorten(tool_call_id, 80)
    return short if is_tool_call_id(tool_call_id) else repr(short)


def _bounded(faults: list[str]) -> tuple[str, ...]:
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    more = len(faults) - MAX_FAULTS + 1
    return (*faults[: MAX_FAULTS - 1], f"and {more} more faults of the same kinds")
