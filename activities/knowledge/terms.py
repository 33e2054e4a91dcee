"""Turns text into index terms and any query text into a safe FTS5 expression.

Above: `index`. Below: nothing. Text is folded (NFKC, case); a Chinese character, kana or hangul
syllable is a term of its own, because FTS5 does not split such runs; a run in a query becomes
phrases of two characters each. Only letters and digits get into an expression, always quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

MAX_QUERY_TERMS = 64
"""Different words or pairs of characters of a query that are looked for; the rest is counted."""

_CJK = (
    r"\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_EITHER = "\n"
_CHUNK = re.compile(rf"[^\s{_CJK}]+|[{_CJK}]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FILLER = re.compile("怎么办|怎么样|怎么|怎样|如何|为什么|什么|是否|吗|呢|请问|应该|可以|需要|我们|的|了")
_STOP = re.compile(
    r"a|an|and|are|as|at|be|been|but|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|into|is|it"
    r"|its|me|my|of|on|or|our|should|so|that|the|their|then|there|this|to|was|we|were|what|when|where|which"
    r"|who|why|will|with|would|you|your"
)


@dataclass(frozen=True)
class Query:
    """FTS5 expressions of a query."""

    any: str
    """Matches passages with at least one term."""
    all: str
    """Matches passages with all terms."""
    ignored: int
    """Terms beyond `MAX_QUERY_TERMS`."""


def index_terms(text: str) -> str:
    """Return the text's terms, separated by blanks; a word in camel case is followed by its parts."""
    return " ".join(_terms(unicodedata.normalize("NFKC", text)))


def compile_query(text: str) -> Query | None:
    """Compile any text; None: it holds no letter or digit."""
    folded = unicodedata.normalize("NFKC", text)
    phrases = list(dict.fromkeys(_phrases(_FILLER.sub(" ", folded)))) or list(dict.fromkeys(_phrases(folded)))
    telling = [phrase for phrase in phrases if _STOP.fullmatch(phrase) is None] or phrases
    if not telling:
        return None
    kept = [_expression(phrase) for phrase in telling[:MAX_QUERY_TERMS]]
    return Query(" OR ".join(kept), " AND ".join(kept), len(telling) - len(kept))


def _terms(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if _IS_CJK.match(run):
            yield from run
            continue
        yield run.casefold()
        parts = _CAMEL.findall(run)
        if len(parts) > 1:
            yield from (part.casefold() for part in parts)


def _expression(phrase: str) -> str:
    quoted = [f'"{part}"' for part in phrase.split(_EITHER)]
    return f"({' OR '.join(quoted)})"


def _phrases(text: str) -> Iterator[str]:
    for chunk in _CHUNK.findall(text):
        if _IS_CJK.match(chunk):
            pairs = [f"{first} {second}" for first, second in pairwise(chunk)]
            yield from pairs or [chunk]
            continue
        runs = [run.casefold() for run in _RUN.findall(chunk)]
        if len(runs) > 1:
            yield _EITHER.join((" ".join(runs[:MAX_QUERY_TERMS]), " ".join(islice(_terms(chunk), MAX_QUERY_TERMS))))
        for run in _RUN.findall(chunk):
            parts = _CAMEL.findall(run)
            yield run.casefold() if len(parts) < 2 else _EITHER.join((run, " ".join(parts))).casefold()
