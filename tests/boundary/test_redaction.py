"""Redaction: what is masked, what must stay readable, and that masking twice changes nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boundary.contracts import JsonValue
from boundary.redaction import MASK, Redactor
from tests.boundary.test_strict_json import values

SENTINEL = "zq9Xw"
"""Short, with no special form: only its place gives it away."""

PLAIN = Redactor()


@pytest.mark.parametrize(
    "template",
    [
        "REDIS_PASSWORD={}",
        "export DB_PASS='{}'",
        "password={} user=x",
        "password = {}",
        "Password: {}",
        "pwd:{}",
        "login ok, passwd={}, host=h",
        "{{password={}, user=y}}",
        "(secret={})",
        "Server=h;Uid=u;Pwd={};Database=d",
        "https://h/p?token={}&page=2",
        "api_key: {}",
        "x-api-key: {}",
        "GITHUB_TOKEN: {}",
        "client_secret: {}",
        "aws_secret_access_key = {}",
        "AccountName=n;AccountKey={};EndpointSuffix=s",
        '{{"password": "{}", "user": "u"}}',
        '{{"password":"{}"}}',
        "{{'PGPASSWORD': '{}'}}",
        '{{\\"token\\": \\"{}\\"}}',
        'msg="password=\\"{}\\""',
        'password: "{}"',
        "password: '{}' # rotated",
        "password => '{}'",
        'password := "{}"',
        "password=b'{}'",
        "- name: REDIS_PASSWORD\n  value: {}",
        '{{"name":"REDIS_PASSWORD","value":"{}"}}',
        "mysql --password {} --user root",
        "run --db-password={}",
        '["--token", "{}"]',
        "<password>{}</password>",
        "ALTER USER a IDENTIFIED BY '{}'",
        "CREATE ROLE a PASSWORD '{}'",
        "postgres://app:{}@db:5432/x",
        "redis://:{}@cache:6379/0",
        "connect to amqp://u:{}@mq failed",
        "app:{}@tcp(db:3306)/x",
        "Authorization: Bearer {}",
        "Authorization: Basic {}",
        "'authorization': 'Token {}'",
    ],
)
def test_a_short_secret_is_masked_where_its_place_gives_it_away(template: str) -> None:
    """Not one character of it is left, nothing around it is lost."""
    masked, count = PLAIN.text(template.format(SENTINEL))
    assert (masked, count) == (template.format(MASK), 1)


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2_" * 9,
        "glpat-" + "a1B2-" * 4,
        "xoxb-" + "123456789012-abcdef",
        "sk_live_" + "a1B2" * 6,
        "sk-" + "a1B2" * 12,
        "sk-proj-" + "a1B2_" * 12,
        "sk-ant-api03-" + "a1B2-" * 12,
        "AIza" + "a1B2_" * 7,
        "hf_" + "aBcD" * 9,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpM",
        "$6$rounds=5000$saltsalt$" + "a1B2./" * 8,
        "$2b$12$" + "a1B2./" * 9,
    ],
)
def test_a_secret_of_a_known_form_is_masked_anywhere(secret: str) -> None:
    """Also without a name before it."""
    assert PLAIN.text(f"used {secret} for it") == (f"used {MASK} for it", 1)
    assert PLAIN.text(f'["{secret}"]') == (f'["{MASK}"]', 1)


@pytest.mark.parametrize("separator", ["\n", "\\n"])
@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----", ""])
def test_the_body_of_a_private_key_is_masked(separator: str, end: str) -> None:
    """Also where the text was cut before its end, and where line ends are escaped."""
    begin = "-----BEGIN RSA PRIVATE KEY-----"
    body = separator.join(["", "MIIEowIBAAKCAQEA", "4f5wg5l2hKsTeNem/V41", ""])
    assert PLAIN.text(f"{begin}{body}{end} x" if end else begin + body) == (
        f"{begin}{MASK}{end} x" if end else begin + MASK,
        1,
    )


@pytest.mark.parametrize(
    "line",
    [
        'password authentication failed for user "app"',
        "Dec 10 06:55:48 LabSZ sshd[24200]: Failed password for invalid user admin from 1.2.3.4 port 22 ssh2",
        "sshd[24200]: Failed none for invalid user admin from 5.36.59.76 port 42393 ssh2",
        "pam_unix(gdm-password:auth): authentication failure; logname= uid=0 euid=0 tty=:0 ruser= rhost= user=a",
        "passwd[12]: pam_unix(passwd:chauthtok): password changed for a",
        "sudo: a : TTY=pts/0 ; PWD=/home/a ; USER=root ; COMMAND=/bin/ls",
        "cat: /etc/passwd: Permission denied",
        "token: unexpected",
        "parse error: unexpected token: identifier at line 3",
        "SyntaxError: Unexpected token: '<'",
        "max tokens: 4096, tokens=12",
        "secret: not found",
        "Invalid API key: missing",
        "if password == expected:",
        "password=",
        "password= user=x",
        'password: ""',
        "password: null",
        "password=****",
        "password=${DB_PASSWORD}",
        "bearer authentication required",
        "Basic authentication failed",
        "Authorization: denied for user bob",
        "081109 203615 148 INFO dfs.DataNode$PacketResponder: Received block blk_-1608999687919862906 of size 91178",
        "src: /10.250.19.102:54106 dest: /10.250.19.102:50010",
        "[req-3ea4052c-895d-4b64-9e2d-04d64c4d94ab 113d3a99c3da401fbd62cc2caa5b96d2] HTTP/1.1 200 len: 1893",
        "http://host:8080/a@b and http://host:80?x=a@b",
        "git@github.com:owner/repo.git",
        "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
        "sk-learn-is-a-library-for-python",
        "commit 2758987c0ffee2758987c0ffee2758987c0ffee0",
        "password_changed_at=2024-01-01 secretName: db imagePullSecrets:",
        "-----BEGIN CERTIFICATE-----MIIE-----END CERTIFICATE-----",
    ],
)
def test_a_line_without_a_secret_stays_as_it_is(line: str) -> None:
    """Evidence that is masked for nothing cannot be quoted."""
    assert PLAIN.text(line) == (line, 0)


def test_a_password_that_begins_with_a_dollar_is_no_placeholder() -> None:
    """Only names in capitals are those of variables."""
    assert PLAIN.text("password=$ecret1") == (f"password={MASK}", 1)
    assert PLAIN.text("password=$DB_PASSWORD") == ("password=$DB_PASSWORD", 0)


def test_every_secret_is_counted_once() -> None:
    """However many patterns found it."""
    text = "postgres://a:pw1@h password=ghp_" + "a1" * 12 + " token='x' password=y"
    assert PLAIN.text(text) == (f"postgres://a:{MASK}@h password={MASK} token='{MASK}' password={MASK}", 4)


def test_a_known_secret_is_masked_exactly_and_in_its_encoded_forms() -> None:
    """As it is, percent-encoded in either case, as a form field, and inside a JSON string."""
    known = Redactor(['p/w "x'])
    text = 'a p/w "x b p%2Fw%20%22x c p%2fw%20%22x d p%2Fw+%22x e p/w \\"x f p/w'
    assert known.text(text) == (f"a {MASK} b {MASK} c {MASK} d {MASK} e {MASK} f p/w", 5)


def test_overlapping_known_secrets_leave_no_rest() -> None:
    """One mask covers both."""
    assert Redactor(["abcd", "cdef"]).text("xabcdefx") == (f"x{MASK}x", 1)


def test_a_known_secret_inside_the_mask_does_not_grow_it() -> None:
    """`red` is part of every mask."""
    known = Redactor(["redacted"])
    assert known.text(f"a {MASK} redacted") == (f"a {MASK} {MASK}", 1)


@pytest.mark.parametrize("secret", ["", "abc"])
def test_a_known_secret_that_is_too_short_is_not_masked(secret: str) -> None:
    """It would mask half of every text."""
    assert Redactor([secret]).text("abc abcabc") == ("abc abcabc", 0)


def test_a_value_under_a_secret_name_is_masked_whole() -> None:
    """Whatever it looks like; what is empty, absent or a count stays."""
    value = {
        "user": "admin",
        "password": "x y",
        "dbPassword": 1234,
        "api_keys": ["a", "b"],
        "token": 5,
        "secret": {"name": "db", "password": None},
        "passwd": "",
        "password_set": True,
        "headers": {"Authorization": "Bearer x", "Cookie": "a=b", "Host": "h"},
        "auth": {"user": "u", "pass": "x"},
        "tests": {"pass": 12, "fail": 0},
    }
    expected = {
        "user": "admin",
        "password": MASK,
        "dbPassword": MASK,
        "api_keys": [MASK, MASK],
        "token": 5,
        "secret": {"name": "db", "password": None},
        "passwd": "",
        "password_set": True,
        "headers": {"Authorization": MASK, "Cookie": MASK, "Host": "h"},
        "auth": {"user": "u", "pass": MASK},
        "tests": {"pass": 12, "fail": 0},
    }
    masked, count = PLAIN.value(value)
    assert (masked, count) == (expected, 7)
    assert list(masked) == list(value)


@pytest.mark.proves("FIELD-SECRETS-IN-RESULTS")
def test_lists_of_pairs_flags_and_columns_do_not_slip_through() -> None:
    """A secret's name may stand beside it instead of above it."""
    value = {
        "env": [{"name": "REDIS_PASSWORD", "value": SENTINEL}, {"name": "HOME", "value": "/root"}],
        "argv": ["mysql", "--password", SENTINEL, "--user", "root"],
        "columns": ["user", {"name": "password"}],
        "rows": [["root", SENTINEL], ["app", SENTINEL]],
    }
    masked, count = PLAIN.value(value)
    assert SENTINEL not in json.dumps(masked)
    assert count == 4
    assert "/root" in json.dumps(masked)
    assert masked["rows"][0][0] == "root"


