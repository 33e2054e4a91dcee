"""The recorded outage, diagnosed once for the tests of a module."""

from __future__ import annotations

import pytest_asyncio
from temporalio.testing import WorkflowEnvironment

from tests.examples.incident import Diagnosis, diagnose
from tests.sql.conftest import maria
from tests.support import temporal

__all__ = ["maria"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def diagnosis(dev_server: WorkflowEnvironment) -> Diagnosis:
    """One run over the incident as it was recorded."""
    return await diagnose(await temporal.connect(dev_server))
