"""What a worker tells its runs of the sources: looked at now and then, not for each run.

Above: the worker hands `SourceWatch.statuses` to the activity that opens runs. Below: `sources`.
"""

from __future__ import annotations

import asyncio
import logging
import time

from activities.stored import SourceStatus
from casebound.settings import Settings
from casebound.sources import Source, look_at_sources

LOOK_AGAIN_S = 60.0
"""How long what was found is told."""

WAIT_S = 3.0
"""How long a run waits for it at its start: a server that is away lets its clients wait for longer."""

_log = logging.getLogger(__name__)


class SourceWatch:
    """Remembers what the latest look found; runs that start together share one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._looking: asyncio.Task[list[Source]] | None = None
        self._looked: float | None = None
        declared = {"logs": settings.logs, "sql": settings.sql, "knowledge": settings.knowledge}
        self._found = tuple(
            SourceStatus(kind=kind, name=name, available=True) for kind, sources in declared.items() for name in sources
        )

    async def statuses(self) -> tuple[SourceStatus, ...]:
        """What is known of the sources; before the first look has ended, nothing against any."""
        if not self._found:
            return ()
        if self._looking is None and (self._looked is None or time.monotonic() - self._looked > LOOK_AGAIN_S):
            self._looking = asyncio.create_task(look_at_sources(self._settings))
            self._looking.add_done_callback(self._ended)
        if self._looking is not None:
            await asyncio.wait([self._looking], timeout=WAIT_S)
        return self._found

    def _ended(self, looking: asyncio.Task[list[Source]]) -> None:
        self._looking, self._looked = None, time.monotonic()
        if looking.cancelled():
            return
        if (error := looking.exception()) is not None:
            _log.error("the sources could not be looked at: %s", type(error).__name__)
            return
        self._found = tuple(
            SourceStatus(
                kind=source.kind, name=source.name, available=source.probe.available, reason=source.probe.reason
            )
            for source in looking.result()
        )
