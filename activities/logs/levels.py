"""Levels of severity, from the words logs write them with.

Above: `source` checks a declared mapping, `lines` reads levels, `requests` names them. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

LEVELS = ("trace", "debug", "info", "notice", "warning", "error", "critical")
"""From the least severe to the most severe; a line has one of these, whatever word it is written with."""

_WORDS = {
    "trace": "trace trc finest finer verbose t",
    "debug": "debug dbg fine d",
    "info": "info information informational inf log i",
    "notice": "notice note n",
    "warning": "warning warn wrn w",
    "error": "error err severe e",
    "critical": "critical crit fatal panic alert emerg emergency c f",
}
_RANKS = {word: LEVELS.index(level) for level, words in _WORDS.items() for word in words.split()}


class Levels:
    """Ranks of the words of one log."""

    def __init__(self, declared: Mapping[str, str]) -> None:
        """Take the usual words, and what a source declares of its own, such as `{"30": "info"}`."""
        self._ranks = _RANKS | {word.lower(): LEVELS.index(level) for word, level in declared.items()}

    def rank(self, word: bytes) -> int | None:
        """Place of the word's level in `LEVELS`, in any case of letters; None: nobody knows it."""
        return self._ranks.get(word.decode(errors="replace").strip().lower())
