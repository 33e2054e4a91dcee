"""One activity attempt as the boundary sees it: server time, progress, the meaning of a cancel.

Above: every activity enters `attempt()`. Below: temporalio. The background beat starts after
`FIRST_BEAT_S`, so a short call costs none, and lasts until the activity returns: a cancellation
reaches it within a beat, and a lost worker is noticed within the heartbeat time-out.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import TypeVar

from temporalio import activity

from activities.contracts import OfRun
from boundary.contracts import valid_unicode

FIRST_BEAT_S = 0.3
"""Most calls are over by then."""

BEAT_S = 0.3
"""The worker sends at most one beat in its throttle interval, 0.3 s too; see `casebound.worker`."""


class ActivityAttempt:
    """The running attempt. Implements `boundary.attempt.Attempt`."""

    def __init__(self) -> None:
        self._started_ms = round(activity.info().started_time.timestamp() * 1000)
        self._entered = time.monotonic()
        self._detail = ""

    def now_ms(self) -> int:
        """Server time of the attempt's start plus what passed since: worker clock skew does not matter."""
        return self._started_ms + round((time.monotonic() - self._entered) * 1000)

    def progress(self, detail: str) -> None:
        """Remember what the next beat shows in the Temporal UI; from any thread."""
        self._detail = valid_unicode(detail[:200])

    def cancel_requested(self) -> bool:
        """True only for a cancellation by the run; a shutdown, pause or reset leaves the call to a later attempt."""
        details = activity.cancellation_details()
        return details is not None and details.cancel_requested

    async def beat(self) -> None:
        """Send beats for ever."""
        await asyncio.sleep(FIRST_BEAT_S)
        while True:
            if self._detail:
                activity.heartbeat(self._detail)
            else:
                activity.heartbeat()
            await asyncio.sleep(BEAT_S)


_Request = TypeVar("_Request", bound=OfRun)


def of_run(request: _Request) -> _Request:
    """Fill in which run the activity's input belongs to, where the input leaves it to the caller's run id."""
    if request.run_id:
        return request
    return request.model_copy(update={"run_id": activity.info().workflow_run_id or ""})


@contextlib.asynccontextmanager
async def attempt() -> AsyncGenerator[ActivityAttempt]:
    """Beat in the background from entry to return."""
    current = ActivityAttempt()
    beating = asyncio.create_task(current.beat())
    try:
        yield current
    finally:
        beating.cancel()
