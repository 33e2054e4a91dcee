"""Cuts a statement's raw text into tokens as its server would, before any parser sees it.

Above: `statements` refuses by tokens and hands the `normal_text` to the parser: no comments, string literals with
doubled quotes only, quoted identifiers in the dialect's own quotes. Below: nothing. A parser that drops comments,
or reads a backslash otherwise than the server, never gets to see one. Not here: grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from activities.sql.refusals import not_read_only, not_understood

Dialect = Literal["mysql", "postgres", "sqlite"]
"""How a server reads SQL; `mysql` stands for MariaDB, too."""

Kind = Literal["blank", "word", "identifier", "string", "number", "operator", "semicolon"]

NESTING_MAX = 40
"""Brackets within brackets."""

STATEMENT_MAX = 16 * 1024
"""Bytes of a statement in UTF-8."""


@dataclass(frozen=True)
class Token:
    """One token; identifiers and strings without quotes and escapes."""

    kind: Kind
    text: str

    def is_word(self, *words: str) -> bool:
        """Tell whether it is one of the words, written in capitals."""
        return self.kind == "word" and self.text.upper() in words


_NUMBER = r"(?P<number>0[xX][0-9A-Fa-f]+|0b[01]+|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?)"
_WORD = r"(?P<word>[^\W\d][\w$]*+)"
_BLANK = r"(?P<blank>[ \t\r\n\f\v]++)"
_SINGLE = r"'(?:[^']|'')*+'"

_GRAMMARS: dict[Dialect, re.Pattern[str]] = {
    # `--` begins a comment only before a blank; `1--1` is a subtraction.
    "mysql": re.compile(
        rf"{_BLANK}|(?P<line>\#[^\n]*+|--(?=[\x00-\x20]|\Z)[^\n]*+)|(?P<block>/\*)"
        r"|(?P<string>'(?:[^'\\]|''|\\.)*+'|\"(?:[^\"\\]|\"\"|\\.)*+\")"
        rf"|(?P<identifier>`(?:[^`]|``)++`)|{_NUMBER}|{_WORD}"
        r"|(?P<semicolon>;)|(?P<operator>[-+*/%=<>!~^&|.,():@])",
        re.DOTALL,
    ),
    "postgres": re.compile(
        rf"{_BLANK}|(?P<line>--[^\n\r]*+)|(?P<block>/\*)"
        rf"|(?P<string>[eE]'(?:[^'\\]|''|\\.)*+'|{_SINGLE}|\$(?P<tag>(?:[^\W\d]\w*+)?)\$.*?\$(?P=tag)\$)"
        rf"|(?P<identifier>\"(?:[^\"]|\"\")++\")|{_NUMBER}|{_WORD}"
        r"|(?P<semicolon>;)|(?P<operator>[-+*/%=<>!~^&|.,():@?#\[\]])",
        re.DOTALL,
    ),
    "sqlite": re.compile(
        rf"{_BLANK}|(?P<line>--[^\n]*+)|(?P<block>/\*)|(?P<string>{_SINGLE})"
        rf"|(?P<identifier>\"(?:[^\"]|\"\")++\"|`(?:[^`]|``)++`|\[[^\]]++\])|{_NUMBER}|{_WORD}"
        r"|(?P<semicolon>;)|(?P<operator>[-+*/%=<>!~&|.,()])",
        re.DOTALL,
    ),
}

_INTERVAL_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")

_MYSQL_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_POSTGRES_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_POSTGRES_ESCAPE = re.compile(
    r"''|\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<u4>[0-9A-Fa-f]{4})|U(?P<u8>[0-9A-Fa-f]{8})|(?P<other>.))",
    re.DOTALL,
)


def tokens(text: str, dialect: Dialect, *, bounded: bool = True) -> list[Token]:
    """Cut the text; a comment is a blank, or a line break where it held one; `bounded` texts have a largest size.

    Raises:
        ToolFailure: too long, a character or quote that no server would take, or an executable comment.
    """
    if bounded and len(text.encode("utf-8", "replace")) > STATEMENT_MAX:
        raise not_understood(f"the statement has over {STATEMENT_MAX} bytes: ask for less in one statement")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise not_understood("the statement holds half a character (U+D800 to U+DFFF): write the whole of it")
    if "\0" in text:
        raise not_understood("the statement holds a NUL character: leave it out")
    found: list[Token] = []
    place = 0
    while place < len(text):
        match = _GRAMMARS[dialect].match(text, place)
        if match is None:
            raise not_understood(_stray(text, place))
        kind = match.lastgroup if match.lastgroup != "tag" else "string"
        place = match.end() if kind != "block" else _comment_end(text, place, nested=dialect == "postgres")
        found.append(_token(kind, match, text[match.start() : place], dialect))
    _check_tokens(found, dialect)
    return found


def normal_text(found: Sequence[Token], dialect: Dialect) -> str:
    """Write tokens so that every dialect's reader takes them the same way."""
    parts: list[str] = []
    before = Token("blank", " ")
    for token in _plain_intervals(found) if dialect == "postgres" else found:
        if token.kind == before.kind == "operator" and before.text + token.text in ("--", "/*"):
            parts.append(" ")
        parts.append(_write(token, dialect))
        before = token
    return "".join(parts)


