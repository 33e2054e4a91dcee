r"""Jinja2's grammar with plain strings: a backslash in a string literal is a backslash.

Above: `expressions` parses with it. Below: Jinja2's lexer, which would read `'\bfoo'` as a
backspace and warn of `'\['`; patterns are what runbooks hold in strings. Only `\'` and `\"`
stand for the quote, since nothing else could write it, and `\n`, `\r`, `\t` for what they are
everywhere, in RE2 too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from jinja2 import Environment
from jinja2.lexer import Lexer, Token

_PLAIN_BACKSLASH = re.compile(r"\\(?!['\"nrt])")


class Grammar(Environment):
    """An environment that parses; nothing is ever rendered with it."""

    @property
    def lexer(self) -> Lexer:
        """The lexer with plain strings."""
        return _lexer(self)


class PlainStrings(Lexer):
    """Hands string literals on with their backslashes doubled, so that Jinja2's unescaping gives them back."""

    def wrap(
        self, stream: Iterable[tuple[int, str, str]], name: str | None = None, filename: str | None = None
    ) -> Iterator[Token]:
        """See `Lexer.wrap`."""
        return super().wrap(map(_plain, stream), name, filename)


@lru_cache(maxsize=1)
def _lexer(grammar: Grammar) -> PlainStrings:
    return PlainStrings(grammar)


def _plain(token: tuple[int, str, str]) -> tuple[int, str, str]:
    line, kind, text = token
    if kind != "string":
        return token
    return line, kind, text[0] + _PLAIN_BACKSLASH.sub(r"\\\\", text[1:-1]) + text[-1]
