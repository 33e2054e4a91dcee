"""What a secret looks like in text: the patterns `redaction` masks by. Data and two predicates.

Above: `redaction`. Below: nothing. Every pattern is linear in the text, by one of three means:
it begins with fixed characters that its own unbounded part cannot contain; or a look-behind
lets it begin only where that part could not already have begun; or its parts are bounded.
Repeats are possessive or over one character class, and never nested. The only capturing groups
are the secrets themselves. It knows no value of ours: those are `Redactor`'s known secrets.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Names that mean a secret wherever they end an identifier (REDIS_PASSWORD, dbPassword, x-api-key).
_NAMES = (
    r"passwords?|passwd|passphrase|pwd|(?<=[_-])pass|secrets?|token|credentials?"
    r"|(?:api|access|account|secret|private|encryption|signing|master)[ _-]?keys?"
)

SECRET_NAME = re.compile(rf"(?:{_NAMES})\Z", re.IGNORECASE)
"""Ends the name of a field that holds a secret."""

# These are everyday words too: `unexpected token: ...`, `secret: not found`.
EVERYDAY_NAME = re.compile(r"(?:secrets?|token|credentials?|[a-z]+ keys?)\Z", re.IGNORECASE)

_KEY_END = r"""\\{0,8}["'`]?"""
_SEPARATOR = r"[ \t]{0,8}(?::=|=>|=(?!=)|:(?!:|//|(?:auth|session|account|chauthtok|setcred)\)))[ \t]{0,8}"

# A bare value ends at a blank or a quote, and at , ; & or a closing bracket only where that ends the pair.
_BARE = r"""((?:[^\s"'`,;&)\]}>]++|[,;&)\]}>](?![\s,;&)\]}>"'`]|\Z|[\w.-]{1,40}+[=:]))++)"""
_VALUE = (
    r"""(?:[bBrRuU]{0,2}\\{1,8}["']([^"'\\\n]++)"""
    r"""|[bBrRuU]{0,2}"((?:[^"\\\n]|\\.)++)"""
    r"""|[bBrRuU]{0,2}'((?:[^'\\\n]|\\.|'')++)"""
    rf"""|(?!["'`]){_BARE})"""
)

ASSIGNMENT_START = re.compile(
    r"p(?:ass|wd|rivate[ _-]?key)|s(?:ecret|igning[ _-]?key)|token|credential"
    r"|a(?:pi|ccess|ccount)[ _-]?key|encryption[ _-]?key|master[ _-]?key"
)
"""Where `ASSIGNMENT` may match, in folded text: ten times as fast to look for."""

ASSIGNMENT = re.compile(
    rf"(?P<name>{_NAMES})(?P<between>{_KEY_END}{_SEPARATOR})(?:(?<=pwd=)(?!/)|(?<!pwd=)){_VALUE}", re.IGNORECASE
)
"""A named value: KEY=value, key: value, "key": "value", key => 'value'; `PWD=/path` is a directory."""

_FLAG = rf"--(?:[a-z0-9]{{1,20}}-){{0,4}}+(?:{_NAMES})"
_FIELD_SEPARATOR = r"""["'`]?[ \t]{0,8}[:=][ \t]{0,8}["'`]?"""

_ANY_NAME = ("pass", "pwd", "secret", "token", "credential", "key")
"""One of them is in every name of `_NAMES`."""


class Context(NamedTuple):
    """A pattern, and what is in every text that it matches."""

    pattern: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...]
    """At least one of each group stands in the folded text; looked for first, being far cheaper."""

    def may_match(self, folded_text: str) -> bool:
        """Tell whether the text holds what the pattern needs."""
        return all(any(word in folded_text for word in words) for words in self.needs)


