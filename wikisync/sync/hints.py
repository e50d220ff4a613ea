"""Asking for hints that a wiki moved, the less often the longer nothing happens.

A hint is only a reason to look; a wiki for which the service has none is looked at
instead, and a wiki is looked at whole from time to time whatever hints say.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping
from contextlib import suppress

from wikisync.errors import RateLimited, WikisyncError
from wikisync.sync.standing import Standing, Why
from wikisync.sync.standings import JITTER, Standings
from wikisync.sync.work import WikiWork, guarded

log = logging.getLogger(__name__)

HINT_GROWTH = 1.5
HINTS_AT_ONCE = 8


class Hints:
    """Asks for the marks of all wikis of a daemon until it is cancelled."""

    def __init__(
        self,
        works: Mapping[str, WikiWork],
        standings: Standings,
        *,
        chance: random.Random,
    ) -> None:
        """Name the wikis; nothing is asked."""
        self._works = works
        self._standings = standings
        self._chance = chance

    async def run(self) -> None:
        """Ask for each wiki's mark by itself, for a few at the same time."""
        async with asyncio.TaskGroup() as group:
            few = asyncio.Semaphore(HINTS_AT_ONCE)
            for standing in self._standings.by_name.values():
                group.create_task(self._follow(standing, few))

    async def _follow(self, standing: Standing, few: asyncio.Semaphore) -> None:
        # the first ones of many wikis are spread; by their jitter they stay so
        wait_s = self._chance.uniform(*self._standings.hint_range_s(standing))
        while True:
            await self._wait_for_hint(standing, wait_s)
            async with few:
                await self._take_hint(standing)
            wait_s = self._next_wait_s(standing)

    async def _take_hint(self, standing: Standing) -> None:
        if self._standings.trouble is not None or standing.is_paused:
            return
        if not standing.has_hints:
            # the whole wiki is the only hint there is
            self._standings.ask_quietly(standing, Why.WIKI)
        hint = self._works[standing.name].hint()
        try:
            found = await guarded(standing.name, hint)
        except WikisyncError as error:
            if isinstance(error, RateLimited) and not error.is_everywhere:
                log.info("%s: no hint: %s", standing.name, error.message)
                standing.hint_s = self._standings.hint_range_s(standing)[1]
                return
            if await self._standings.is_of_service(error):
                self._standings.ask_quietly(standing, Why.WIKI)
                self._standings.service_failed(error)
                return
            log.info("%s: no hint: %s", standing.name, error.message)
            found = None
        standing.has_hints = found is not None
        if found is None:
            return
        standing.has_costly_hints = found.is_costly
        if found.mark != standing.mark:
            # also the first one: the wiki may have moved since it was looked at
            standing.mark = found.mark
            self._standings.ask(standing.name, Why.WIKI)

    async def _wait_for_hint(self, standing: Standing, wait_s: float) -> None:
        """Wait until a hint is due, less long where something happens meanwhile."""
        clock = self._standings.clock
        until = clock() + wait_s
        while (left_s := until - clock()) > 0:
            standing.quickened.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await standing.quickened.wait()
                until = min(until, clock() + self._next_wait_s(standing))

    def _next_wait_s(self, standing: Standing) -> float:
        """How long to wait now; without anything that happens, longer and longer."""
        least_s, most_s = self._standings.hint_range_s(standing)
        wait_s = min(max(standing.hint_s, least_s), most_s)
        standing.hint_s = wait_s * HINT_GROWTH
        return wait_s * self._chance.uniform(1.0, 1.0 + JITTER)
