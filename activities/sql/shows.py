"""SHOW and DESCRIBE: read against a list of their forms and written anew from the words and names found.

Above: `statements`. Below: `lexing`, and `trees` for a WHERE. What shows credentials (SHOW GRANTS, SHOW CREATE
USER) is not on the list.
"""

from __future__ import annotations

import re

from activities.sql.lexing import Dialect, Token, normal_text
from activities.sql.refusals import not_read_only, not_understood
from activities.sql.trees import Query

_NAME = r"N(?: \. N)?"
_FROM_SCHEMA = r"(?: (?:FROM|IN) N)?"
_SCOPE = r"(?:(?:GLOBAL|SESSION|LOCAL) )?"

# Over the statement's words: N stands for any name, S for a string. `filter`: LIKE or WHERE may follow.
_MYSQL_FORMS = [
    re.compile(form)
    for form in (
        rf"(?:FULL )?TABLES{_FROM_SCHEMA}(?P<filter>.*)",
        rf"TABLE STATUS{_FROM_SCHEMA}(?P<filter>.*)",
        rf"OPEN TABLES{_FROM_SCHEMA}(?P<filter>.*)",
        rf"(?:EXTENDED )?(?:FULL )?(?:COLUMNS|FIELDS) (?:FROM|IN) {_NAME}{_FROM_SCHEMA}(?P<filter>.*)",
        rf"(?:INDEX|INDEXES|KEYS) (?:FROM|IN) {_NAME}{_FROM_SCHEMA}(?P<filter>.*)",
        rf"CREATE (?:TABLE|VIEW|PROCEDURE|FUNCTION|TRIGGER|EVENT|SEQUENCE) {_NAME}",
        r"CREATE (?:DATABASE|SCHEMA) N",
        rf"{_SCOPE}(?:STATUS|VARIABLES)(?P<filter>.*)",
        r"(?:DATABASES|SCHEMAS)(?P<filter>.*)",
        r"(?:CHARACTER SET|COLLATION)(?P<filter>.*)",
        rf"(?:TRIGGERS|EVENTS){_FROM_SCHEMA}(?P<filter>.*)",
        r"(?:PROCEDURE|FUNCTION) STATUS(?P<filter>.*)",
        r"(?:FULL )?PROCESSLIST",
        r"ENGINE INNODB (?:STATUS|MUTEX)",
        r"(?:STORAGE )?ENGINES",
        r"PLUGINS",
        r"(?:WARNINGS|ERRORS)",
        r"(?:ALL )?(?:SLAVE|SLAVES|REPLICA|REPLICAS) STATUS",
        r"(?:MASTER|BINLOG|BINARY LOG) STATUS",
        r"(?:BINARY|MASTER) LOGS",
    )
]

_POSTGRES_FORM = re.compile(r"(?:ALL|TIME ZONE|TRANSACTION ISOLATION LEVEL|N(?: \. N)?)")

_SHOWN = "SHOW TABLES, COLUMNS, INDEX, CREATE TABLE, STATUS, VARIABLES, PROCESSLIST, ENGINE INNODB STATUS and the like"

Pieces = list[Token]


def show_statement(words: Pieces, dialect: Dialect, schema: str | None) -> str:
    """Judge a SHOW and write it anew.

    Raises:
        ToolFailure: NOT_READ_ONLY, with what to write instead.
    """
    if dialect == "sqlite":
        raise not_understood("SQLite has no SHOW: use describe_database, or SELECT * FROM sqlite_schema")
    if dialect == "postgres":
        if _POSTGRES_FORM.fullmatch(_pattern(words[1:], ("ALL", "TIME", "ZONE", "TRANSACTION", "ISOLATION", "LEVEL"))):
            return f"SHOW {_spaced(words[1:], dialect)}"
        raise not_read_only("PostgreSQL's SHOW takes one setting's name: SHOW name, or SHOW ALL")
    for form in _MYSQL_FORMS:
        match = form.fullmatch(_pattern(words[1:], _words_of(form)))
        if match is None:
            continue
        rest = (match.groupdict().get("filter") or "").split()
        cut = len(words) - len(rest)
        filtered = _filter(words[cut:], dialect, schema)
        if filtered is not None:
            return f"SHOW {_spaced(words[1:cut], dialect)}{filtered}"
    raise not_read_only(f"this SHOW is refused: {_SHOWN} are taken")


def describe_statement(words: Pieces, dialect: Dialect) -> str:
    """Judge `DESCRIBE table [column]` and write it anew.

    Raises:
        ToolFailure: NOT_READ_ONLY or INVALID_ARGUMENTS, with what to write instead.
    """
    if dialect != "mysql":
        raise not_understood("use describe_database for a table's columns; EXPLAIN goes before a SELECT")
    if not re.fullmatch(rf"{_NAME}(?: [NS])?", _pattern(words[1:], ())):
        raise not_read_only("EXPLAIN and DESCRIBE take a SELECT, or a table and perhaps one column")
    return f"DESCRIBE {_spaced(words[1:], dialect)}"


def _filter(words: Pieces, dialect: Dialect, schema: str | None) -> str | None:
    if not words:
        return ""
    if words[0].is_word("LIKE") and len(words) == 2 and words[1].kind == "string":
        return f" {_spaced(words, dialect)}"
    if words[0].is_word("WHERE") and len(words) > 1:
        head = "SELECT 1 FROM shown"
        query = Query(f"{head} {_spaced(words, dialect)}", dialect, schema).sql
        return query.removeprefix(head) if query.startswith(f"{head} WHERE ") else None
    return None


def _words_of(form: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(re.findall(r"[A-Z]{2,}", form.pattern))


def _pattern(words: Pieces, keywords: tuple[str, ...]) -> str:
    """Write words as a form reads them: keywords as they are, other words and quoted names as N."""
    return " ".join(_mark(word, keywords) for word in words)


def _mark(word: Token, keywords: tuple[str, ...]) -> str:
    if word.is_word(*keywords):
        return word.text.upper()
    return {"word": "N", "identifier": "N", "string": "S", "number": "D"}.get(word.kind, word.text)


def _spaced(words: Pieces, dialect: Dialect) -> str:
    text = " ".join(normal_text([word], dialect) for word in words)
    return text.replace(" . ", ".")