def test_strings_and_keys_anywhere_are_masked_and_no_entry_is_lost() -> None:
    """Two keys that differed only by their secret stay two."""
    masked, count = PLAIN.value({"password=a": [1], "password=b": [{"m": "pwd=c"}], "password=[redacted] (2)": 0})
    assert count == 3
    assert len(masked) == 3
    assert "pwd=c" not in json.dumps(masked)


def test_no_nesting_is_too_deep() -> None:
    """The walk does not recurse."""
    value: JsonValue = "password=x"
    for _ in range(5000):
        value = [value]
    masked, count = PLAIN.value(value)
    assert count == 1
    for _ in range(5000):
        masked = masked[0]
    assert masked == f"password={MASK}"


words = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäß0123456789 .,()\n", max_size=200)
PIECES = (
    *("password", "token", "pass", "PWD=", "passphrase", "api_key", "name", "value", "--", "known", "x", "a1b2c3d4"),
    *("=", ": ", " ", "\n", '"', "'", "\\", "/", ",", ";", "&", "@", "[", "]", "}", "<", ">", "</password>", "-----"),
    *(MASK, "redacted", "://", "u:", "h/", "Bearer ", "Authorization: ", "ghp_" + "a1" * 12, "eyJabcdef.abcdef."),
    "-----BEGIN PRIVATE KEY-----",
)
fragments = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@given(words)
def test_words_and_numbers_are_never_altered(text: str) -> None:
    """Without a separator there is no secret."""
    assert PLAIN.text(text) == (text, 0)


