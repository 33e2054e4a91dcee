"""What a secret looks like where a name stands before it: the patterns of `KEY=value`, and some predicates.

Above: `redaction`, and `secret_contexts` for what else may stand around one; `secret_shapes` has those that
need nothing around them. Below: nothing. Every pattern is linear in the text, by one of three means:
it begins with fixed characters that its own unbounded part cannot contain; or a look-behind
lets it begin only where that part could not already have begun; or its parts are bounded.
Repeats are possessive or over one character class, and never nested. The only capturing groups
are the secrets themselves. It knows no value of ours: those are `Redactor`'s known secrets.
"""

from __future__ import annotations

import re

# Names that mean a secret wherever they end an identifier (REDIS_PASSWORD, dbPassword, x-api-key).
NAMES = (
    r"passwor[dt]s?|passwd|passphrase|passcode|pwd|(?<![a-z0-9.])pass|password[ _-]?hash|secrets?|token|credentials?"
    r"|(?<![a-z0-9])_auth|secret[ _-]?key[ _-]?base"
    r"|(?:api|access|account|auth|secret|private|encryption|signing|master|shared|storage|hmac)[ _-]?keys?"
)

_FIELD = re.compile(rf"(?:{NAMES}|authorization|cookies?)\Z", re.IGNORECASE)
"""Ends the name of a field that holds a secret."""

# These are everyday words too: `unexpected token: ...`, `secret: not found`.
EVERYDAY_NAME = re.compile(
    r"(?:secrets?|token|credentials?|(?<![_-])pass|authorization|cookies?|[a-z]+ keys?)\Z", re.IGNORECASE
)

_KEY_END = r"""\\{0,8}["'`]?"""
_SEPARATOR = r"[ \t]{0,8}(?::=|=>|=(?!=)|:(?!:|//|(?:auth|session|account|chauthtok|setcred)\)))[ \t]{0,8}"

# A bare value ends at a blank or a quote, and at , ; & or a closing bracket only where that ends the pair.
_BARE = r"""((?:[^\s"'`,;&)\]}>]++|[,;&)\]}>](?![\s,;&)\]}<>"'`]|\Z|[\w.-]{1,40}+[=:]))++)"""
_VALUE = (
    r"""(?:[bBrRuU]{0,2}\\{1,8}["']([^"'\\\n]++)"""
    r"""|[bBrRuU]{0,2}"((?:[^"\\\n]|\\.)++)"""
    r"""|[bBrRuU]{0,2}'((?:[^'\\\n]|\\.|'')++)"""
    rf"""|(?!["'`]){_BARE})"""
)

ASSIGNMENT_START = re.compile(
    r"p(?:ass|wd|rivate[ _-]?key)|s(?:ecret|igning[ _-]?key|hared[ _-]?key|torage[ _-]?key)|token|credential"
    r"|a(?:pi|ccess|ccount|uth)[ _-]?key|encryption[ _-]?key|master[ _-]?key|hmac[ _-]?key|_auth"
)
"""Where `ASSIGNMENT` may match, in folded text: ten times as fast to look for."""

ASSIGNMENT = re.compile(
    rf"(?P<name>{NAMES})(?P<between>{_KEY_END}{_SEPARATOR})(?:(?<=pwd=)(?!/)|(?<!pwd=)){_VALUE}", re.IGNORECASE
)
"""A named value: KEY=value, key: value, "key": "value", key => 'value'; `PWD=/path` is a directory."""

ANY_NAME = ("pass", "pwd", "secret", "token", "credential", "key", "_auth")
"""One of them is in every name of `NAMES`."""

# To `re.IGNORECASE` these are letters of ASCII; `str.lower` leaves the first two and makes two of the third.
_LIKE_ASCII = str.maketrans("\u0131\u017f\u0130\u212a", "isik")


def folded(text: str) -> str:
    """Return the text in the case that `needs` and `ASSIGNMENT_START` are in, each character at its place."""
    return text.lower() if text.isascii() else text.translate(_LIKE_ASCII).lower()


MORE_WORDS = re.compile(r"(?:[ \t]++(?![#;|&>-])[^\s=:\"'<>{}\[\],]{1,40}+){1,12}+[ \t]{0,8}+(?=[\r\n]|\Z)")
"""The rest of a line after the first word of a value, where nothing else begins in it."""

BEGINS_A_LINE = re.compile(r"[ \t]{0,40}(?:- )?[\w.-]{0,60}\Z")
"""From the begin of a line to what its first name ends with."""

_NOT_A_SECRET = re.compile(
    r"(?:null|none|nil|true|false|yes|no|undefined|str|string|bytes|\*+|[xX]{3,}|[\[\](){}<>|&-]+|<[\w.-]*>?"
    r"|[a-z_][\w.]*\(|\$\{[^}]*\}?|(?-i:\$[A-Z_][A-Z0-9_]+)|\{\{[^}]*(?:\}\})?)\Z",
    re.IGNORECASE,
)

_SAID_OF_IT = re.compile(
    r"(?:is|are|was|has|had|must|may|should|cannot|can|does|did|do|will|not|no|too|field|value|input|this|please"
    r"|invalid|missing|required|wrong|incorrect|expected|unexpected|expired|failed|could|unable|at|only|minimum)\Z",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Tell whether a field of that name holds a secret."""
    return _FIELD.search(name) is not None


def is_placeholder(value: str) -> bool:
    """Tell whether the value stands where a secret would be without being one: null, ****, $NAME, a call."""
    return _NOT_A_SECRET.match(value) is not None


def begins_a_remark(value: str, after: str) -> bool:
    """Tell whether a bare value begins what is said of the secret: `password: must not be empty`."""
    return _SAID_OF_IT.match(value) is not None and after[:1] in (" ", "\t") and after[1:2].isalpha()
