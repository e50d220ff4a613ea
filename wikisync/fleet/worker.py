"""One worker of a fleet: a process that runs cycles until it is ended."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from wikisync.api.client import Client
from wikisync.fleet.cycle import Cycle
from wikisync.fleet.discovery import discover
from wikisync.fleet.rows import Rows, pool_for
from wikisync.fleet.runner import FleetRunner

Step = Callable[[str], Awaitable[None]]


async def passes(_step: str) -> None:
    """Nobody is told of the steps of a cycle."""


class SiteWorker:
    """Cycles and lists, in the event loop of the cycles."""

    def __init__(self, cycle: Cycle) -> None:
        """See ``work_on_sites``."""
        self._cycle = cycle

    async def cycle(self, key: str) -> None:
        """Run one cycle of a wiki."""
        await self._cycle.run(key)

    async def idle(self) -> None:
        """Look for changed wikis."""
        one = self._cycle
        await discover(one.client, one.rows, one.settings)


async def work_on_sites(
    runner: FleetRunner, token: str | None, folder: Path, *, at: Step = passes
) -> None:
    """Work on the fleet in a database until SIGTERM or SIGINT, then end in order.

    ``at`` is told of each step of a cycle.

    Raises:
        UsageError: there is no fleet, or it has another version.
        psycopg.Error: the database is away.
    """

    @asynccontextmanager
    async def made() -> AsyncIterator[SiteWorker]:
        async with pool_for(runner.database) as pool:
            rows = Rows(pool)
            settings = await rows.settings()
            async with Client(settings.service, token) as client:
                yield SiteWorker(
                    Cycle(rows, settings, client, folder, runner.check, at)
                )

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, runner.end)
    await runner.run(made)
