"""One budget of requests for all workers of a fleet: a back end of ``api.budget``."""

from __future__ import annotations

import time

from wikisync.fleet.rows import Rows

TAKEN_S = 0.3
"""Requests are taken for so long at a time, and not kept for long."""
SPARED = 0.9
"""Of the requests of a minute; the rest is for those that were taken before it."""


class FleetBudget:
    """The requests of one token, shared by all workers."""

    def __init__(self, rows: Rows, per_minute: int) -> None:
        """Nothing is taken yet."""
        self._rows, self._left, self._until = rows, 0, 0.0
        self._count = max(1, int(per_minute / 60 * TAKEN_S))
        self._seconds = self._count * 60 / (per_minute * SPARED)

    async def take(self) -> float:
        """Seconds to wait before it is asked again; 0: one request may be made now."""
        if not self._left or time.monotonic() > self._until:
            if wait_s := await self._rows.take_requests(self._seconds):
                return wait_s
            self._left, self._until = self._count, time.monotonic() + TAKEN_S
        self._left -= 1
        return 0.0

    async def refused(self, pause_s: float) -> None:
        """The service made this worker pause; the others do, too."""
        self._left = 0
        await self._rows.pause(pause_s)
