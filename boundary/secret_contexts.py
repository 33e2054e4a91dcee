"""Secrets told by what stands around them, other than a name and a separator: URLs, headers, commands, SQL. Data.

Above: `redaction`. Below: `secret_patterns`, whose rules on linear time and on groups hold here, too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from boundary.secret_patterns import ANY_NAME, NAMES

_FLAG = rf"--(?:[a-z0-9]{{1,20}}-){{0,4}}+(?:{NAMES})"
_FIELD_SEPARATOR = r"""["'`]?[ \t]{0,8}[:=][ \t]{0,8}["'`]?"""
_PORT = r"\d{1,5}+(?:[/?#;,\s\"']|\Z)"
_ARGUMENTS = r"\b[^\n|;]{0,200}?[\s\"']"
_ARGUMENT = r"""[ \t"',]{1,4}([^\s"'<>$]++)"""
_MIXED = r"(?=[^\s\"']{0,60}\d)(?=[^\s\"']{0,60}[a-zA-Z])"


class Context(NamedTuple):
    """A pattern, and what is in every text that it matches."""

    pattern: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...]
    """At least one of each group stands in the folded text; looked for first, being far cheaper."""


_NAMED = (
    # --password value, "--password", "value"
    (rf"(?<![\w-]){_FLAG}(?:[ \t]{{1,8}}[\"']?|[\"'],[ \t]{{0,8}}[\"'])(?!-)([^\s\"']++)", ANY_NAME, ("--",)),
    # a list of pairs: name: REDIS_PASSWORD, value: ...
    (
        rf"\b(?:name|key){_FIELD_SEPARATOR}[\w.-]{{0,60}}?(?:{NAMES})[\"'`]?,?\s{{1,60}}[\"'`]?value{_FIELD_SEPARATOR}"
        r"([^\s\"',}]++)",
        ANY_NAME,
        ("value",),
        ("name", "key"),
    ),
    (
        rf"\b(?:name|key)[\"']:[ ]?[\"'][\w.-]{{0,60}}?(?:{NAMES})[\"'],[ ]?[\"']value[\"']:[ ]?[\"']([^\"'\n]++)",
        ANY_NAME,
        ("value",),
        ("name", "key"),
    ),
    # passphrase: several words
    (r"passphrase[ \t]{0,8}[:=][ \t]{0,8}([^\s\"'][^\r\n\"']*+)", ANY_NAME, ("passphrase",)),
    # password: | with the value in the next line
    (rf"(?:{NAMES})[ \t]{{0,8}}:[ \t]{{1,8}}[|>][+-]?[ \t]{{0,8}}\r?\n[ \t]{{1,80}}([^\s][^\r\n]*+)", ANY_NAME),
    # <password>value</password>
    (rf">([^<>\n]{{1,500}}+)</[\w:.-]{{0,40}}?(?:{NAMES})>", ANY_NAME, ("</",)),
    # define('DB_PASSWORD', 'value'), setPassword("value")
    (
        r"\b(?:define|put|putenv|setenv|set\w{0,20}+|property)\("
        rf"[\"'][\w.-]{{0,60}}?(?:{NAMES})[\"'],[ ]?[\"']([^\"'\n]++)",
        ANY_NAME,
        ("(",),
    ),
    (rf"\b(?:set|with)\w{{0,30}}?(?:{NAMES})\([\"']([^\"'\n]++)[\"']\)", ANY_NAME, ("(",)),
    # the directives of redis.conf and OpenLDAP, alone on their line
    (
        r"\b(?:requirepass|masterauth|bindpw|rootpw)[ \t]{1,8}[\"']?([^\s\"']++)[\"']?[ \t]{0,8}(?:[\r\n]|\Z)",
        ("requirepass", "masterauth", "bindpw", "rootpw"),
    ),
    # .netrc
    (
        r"\bmachine\s{1,8}[^\s]{1,100}\s{1,8}login\s{1,8}[^\s]{1,100}\s{1,8}password\s{1,8}([^\s]++)",
        ANY_NAME,
        ("machine",),
    ),
    # prose
    (
        rf"\b(?:password|passphrase|passwort|token|secret) is:?[ \t]{{1,4}}[\"']?(?!sha|md5|bcrypt|utf|base\d)"
        rf"{_MIXED}([^\s\"']{{4,}}+)",
        ANY_NAME,
        (" is",),
    ),
    (rf"\b(?:and|with|using) password[ \t]{{1,4}}[\"']?{_MIXED}([^\s\"']{{4,}}+)", ANY_NAME, (" password",)),
    (r"\bpassword is:[ \t]{1,4}[\"']?([^\s\"']++)(?:[\r\n]|\Z)", ANY_NAME, ("password is:",)),
    (r"\btemporary password is generated for [^\s]{1,200}: ([^\s]++)", ANY_NAME, ("temporary password",)),
)

_SQL = (
    (
        r"\bidentified[ \t]{1,8}(?:with[ \t]{1,8}[\w\"'`]{1,60}[ \t]{1,8})?(?:by|as)[ \t]{1,8}"
        r"(?:password[ \t]{1,8})?[\"']([^\"'\n]++)",
        ("identified",),
    ),
    (r"\bpassword[ \t]{1,8}'([^'\n]++)", ANY_NAME, ("password '", "password\t", "password  ")),
    (r"\bpassword\([\"']([^\"'\n]++)", ANY_NAME, ("password(",)),
    (
        r"\bset[ \t]{1,8}password[ \t]{1,8}for[ \t]{1,8}[^\s]{1,100}[ \t]{0,8}=[ \t]{0,8}[\"']([^\"'\n]++)",
        ANY_NAME,
        ("set password",),
    ),
)