@given(fragments | st.text())
@example("password=[redacted]x")
@example("[redacted][redacted]")
@example("passwordknown=x")
def test_masking_twice_changes_nothing_more(text: str) -> None:
    """Whatever the text, also one that holds masks and parts of masks."""
    known = Redactor(["known", "dact", "d]x"])
    masked, count = known.text(text)
    assert known.text(masked) == (masked, 0)
    assert (count == 0) == (masked == text)
    assert masked.count(MASK) <= text.count(MASK) + count


@given(fragments, fragments)
def test_a_known_secret_never_survives(before: str, after: str) -> None:
    """Wherever it stands."""
    masked, _ = Redactor([SENTINEL]).text(f"{before}{SENTINEL}{after}")
    assert SENTINEL not in masked


@given(values)
def test_masking_a_value_twice_changes_nothing_more(value: JsonValue) -> None:
    """And leaves numbers, nesting and order alone."""
    masked, _ = PLAIN.value({"password": value, "x": [value]})
    assert PLAIN.value(masked) == (masked, 0)


BEGINNINGS = (
    *("a", ":", "\\", "password=", "password=a,", "password,", 'password="', "password '", "password= a=", "token:"),
    *("pwd=/", "passphrase:", "password" + "\\" * 7, "authorization: ", "bearer ", "name: ", "name:" + "a" * 60),
    *("--a-", "<a", ">a", "://a:", "//a:b", "//a:b@", ":a@", "eyJ", "eyJaaaaa.", "sk-", "ghp_", "SG.", "$6$", MASK),
    *("\npassword: a ", "password: a\t", "password:\t|\n", "set_password(", "password is ", "cookie: a=", "a@c"),
    *(
        "mysql ",
        "curl -u ",
        "sshpass -p",
        "docker login ",
        "identified with ",
        "credential=a ",
        "machine a login a password ",
    ),
    *("private-lines: 1 " + "a" * 64, "0" * 32 + "-us", "0123456789:aa", "aa1q~", "pbkdf2_sha256$1$", "{SSHA}"),
    "-----BEGIN PRIVATE KEY-----",
)


@pytest.mark.parametrize("piece", BEGINNINGS)
def test_a_long_text_of_beginnings_is_masked_in_one_pass(piece: str) -> None:
    """No text makes a pattern look at the same characters again and again: quadratic would not end here."""
    PLAIN.text(piece * (300_000 // len(piece)))
