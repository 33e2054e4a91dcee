"""What of a configuration is known to be secret, and that no log of a command has it."""

from __future__ import annotations

import io
import logging
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from boundary.redaction import MASK, Redactor
from casebound import cli_errors
from casebound.cli_errors import Exit
from casebound.logs import log_to
from casebound.settings import Settings


def test_variables_that_are_named_like_secrets_are_known_without_being_listed() -> None:
    """A model's key, say; but no directory, no everyday word, nothing that stands in half of every text."""
    environment = {
        "OPENAI_API_KEY": "zq9Xw-plain",
        "MYSQL_ROOT_PASSWORD": "Tr0ub4dor",
        "PWD": "/srv/application",
        "OLDPWD": "/srv/application1",
        "DB_PASSWORD": "postgres",
        "CI_TOKEN": "short1",
        "HOME": "/home/application",
        "AWS_SECRET_ACCESS_KEY": "",
    }
    assert set(Settings().secret_values(environment)) == {"zq9Xw-plain", "Tr0ub4dor"}


@pytest.mark.parametrize("url", ["redis://[zq9Xw@h", "redis://h:port", "redis://:a/b@h"])
def test_a_url_that_cannot_be_read_has_no_known_password(url: str) -> None:
    """It cannot be connected to either, which is told elsewhere."""
    assert Settings().with_store(url).secret_values({}) == ()


@contextmanager
def bare_root() -> Generator[None]:
    """Have the root logger as a command finds it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    try:
        yield
    finally:
        root.handlers[:], root.level = handlers, level


def test_a_command_s_log_masks_messages_and_traces_of_all_loggers() -> None:
    """Known secrets wherever they stand, others by their form; also what a library says of its own accord."""
    written = io.StringIO()
    with bare_root():
        log_to(logging.StreamHandler(written), logging.INFO, Redactor(["zq9Xw-plain"]))
        library = logging.getLogger("some.library")
        library.warning("sent %s with %s", "zq9Xw-plain", "DB_PASSWORD=zq8Xw")
        try:
            raise ConnectionError("postgres://app:zq7Xw@db refused")
        except ConnectionError:
            library.exception("gave up")
    text = written.getvalue()
    assert not [secret for secret in ("zq9Xw-plain", "zq8Xw", "zq7Xw") if secret in text]
    assert text.count(MASK) == 4  # the line of the source among them
    assert "WARNING some.library: sent" in text
    assert "Traceback" in text


def test_a_bug_in_a_command_is_told_with_its_trace_and_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever an exception says that nobody planned for."""

    async def command() -> int:
        raise KeyError("DB_PASSWORD=zq8Xw")

    assert cli_errors.run_command(command) == Exit.FAILED
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert f"DB_PASSWORD={MASK}" in told
    assert "zq8Xw" not in told
