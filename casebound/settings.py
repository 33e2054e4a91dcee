"""What `casebound.toml` may say, and what the environment adds to it.

Above: every command loads it once. Below: the models of the sources, each of its tool package,
and of the run's limits. Where Temporal is, is not told here but by the ecosystem's own
environment configuration (`casebound.temporal`). The format is documented in
`docs/configuration.md`; how errors are worded in `casebound.settings_errors`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import unquote, urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from activities.contracts import RunLimits
from activities.knowledge.source import KnowledgeSource
from activities.logs.source import NAME_PATTERN, LogSource
from activities.sql.source import SqlSource
from boundary.secret_patterns import is_secret_name
from casebound import __version__
from casebound.settings_errors import SettingsError, describe
from casebound.tool_settings import ToolSettings

CONFIG_NAME = "casebound.toml"
"""Read from the working directory when no other file is named."""

EXPANDED = ("path", "glob", "url")
"""Keys in whose values `${NAME}` stands for an environment variable; `$${` is a literal `${`."""

STORE_URL = r"(redis|rediss|unix)://."
STORE_URL_WORDS = "a url that begins with redis://, rediss:// or unix://"

UNNAMED_SECRET_MIN = 8
"""Characters of a variable that is masked without being listed in [secrets]."""

_VARIABLE = re.compile(r"\$?\$\{([^}]*)\}")


class Section(BaseModel):
    """A part of the file: immutable, and a key it does not have is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(Section):
    """Where the records are. REDIS_URL overrides the url; the embedded stack needs none."""

    url: str | None = None
    prefix: str = Field(default="casebound", pattern=r"^[A-Za-z0-9._-]{1,64}$")
    """First part of every key; runs of one store share it."""

    @field_validator("url")
    @classmethod
    def _is_a_store_url(cls, url: str | None) -> str | None:
        if url is not None and re.match(STORE_URL, url) is None:
            raise ValueError(f"expected {STORE_URL_WORDS}")
        return url


class WorkerSettings(Section):
    """How a worker serves runs."""

    task_queue: str = Field(default="casebound", min_length=1, max_length=200)
    threads: int = Field(default=8, ge=1, le=256)
    """Of the pool in which synchronous tools run."""
    concurrent_calls: int = Field(default=32, ge=1, le=1000)
    """Activities at one time, tools and planner together."""
    graceful_shutdown_s: float = Field(default=10, ge=0, le=3600)
    """Time for running tools to finish after SIGTERM; what does not is run again elsewhere."""
    wait_for_servers_s: float = Field(default=60, ge=0, le=3600)
    """How long `casebound worker` asks for each of its servers before it gives up."""
    deployment: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,40}$")
    """Name of its Worker Deployment; None: it takes no part in Temporal's worker versioning."""
    build_id: str = Field(default=__version__, pattern=r"^[A-Za-z0-9._+-]{1,40}$")
    """Of the deployment's version; short, since it stands in many events of every history."""
    versioning: Literal["auto-upgrade", "pinned"] = "auto-upgrade"
    """Whether open runs go over to the deployment's current version."""