_URLS = (
    # scheme://user:value@host, up to the last @ before a slash; host:80?x=a@b has none. Else a value with slashes.
    (
        rf"//[^\s/:@\"'<>\[]*+:(?!{_PORT})(?:([^\s/\"'<>]+)@|(?![/\\])([^\s@\"'<>]{{1,200}}+)@(?=[\w.\[]))",
        ("//",),
        ("@",),
    ),
    # user:value@tcp(host:3306)/database
    (r":([^\s:@/\"']{1,200}+)@(?:tcp|unix)\(", ("@tcp(", "@unix(")),
    (r"\bjdbc:oracle:[a-z]{1,8}:[^\s/:@\"']{1,60}/([^\s@/\"']{1,200}+)@", ("jdbc:oracle",)),
    # signed links
    (r"[?&](?:x-amz-|x-goog-)?sig(?:nature)?=([\w%+/=-]{20,}+)", ("sig",), ("?", "&")),
    (r"\bhooks\.slack\.com/[a-z]{4,12}/([\w/-]{20,}+)", ("hooks.slack.com",)),
    (r"\bdiscord(?:app)?\.com/api/webhooks/[0-9]{10,20}/([\w-]{20,}+)", ("/api/webhooks/",)),
    # Telegram: number:AA...
    (r"(?<!\d)([0-9]{8,10}:AA[\w-]{30,}+)", (":aa",)),
    # Mailchimp
    (r"(?<![\w-])([0-9a-f]{32}-us[0-9]{1,2})(?!\w)", ("-us",)),
    # Microsoft Entra ID
    (r"(?<![\w~.-])([\w~.]{3}[0-9]Q~[\w~.-]{31,34})(?![\w~-])", ("q~",)),
    # PuTTY
    (
        r"private-lines: [0-9]{1,4}[\s\\]{1,4}((?:[A-Za-z0-9+/=]{40,}+[\s\\rn]{0,4})++[A-Za-z0-9+/=]{0,64})",
        ("private-lines",),
    ),
)

_HEADERS = (
    # Authorization: Scheme value
    (
        r"(?<![a-z0-9])authorization\\{0,8}[\"']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,8}[bru]{0,2}[\"']?"
        r"(?:(?:basic|bearer|digest|token|apikey|negotiate)[ \t]{1,8}([^\s\"'\\]++)"
        r"|(?!aws4-)(?=[^\s\d]{0,60}+\d)([^\s\"'\\,;]{8,}+))",
        ("authorization",),
    ),
    (r"\b(?:basic|bearer)[ \t]{1,8}(?=[a-z._~+/-]{0,60}+[\d=])([\w.~+/=-]{8,}+)", ("basic", "bearer")),
    (r"\bbearer[ \t]{1,8}([\w.~+/=-]{20,}+)", ("bearer",)),
    (r"\bcredential=[^\n\"']{0,200}?\bsignature=([0-9a-f]{32,}+)", ANY_NAME, ("credential=",), ("signature=",)),
    # A cookie with a value that is long enough to be a session's
    (
        r"\b(?:set-)?cookie\\{0,8}[\"']?[ \t]{0,8}:[ \t]{0,8}\\{0,8}[\"']?"
        r"(?=[^\r\n\"']{0,400}?=[^\s;\"',]{8})([^\r\n\"'\\]++)",
        ("cookie",),
    ),
    # the registries of a docker configuration
    (r"\"auth\\{0,4}\":[ ]?\\{0,4}\"(?=[a-z0-9+/]{0,300}?[\d=])([A-Za-z0-9+/]{8,}+={0,2})", ('auth"', "auth\\")),
)

_COMMANDS = (
    (rf"\b(?:mysql|mariadb)[a-z_]{{0,12}}{_ARGUMENTS}-p(?![\s\"'$])([^\s\"']++)", ("mysql", "mariadb"), ("-p",)),
    (rf"\b(?:mysql|mariadb)[a-z_]{{0,12}}{_ARGUMENTS}-p[\"']([^\n\"']++)", ("mysql", "mariadb"), ("-p",)),
    (
        rf"\bcurl{_ARGUMENTS}(?:-u|-U|--user|--proxy-user)[ =]{{0,2}}[\"']?[^\s:\"'/]{{1,100}}:(?!//)([^\s\"']++)",
        ("curl",),
        (" -u", " --user", "-user"),
    ),
    (rf"\bsshpass[ \t]{{1,8}}-p{_ARGUMENT}", ANY_NAME, ("sshpass",)),
    (rf"\b(?:redis|valkey)-cli{_ARGUMENTS}-a{_ARGUMENT}", ("-cli",), ("-a",)),
    (
        rf"\b(?:docker|podman|az|oc|helm|skopeo|nerdctl)\b[^\n|;]{{0,40}}?\blogin{_ARGUMENTS}-p{_ARGUMENT}",
        ("login",),
        ("-p",),
    ),
    (r"-pass(?:in|out)?[ \t=\"',]{1,4}pass:([^\s\"']++)", ANY_NAME, ("pass:",)),
)

CONTEXTS = tuple(
    Context(re.compile(pattern, re.IGNORECASE), tuple(needs))
    for pattern, *needs in (*_NAMED, *_SQL, *_URLS, *_HEADERS, *_COMMANDS)
)

_FIRST_NEEDS = tuple(dict.fromkeys(word for context in CONTEXTS for word in context.needs[0]))
"""The fewer they are the better: each is looked for in every text."""


def contexts_in(folded_text: str) -> list[re.Pattern[str]]:
    """List the patterns that can match in the text; most texts have none."""
    found = {word for word in _FIRST_NEEDS if word in folded_text}
    if not found:
        return []
    return [
        context.pattern
        for context in CONTEXTS
        if not found.isdisjoint(context.needs[0])
        and all(any(word in folded_text for word in words) for words in context.needs[1:])
    ]