CONTEXTS = tuple(
    Context(re.compile(pattern, re.IGNORECASE), tuple(needs))
    for pattern, *needs in (
        # --password value, "--password", "value"
        (rf"(?<![\w-]){_FLAG}(?:[ \t]{{1,8}}|[\"'],[ \t]{{0,8}}[\"'])(?!-)([^\s\"']++)", ("--",), _ANY_NAME),
        # a list of pairs: name: REDIS_PASSWORD, value: ...
        (
            rf"\b(?:name|key){_FIELD_SEPARATOR}[\w.-]{{0,60}}?(?:{_NAMES})[\"'`]?,?\s{{1,60}}[\"'`]?value{_FIELD_SEPARATOR}"
            r"([^\s\"',}]++)",
            ("value",),
            ("name", "key"),
            _ANY_NAME,
        ),
        (
            rf"\b(?:name|key)[\"']:[ ]?[\"'][\w.-]{{0,60}}?(?:{_NAMES})[\"'],[ ]?[\"']value[\"']:[ ]?[\"']([^\"'\n]++)",
            ("value",),
            ("name", "key"),
            _ANY_NAME,
        ),
        # passphrase: several words
        (r"passphrase[ \t]{0,8}[:=][ \t]{0,8}([^\s\"'][^\r\n\"']*+)", ("passphrase",)),
        # <password>value</password>
        (rf">([^<>\n]{{1,500}}+)</[\w:.-]{{0,40}}?(?:{_NAMES})>", ("</",), _ANY_NAME),
        # SQL: IDENTIFIED BY 'value', PASSWORD 'value'
        (
            r"\b(?:identified[ \t]{1,8}by|password)[ \t]{1,8}'([^'\n]++)",
            (" '", "\t'"),
            ("identified", "password"),
        ),
        # scheme://user:value@host, up to the last @ before a slash; host:80?x=a@b has none
        (r"://[^\s/:@\"'<>]*+:(?!\d{1,5}+[?#])([^\s/\"'<>]+)@", ("://",), ("@",)),
        # user:value@tcp(host:3306)/database
        (r":([^\s:@/\"']{1,200}+)@(?:tcp|unix)\(", ("@tcp(", "@unix(")),
        # Authorization: Scheme value
        (
            r"\bauthorization\\{0,8}[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,8}[\"']?"
            r"(?:(?:basic|bearer|digest|token|apikey|negotiate)[ \t]{1,8}([^\s\"'\\]++)"
            r"|(?=[^\s\d]{0,60}+\d)([^\s\"'\\,;]{8,}+))",
            ("authorization",),
        ),
        (r"\b(?:basic|bearer)[ \t]{1,8}(?=[a-z._~+/-]{0,60}+[\d=])([\w.~+/=-]{8,}+)", ("basic", "bearer")),
        (r"\bbearer[ \t]{1,8}([\w.~+/=-]{20,}+)", ("bearer",)),
    )
)
"""Secrets told by what stands around them."""

SUSPICIOUS = re.compile(
    r"pass|pwd|secret|token|credential|key|identified|authorization|basic|bearer|://|@(?:tcp|unix)\("
)
"""Found in folded text wherever `ASSIGNMENT` or one of `CONTEXTS` can match; most texts have nothing of it."""

# To `re.IGNORECASE` these are letters of ASCII; `str.lower` leaves the first two and makes two of the third.
_LIKE_ASCII = str.maketrans("\u0131\u017f\u0130\u212a", "isik")


def folded(text: str) -> str:
    """Return the text in the case that `needs` and `ASSIGNMENT_START` are in, each character at its place."""
    return text.lower() if text.isascii() else text.translate(_LIKE_ASCII).lower()


_SHAPES = (
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA)[0-9A-Z]{16}(?![0-9A-Za-z])",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{20,}+",  # GitHub
    r"github_pat_\w{20,}+",
    r"glpat-[\w-]{20,}+",  # GitLab
    r"xox[a-z]-[A-Za-z0-9-]{10,}+",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}+",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{16,}+",
    r"sk-(?=[A-Za-z_-]{0,60}+[0-9])[\w-]{20,}+",  # OpenAI, Anthropic and their like
    r"AIza[\w-]{30,}+",  # Google
    r"ya29\.[\w-]{20,}+",
    r"npm_[A-Za-z0-9]{30,}+",
    r"pypi-[\w-]{20,}+",
    r"hf_[A-Za-z0-9]{30,}+",
    r"hvs\.[\w-]{20,}+",  # Vault
    r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}+",
    r"eyJ[\w-]{5,}+\.[\w-]{5,}+\.[\w-]*+",  # JSON Web Token
    r"\$(?:1|2[abxy]|5|6|y|argon2id?)\$[\w./$=,+-]{20,}+",  # password hashes of crypt(3)
)

SHAPES = re.compile(rf"(?<![\w-])({'|'.join(_SHAPES)})", re.ASCII)
"""Secrets told by their own form; none begins inside a word."""

PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[^-]++|-(?!----))++)")
"""The body of a private key, up to the next five dashes or the end of what there is."""

_NOT_A_SECRET = re.compile(
    r"(?:null|none|nil|true|false|undefined|\*+|\$\{[^}]*\}?|(?-i:\$[A-Z_][A-Z0-9_]+)|\{\{[^}]*(?:\}\})?)\Z",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Tell whether a field of that name holds a secret."""
    return SECRET_NAME.search(name) is not None


def is_placeholder(value: str) -> bool:
    """Tell whether the value stands where a secret would be without being one: null, ****, $NAME."""
    return _NOT_A_SECRET.match(value) is not None