class LimitSettings(RunLimits):
    """The budget of a run where the command line says nothing else."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SecretSettings(Section):
    """What must not be seen anywhere."""

    environment: tuple[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()
    """Environment variables whose values are masked in every agent result and message."""


class Settings(Section):
    """The whole file, after the environment was applied."""

    logs: dict[str, LogSource] = Field(default_factory=dict)
    sql: dict[str, SqlSource] = Field(default_factory=dict)
    knowledge: dict[str, KnowledgeSource] = Field(default_factory=dict)
    store: StoreSettings = StoreSettings()
    worker: WorkerSettings = WorkerSettings()
    limits: LimitSettings = LimitSettings()
    tools: dict[str, ToolSettings] = Field(default_factory=dict)
    secrets: SecretSettings = SecretSettings()

    @field_validator("logs", "sql", "knowledge", mode="before")
    @classmethod
    def _named_by_their_tables(cls, tables: object, info: ValidationInfo) -> object:
        """Give each source the name of its table."""
        if not isinstance(tables, dict):
            return tables
        named = cast("dict[str, object]", tables)
        return {name: _named(f"{info.field_name}.{name}", name, table) for name, table in named.items()}

    _file: Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path | None:
        """Where it was read from; None: there was no file."""
        return self._file

    def located(self, file: Path) -> Settings:
        """Remember the file, and take relative paths from its folder."""
        folder = file.absolute().parent
        logs = {name: source.resolve(folder) for name, source in self.logs.items()}
        sql = {name: source.resolve(folder) for name, source in self.sql.items()}
        knowledge = {name: source.resolve(folder) for name, source in self.knowledge.items()}
        located = self.model_copy(update={"logs": logs, "sql": sql, "knowledge": knowledge})
        located._file = file.absolute()
        return located

    def with_store(self, url: str) -> Settings:
        """Use another store, as the embedded stack does."""
        return self.model_copy(update={"store": self.store.model_copy(update={"url": url})})

    @property
    def tool_queues(self) -> dict[str, str]:
        """Task queues of tools that run on other workers than the run."""
        return {name: tool.task_queue for name, tool in self.tools.items() if tool.task_queue is not None}

    def on_one_worker(self) -> Settings:
        """Let the run's own worker serve it in every respect, as on the embedded stack, where there is no other."""
        tools = {name: tool.model_copy(update={"task_queue": None}) for name, tool in self.tools.items()}
        worker = self.worker.model_copy(update={"deployment": None})
        return self.model_copy(update={"tools": tools, "worker": worker})

    def secret_values(self, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        """List the values to mask: of the named variables, of those named like a secret, and passwords in URLs."""
        values = [environment.get(name, "") for name in self.secrets.environment]
        values += [value for name, value in environment.items() if _is_a_secret(name, value)]
        urls = [self.store.url or "", *(source.url.get_secret_value() for source in self.sql.values())]
        for password in map(_password_of, urls):
            values += [password, unquote(password)]
        return tuple(value for value in dict.fromkeys(values) if value)


def load_settings(config: Path | None = None, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the named file, else `casebound.toml` of the working directory if there is one.

    Raises:
        SettingsError: the file cannot be read, or something in it is not as it must be.
    """
    file = config or Path(CONFIG_NAME)
    found = file.is_file()
    if config is not None and not found:
        raise SettingsError(f"{config}: there is no such file\n  fix: name your {CONFIG_NAME} with --config")
    values = _read(file) if found else {}
    _expand_section(file, "", values, environment)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(describe(file, error, Settings)) from None
    settings = settings.located(file) if found else settings
    url = environment.get("REDIS_URL")
    return settings.with_store(_redis_url(url)) if url else settings


def _is_a_secret(variable: str, value: str) -> bool:
    """Tell whether an environment variable nobody named holds a secret, and one that is no everyday word."""
    if not is_secret_name(variable) or variable in ("PWD", "OLDPWD"):
        return False
    return len(value) >= UNNAMED_SECRET_MIN and not (value.isalpha() and value.islower())


def _password_of(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:
        return ""


def _named(where: str, name: str, table: object) -> object:
    if not isinstance(table, dict):
        return table
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise ValueError(f"{name!r} cannot name a source: use letters, digits, '_', '.' and '-', at most 64")
    if "name" in table:
        raise ValueError(f"[{where}] has a key `name`: the table's own name is the source's, remove it")
    return {**cast("dict[str, object]", table), "name": name}


def _redis_url(url: str) -> str:
    if re.match(STORE_URL, url) is None:
        raise SettingsError(f"REDIS_URL: expected {STORE_URL_WORDS}\n  fix: correct the variable")
    return url


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not valid TOML: {error}\n  fix: correct the file there") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: not UTF-8 at byte {error.start}\n  fix: save the file as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}\n  fix: make it readable") from None


def _expand_section(file: Path, where: str, table: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Replace variables in the values of `EXPANDED` keys, at any depth."""
    for key, value in table.items():
        here = f"{where}.{key}" if where else key
        if isinstance(value, dict):
            _expand_section(file, here, cast("dict[str, Any]", value), environment)
        elif key in EXPANDED and isinstance(value, str):
            table[key] = _expanded(file, here, value, environment)


def _expanded(file: Path, where: str, value: str, environment: Mapping[str, str]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        name = match[1]
        if name not in environment:
            raise SettingsError(
                f"{file}: {where}: the environment variable {name!r} is not set\n"
                f"  fix: set {name}, or write $${{{name}}} if the text is meant"
            )
        return environment[name]

    return _VARIABLE.sub(replace, value)
