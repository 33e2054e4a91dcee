"""`casebound.toml`: what it may say, and how an error in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from casebound.settings import CONFIG_NAME, Settings, load_settings
from casebound.settings_errors import SettingsError

SOURCE = 'timestamp = "%Y-%m-%dT%H:%M:%S"\nzone = "UTC"\n'


def write(folder: Path, text: str) -> Path:
    file = folder / CONFIG_NAME
    file.write_text(text, encoding="utf-8")
    return file


def test_a_full_file_is_read(tmp_path: Path) -> None:
    """Every section, each value where the program expects it."""
    file = write(
        tmp_path,
        f"""
[logs.web]
path = "web.log"
{SOURCE}
description = "requests"
[store]
url = "redis://store:6379/1"
prefix = "team-a"
[worker]
task_queue = "diagnoses"
threads = 3
graceful_shutdown_s = 2.5
[limits]
max_tool_calls = 7
[secrets]
environment = ["DB_PASSWORD"]
""",
    )
    settings = load_settings(file, {})
    assert settings.file == file
    assert settings.logs["web"].name == "web"
    assert settings.logs["web"].path == tmp_path / "web.log"
    assert (settings.store.url, settings.store.prefix) == ("redis://store:6379/1", "team-a")
    assert (settings.worker.task_queue, settings.worker.threads, settings.worker.graceful_shutdown_s) == (
        "diagnoses",
        3,
        2.5,
    )
    assert (settings.limits.max_tool_calls, settings.limits.max_turns) == (7, 40)
    assert settings.secrets.environment == ("DB_PASSWORD",)


def test_no_file_means_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory without a file is no error until sources are needed."""
    monkeypatch.chdir(tmp_path)
    settings = load_settings(None, {})
    assert settings == Settings()
    assert settings.file is None
    assert (settings.store.prefix, settings.worker.task_queue) == ("casebound", "casebound")


def test_the_file_of_the_working_directory_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It need not be named."""
    write(tmp_path, "[worker]\nthreads = 5\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings(None, {}).worker.threads == 5


def test_paths_are_taken_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the command is typed."""
    (tmp_path / "conf").mkdir()
    file = write(tmp_path / "conf", f'[logs.a]\npath = "../a.log"\n{SOURCE}[logs.b]\nglob = "b/*.log"\n{SOURCE}')
    monkeypatch.chdir(tmp_path)
    settings = load_settings(file.relative_to(tmp_path), {})
    assert settings.logs["a"].path == tmp_path / "conf" / "../a.log"
    assert settings.logs["b"].glob == str(tmp_path / "conf" / "b/*.log")


def test_variables_are_expanded_in_paths_and_urls_only(tmp_path: Path) -> None:
    """`${NAME}` stands for the variable, `$${` for itself, and a description is only text."""
    file = write(
        tmp_path,
        f'[logs.a]\npath = "${{ROOT}}/$${{x}}/a.log"\n{SOURCE}description = "${{ROOT}}"\n'
        '[store]\nurl = "redis://:${PW}@h/0"\n',
    )
    settings = load_settings(file, {"ROOT": "/var/log", "PW": "pw"})
    assert settings.logs["a"].path == Path("/var/log/${x}/a.log")
    assert settings.logs["a"].description == "${ROOT}"
    assert settings.store.url == "redis://:pw@h/0"


def test_redis_url_overrides_the_store(tmp_path: Path) -> None:
    """The environment has the last word."""
    file = write(tmp_path, '[store]\nurl = "redis://file/0"\nprefix = "p"\n')
    settings = load_settings(file, {"REDIS_URL": "rediss://environment/0"})
    assert (settings.store.url, settings.store.prefix) == ("rediss://environment/0", "p")


def test_secret_values_are_those_of_set_variables_and_the_stores_password(tmp_path: Path) -> None:
    """A variable that is not set masks nothing; the empty text never is a secret."""
    file = write(tmp_path, '[secrets]\nenvironment = ["A", "B", "C"]\n[store]\nurl = "redis://u:pa%20ss@h/0"\n')
    settings = load_settings(file, {})
    assert set(settings.secret_values({"A": "alpha", "B": ""})) == {"alpha", "pa ss", "pa%20ss"}


@pytest.mark.parametrize(
    ("text", "key", "problem", "fix"),
    [
        ("[worker]\ntreads = 3\n", "worker.treads", "unknown key", "write `threads`"),
        ("[log.web]\npath = 'x'\n", "log", "unknown section", "write `logs`"),
        (f"[logs.web]\npaht = 'x'\npath = 'x'\n{SOURCE}", "logs.web.paht", "unknown key", "write `path`"),
        (
            "[zzz]\n",
            "zzz",
            "unknown section",
            "known here: knowledge, limits, logs, secrets, sql, store, tools, worker",
        ),
        ("[worker]\nthreads = 'many'\n", "worker.threads", "expected a whole number, got 'many'", "default, 8"),
        ("[worker]\nthreads = 0\n", "worker.threads", "greater than or equal to 1, got '0'", "default, 8"),
        ("[limits]\nmax_tuns = 3\n", "limits.max_tuns", "unknown key", "write `max_turns`"),
        ("[store]\nurl = 'http://h'\n", "store.url", "begins with redis://, rediss:// or unix://", "correct it"),
        ("store = 3\n", "store", "expected a table", "write it as [store]"),
        ("[logs.'b d']\npath = 'x'\n", "logs", "'b d' cannot name a source", "correct it"),
        (f"[logs.web]\nname = 'y'\npath = 'x'\n{SOURCE}", "logs", "[logs.web] has a key `name`", "correct it"),
        ("[logs.web]\npath = 'x'\n", "logs.web.timestamp", "is missing", "add `timestamp = ...` there"),
        ("[logs.web]\npath = '${NOPE}/x'\n", "logs.web.path", "'NOPE' is not set", "set NOPE"),
        ("[secrets]\nenvironment = ['A=b']\n", "secrets.environment.0", "match pattern", "correct it"),
    ],
)
def test_an_error_names_file_key_expectation_and_fix(
    tmp_path: Path, text: str, key: str, problem: str, fix: str
) -> None:
    """Two lines: what is wrong where, and what to do."""
    file = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(file, {})
    first, second = caught.value.message.splitlines()
    assert first.startswith(f"{file}: {key}: ")
    assert problem in first
    assert second.startswith("  fix: ")
    assert fix in second


def test_every_error_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    """So that mending takes one try."""
    file = write(tmp_path, "[worker]\nthreads = 0\n[limits]\nmax_turns = 0\n[zzz]\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(file, {})
    assert caught.value.message.count(str(file)) == 3


def test_a_password_is_not_told(tmp_path: Path) -> None:
    """An error about a url does not repeat it."""
    file = write(tmp_path, "[store]\nurl = 'http://u:geheim@h'\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(file, {})
    assert "geheim" not in caught.value.message


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"a = [", "not valid TOML"), (b"a = '\xff'", "not UTF-8 at byte 5"), (None, "there is no such file")],
)
def test_a_file_that_cannot_be_read_is_told_so(tmp_path: Path, content: bytes | None, problem: str) -> None:
    """With its name, never a traceback."""
    file = tmp_path / "other.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        load_settings(file, {})
    assert f"{file}: {problem}" in caught.value.message


def test_a_bad_redis_url_names_the_variable(tmp_path: Path) -> None:
    """Not the file, which is right."""
    with pytest.raises(SettingsError, match=r"^REDIS_URL: expected"):
        load_settings(write(tmp_path, ""), {"REDIS_URL": "localhost:6379"})