def _plain_intervals(found: Sequence[Token]) -> list[Token]:
    """Write `interval 'text'` as a cast, which every reader leaves alone; one with a unit after it stays."""
    result = list(found)
    for place in range(len(result) - 1, -1, -1):
        if not result[place].is_word("INTERVAL"):
            continue
        text = _after_blanks(result, place + 1)
        unit = _after_blanks(result, text + 1)
        if text >= len(result) or result[text].kind != "string":
            continue
        if unit >= len(result) or not result[unit].is_word(*_INTERVAL_UNITS):
            cast = [result[text], Token("operator", ":"), Token("operator", ":"), result[place]]
            result[place : text + 1] = cast
    return result


def _after_blanks(found: Sequence[Token], place: int) -> int:
    while place < len(found) and found[place].kind == "blank":
        place += 1
    return place


def _write(token: Token, dialect: Dialect) -> str:
    if token.kind == "string":
        text = token.text.replace("'", "''")
        return f"'{text.replace(chr(92), chr(92) * 2) if dialect == 'mysql' else text}'"
    if token.kind == "identifier":
        quote = "`" if dialect == "mysql" else '"'
        return f"{quote}{token.text.replace(quote, quote * 2)}{quote}"
    return token.text


def _token(kind: str | None, match: re.Match[str], text: str, dialect: Dialect) -> Token:
    if kind in ("line", "block"):
        return Token("blank", "\n" if "\n" in text or kind == "line" else " ")
    if kind == "string":
        return Token("string", _UNQUOTE[dialect](text))
    if kind == "identifier":
        inner, quote = text[1:-1], text[0]
        return Token("identifier", inner if quote == "[" else inner.replace(quote * 2, quote))
    if kind in ("blank", "word", "number", "operator", "semicolon"):
        return Token(kind, text)
    raise AssertionError(f"unknown group {kind!r} at {match.start()}")


def _comment_end(text: str, start: int, *, nested: bool) -> int:
    """Find where the comment at `start` ends; refuse one that a server would execute."""
    if re.compile(r"/\*M?!").match(text, start):
        raise not_read_only("executable comments (/*! ... */) are refused: write the statement without them")
    depth, place = 1, start + 2
    for mark in re.compile(r"/\*|\*/").finditer(text, place):
        if mark.start() < place:
            continue
        if mark.group() == "*/":
            depth -= 1
        elif nested:
            depth += 1
        if depth == 0:
            return mark.end()
    raise not_understood("a comment /* has no end: close it with */ or leave it out")


def _check_tokens(found: Sequence[Token], dialect: Dialect) -> None:
    depth = 0
    for before, token in zip([Token("blank", " "), *found], found, strict=False):
        if token.kind == "operator":
            depth += (token.text in "([") - (token.text in ")]")
            if depth > NESTING_MAX:
                raise not_understood(f"brackets are nested over {NESTING_MAX} deep: write it flatter")
        if before.kind == "number" and token.kind in ("word", "number"):
            raise not_understood(f"put a blank between {before.text!r} and {token.text!r}")
        if dialect == "postgres" and before.is_word("U") and token == Token("operator", "&"):
            raise not_understood("U& strings are not read: write the characters themselves")


def _stray(text: str, place: int) -> str:
    character = text[place]
    if character in "'\"`[":
        return f"the quote {character} at character {place + 1} has no end: close it, double it inside a literal"
    if character == "$":
        return "parameters such as $1 have no values here: write the values into the statement"
    if character in "?:@":
        return f"{character} at character {place + 1}: parameters have no values here, write them into the statement"
    if not character.isascii():
        return f"character {place + 1} is {character!r} (U+{ord(character):04X}): outside quotes write ASCII"
    return f"character {place + 1} is {character!r}, which begins nothing in this dialect"


def _mysql_string(text: str) -> str:
    quote, inner = text[0], text[1:-1]

    def plain(match: re.Match[str]) -> str:
        escaped = match.group(1)
        return quote if escaped is None else _MYSQL_ESCAPES.get(escaped, escaped)

    return re.sub(rf"{quote}{quote}|\\(.)", plain, inner, flags=re.DOTALL)


def _postgres_string(text: str) -> str:
    if text[0] == "$":
        return text[(mark := text.index("$", 1) + 1) : -mark]
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    return _POSTGRES_ESCAPE.sub(_postgres_escape, text[2:-1])


def _postgres_escape(match: re.Match[str]) -> str:
    code = match["octal"] or match["hex"] or match["u4"] or match["u8"]
    if code is None:
        other: str | None = match["other"]
        return "'" if other is None else _POSTGRES_ESCAPES.get(other, other)
    number = int(code, 8 if match["octal"] else 16)
    if not 0 < number < (0x80 if match["octal"] or match["hex"] else 0x110000) or 0xD800 <= number < 0xE000:
        raise not_understood(f"{match.group()} in a string: write the character itself")
    return chr(number)


def _sqlite_string(text: str) -> str:
    return text[1:-1].replace("''", "'")


_UNQUOTE: dict[Dialect, Callable[[str], str]] = {
    "mysql": _mysql_string,
    "postgres": _postgres_string,
    "sqlite": _sqlite_string,
}
