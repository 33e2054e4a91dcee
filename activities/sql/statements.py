"""Turns the text an agent wrote into the one statement that is sent, or refuses it; needs no connection.

Above: `query` checks and executes with `prepare`. Below: `lexing` (tokens), `trees` (queries), `shows` (SHOW,
DESCRIBE).
"""

from __future__ import annotations

from dataclasses import dataclass

from activities.sql.lexing import Dialect, Token, normal_text, tokens
from activities.sql.refusals import not_read_only, not_understood
from activities.sql.shows import describe_statement, show_statement
from activities.sql.trees import Query

_QUERY_WORDS = ("SELECT", "WITH", "VALUES")
_TAKEN = "only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE and EXPLAIN are taken"

_EXPLAIN_FORMATS = ("TEXT", "JSON", "XML", "YAML", "TRADITIONAL", "TREE")
_EXPLAIN_OPTIONS = ("VERBOSE", "COSTS", "SETTINGS", "FORMAT", "SUMMARY")
_EXPLAIN_VALUES = ("TRUE", "FALSE", "ON", "OFF", *_EXPLAIN_FORMATS)

_INSTEAD = {
    "PRAGMA": "PRAGMA is refused: use describe_database, or SELECT * FROM pragma_table_info('t')",
    "ATTACH": "ATTACH is refused: each source is one database",
    "COPY": "COPY is refused: use SELECT, the rows are the result",
    "SET": "SET is refused: the session's settings are the tool's; read them with SHOW VARIABLES or SHOW name",
    "ANALYZE": "ANALYZE runs the statement and is refused: use EXPLAIN",
    "CALL": "CALL is refused: read what the procedure reads with SELECT",
    "DO": "DO is refused: use SELECT",
    "USE": "USE is refused: write the schema before the table's name, as in other_schema.table_name",
}


@dataclass(frozen=True)
class Statement:
    """What to send."""

    sql: str


def prepare(text: str, dialect: Dialect, schema: str | None = None, cap: int | None = None) -> Statement:
    """Judge the text and write the statement to send, its rows limited to `cap` where that can be written.

    Args:
        text: what the agent wrote.
        dialect: how the source's server reads SQL.
        schema: the database of the connection, where tables without a schema are (MySQL).
        cap: most rows to ask the server for.

    Raises:
        ToolFailure: NOT_READ_ONLY or INVALID_ARGUMENTS, with what to write instead.
    """
    found = tokens(text, dialect)
    while found and found[-1].kind in ("blank", "semicolon"):
        found.pop()
    if any(token.kind == "semicolon" for token in found):
        raise not_read_only("more than one statement is refused: ask for each with a call of its own")
    words = [token for token in found if token.kind != "blank"]
    if not words:
        raise not_understood("the statement is empty")
    return Statement(_statement(words, found, dialect, schema, cap))


def _statement(words: list[Token], found: list[Token], dialect: Dialect, schema: str | None, cap: int | None) -> str:
    first = words[0]
    if first.is_word(*_QUERY_WORDS) or first == Token("operator", "("):
        return Query(normal_text(found, dialect), dialect, schema, cap).sql
    if first.is_word("TABLE"):
        return _table(words, dialect, schema, cap)
    if first.is_word("SHOW"):
        return show_statement(words, dialect, schema)
    if first.is_word("EXPLAIN", "DESCRIBE", "DESC"):
        return _explain(words, found, dialect, schema)
    name = first.text.upper()
    raise not_read_only(_INSTEAD.get(name, f"{name[:40]} is refused: {_TAKEN}"))


def _table(words: list[Token], dialect: Dialect, schema: str | None, cap: int | None) -> str:
    rest = [Token("word", "SELECT"), Token("operator", "*"), Token("word", "FROM"), *words[1:]]
    return Query(_spaced(rest, dialect), dialect, schema, cap).sql


def _explain(words: list[Token], found: list[Token], dialect: Dialect, schema: str | None) -> str:
    if any(word.is_word("ANALYZE", "ANALYSE") for word in words[1:6]) and not words[1].is_word(*_QUERY_WORDS):
        raise not_read_only("EXPLAIN ANALYZE runs the statement and is refused: use EXPLAIN without ANALYZE")
    start = _query_start(words)
    if start is None:
        return describe_statement(words, dialect)
    options = _options(words[1:start], dialect)
    query = Query(normal_text(found[_position(found, words[start]) :], dialect), dialect, schema).sql
    return f"EXPLAIN {options}{query}"


def _query_start(words: list[Token]) -> int | None:
    """Where the explained query begins: its first word, or the bracket before it."""
    for place, word in enumerate(words):
        if place and (word.is_word("SELECT", "WITH") or (word.is_word("VALUES") and place <= 2)):
            while words[place - 1] == Token("operator", "("):
                place -= 1
            return place
    return None


def _position(found: list[Token], word: Token) -> int:
    return next(place for place, token in enumerate(found) if token is word)


def _options(words: list[Token], dialect: Dialect) -> str:
    """Check what stands between EXPLAIN and the query, and write it anew."""
    texts = [word.text.upper() for word in words]
    if not texts:
        return ""
    if dialect == "sqlite" and texts == ["QUERY", "PLAN"]:
        return "QUERY PLAN "
    if dialect == "mysql" and texts in (["EXTENDED"], ["PARTITIONS"]):
        return f"{texts[0]} "
    if dialect == "mysql" and len(texts) == 3 and texts[:2] == ["FORMAT", "="] and texts[2] in _EXPLAIN_FORMATS:
        return f"FORMAT={texts[2]} "
    if dialect == "postgres" and texts == ["VERBOSE"]:
        return "VERBOSE "
    if dialect == "postgres" and texts[0] == "(" and texts[-1] == ")" and _pairs(texts[1:-1]):
        return f"({' '.join(texts[1:-1])}) "
    raise not_read_only(f"EXPLAIN {' '.join(texts)[:60]} is refused: write EXPLAIN before a SELECT, without options")


def _pairs(texts: list[str]) -> bool:
    for option in " ".join(texts).split(","):
        name, _, value = option.strip().partition(" ")
        if name not in _EXPLAIN_OPTIONS or (value and value not in _EXPLAIN_VALUES):
            return False
    return True


def _spaced(words: list[Token], dialect: Dialect) -> str:
    blank = Token("blank", " ")
    return normal_text([part for word in words for part in (word, blank)], dialect)
