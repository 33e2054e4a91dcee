"""Runs on the dev server and Valkey whose sinks are searched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.secrets.sinks import Logs, all_logs


@pytest.fixture
def logs() -> Iterator[Logs]:
    """All that any logger says during the test."""
    with all_logs() as heard:
        yield heard
