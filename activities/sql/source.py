"""A SQL source as an operator declares it: a URL that nobody but the driver sees, and a time-out.

Above: the application reads one from each `[sql.NAME]` table and hands them to `sql_tools`. Below: pydantic.
Nothing here opens a connection. No message holds any part of the URL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from activities.logs.source import NAME_PATTERN
from activities.sql.lexing import Dialect

_DIALECTS: dict[str, Dialect] = {
    "mysql": "mysql",
    "mariadb": "mysql",
    "postgresql": "postgres",
    "postgres": "postgres",
    "sqlite": "sqlite",
}
_PORTS: dict[Dialect, int] = {"mysql": 3306, "postgres": 5432, "sqlite": 0}
_SSL_MODES = ("disable", "prefer", "require", "verify-ca", "verify-full")
_EXAMPLE = (
    "mysql://user:password@host:3306/database, postgresql://user:password@host:5432/database or sqlite:///file.db"
)


@dataclass(frozen=True)
class Address:
    """The parts of a source's URL, decoded."""

    host: str
    port: int
    user: str
    password: str
    database: str
    ssl_mode: str
    ssl_root_certificate: str | None

    def __repr__(self) -> str:
        return "Address(...)"


class SqlSource(BaseModel):
    """One named database."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(pattern=NAME_PATTERN)
    """How the agent names it."""
    url: SecretStr
    """`mysql://`, `mariadb://` or `postgresql://user:password@host:port/database`, or `sqlite:///path`; reserved
    characters of user and password percent-encoded; `?sslmode=` and `?sslrootcert=` as libpq has them."""
    description: str = Field(default="", max_length=1000)
    """For the agent: what is kept here."""
    statement_timeout_s: float = Field(default=15, gt=0, le=60)
    """Longest a statement may run on the server, in seconds."""

    @model_validator(mode="after")
    def _is_complete(self) -> SqlSource:
        parts = _split(self.url.get_secret_value())
        if self.dialect == "sqlite":
            if parts.netloc or not parts.path.strip("/") or parts.query:
                raise ValueError("`url` names no SQLite file: write sqlite:///relative.db or sqlite:////absolute.db")
            return self
        _check_server(parts)
        return self

    def resolve(self, base: Path) -> SqlSource:
        """Return the source with a relative SQLite path taken from `base`."""
        if self.dialect != "sqlite":
            return self
        return self.model_copy(update={"url": SecretStr(f"sqlite:///{quote(str(base / self.path))}")})

    @property
    def dialect(self) -> Dialect:
        """How its server reads SQL."""
        return _DIALECTS[_split(self.url.get_secret_value()).scheme]

    @property
    def path(self) -> Path:
        """The SQLite file; relative until resolved."""
        return Path(_sqlite_path(self.url.get_secret_value()))

    @cached_property
    def address(self) -> Address:
        """Where the server is and who asks."""
        parts = _split(self.url.get_secret_value())
        options = dict(parse_qsl(parts.query))
        return Address(
            host=parts.hostname or "",
            port=parts.port or _PORTS[self.dialect],
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=unquote(parts.path.removeprefix("/")),
            ssl_mode=options.get("sslmode", "prefer"),
            ssl_root_certificate=options.get("sslrootcert"),
        )

    def without_address(self, text: str) -> str:
        """Return a driver's or server's message with every part of the URL taken out."""
        text = re.sub(r"['`\"][^'`\"@]*['`\"]@['`\"][^'`\"]*['`\"]", "the account", text)
        if self.dialect == "sqlite":
            return text.replace(str(self.path), "the file")
        address = self.address
        for part in (self.url.get_secret_value(), address.password, address.host, address.user):
            if part:
                text = re.sub(rf"(?<![\w.]){re.escape(part)}(?![\w])", "***", text)
        return text


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(f"`url` cannot be read: percent-encode the password's @ : / ? # as in {_EXAMPLE}") from None
    if parts.scheme not in _DIALECTS:
        raise ValueError(f"`url` begins with none of mysql://, mariadb://, postgresql://, sqlite:///: write {_EXAMPLE}")
    return parts


def _sqlite_path(url: str) -> str:
    """What stands after `sqlite:///`, as it is: a file's name may hold a question mark only percent-encoded."""
    return unquote(url.split(":///", 1)[1])


def _check_server(parts: SplitResult) -> None:
    if not parts.hostname:
        raise ValueError(f"`url` names no host: write {_EXAMPLE}")
    if not parts.username:
        raise ValueError(f"`url` names no user: write {_EXAMPLE}")
    if parts.scheme.startswith("postgres") and not parts.path.strip("/"):
        raise ValueError("`url` names no database: PostgreSQL needs one after the host")
    if parts.fragment:
        raise ValueError("`url` has a #: percent-encode it as %23")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if set(options) - {"sslmode", "sslrootcert"} or options.get("sslmode", "prefer") not in _SSL_MODES:
        raise ValueError(f"`url` takes the options sslmode ({', '.join(_SSL_MODES)}) and sslrootcert, and no others")
    if options.get("sslmode", "").startswith("verify") and not options.get("sslrootcert"):
        raise ValueError("`url` has sslmode=verify-...: name the certificate authority's file with sslrootcert")
