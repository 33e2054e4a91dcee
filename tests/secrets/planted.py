"""Secrets that are planted in runs: each in one form and one place, so that a leak names where it came from.

Each is short and of no special make, unless its form is: only what stands around it gives it away.
"""

from __future__ import annotations

from boundary.contracts import JsonValue

FORMS = (
    "could not connect to postgres://app:{}@db:5432/shop",
    "DB_PASSWORD={}",
    "login failed, password={} user=root",
    "password: {}",
    "redis://:{}@cache:6379/0: connection refused",
    "Authorization: Bearer {}",
    "authorization: Basic {}",
    "X-Api-Key: {}",
    '{{"password": "{}", "user": "app"}}',
    '{{\\"client_secret\\": \\"{}\\"}}',
    "aws_secret_access_key = {}",
    "GET /x?access_token={}&page=2",
    "Server=db;Uid=app;Pwd={};",
    "mysql -u root -p{} shop",
    "CREATE USER app IDENTIFIED BY '{}'",
    "postgres://app:pa/{}@db/shop",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE{}4lgOEePzNm0tRgeLezV6ffAt\n-----END RSA PRIVATE KEY-----",
    "used AKIAIOSFODNN{} for it",
    "used ghp_16C7e42F292c6912E7710c8383{} for it",
    "used sk-proj-a1B2c3D4e5F6g7H8i9J0{} for it",
    "used xoxb-123456789012-{} for it",
    "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{} was refused",
)
"""Texts as tools, libraries and configurations make them."""


def secret(place: str, number: int) -> str:
    """The secret that is planted in that place in that form, made of capitals and digits: 8 characters."""
    return f"ZQ{place[:2].upper()}{number:02d}XW"


def text(place: str, number: int) -> str:
    """A text of that place with its secret in that form."""
    return FORMS[number].format(secret(place, number))


def values(place: str, number: int) -> JsonValue:
    """JSON of that place that holds the secret in ways a text cannot."""
    one = secret(place, number)
    return {
        "password": one,
        "nested": [{"dbPassword": one}, {"name": "API_TOKEN", "value": one}],
        "headers": {"Authorization": f"Bearer {one}", "Cookie": one},
        "argv": ["psql", "--password", one],
        "columns": ["user", "secret"],
        "rows": [["app", one]],
        f"password={one}": 1,
    }


def found_in(sinks: dict[str, str], place: str) -> list[str]:
    """Name each sink that holds most of a secret of that place, and the form it came in."""
    return [
        f"{FORMS[number]!r} in {sink}"
        for number in range(len(FORMS))
        for sink, content in sinks.items()
        if secret(place, number)[:6] in content
    ]
