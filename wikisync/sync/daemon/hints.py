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
from wikisync.sync.daemon.schedule import JITTER, Schedule
from wikisync.sync.daemon.wiki_status import Why, WikiStatus
from wikisync.sync.daemon.work import WikiWork, guarded

log = logging.getLogger(__name__)

HINT_GROWTH = 1.5
HINTS_AT_ONCE = 8


class Hints:
    """Asks for the marks of all wikis of a daemon until it is cancelled."""

    def __init__(
        self,
        works: Mapping[str, WikiWork],
        schedule: Schedule,
        *,
        chance: random.Random,
    ) -> None:
        """Name the wikis; nothing is asked."""
        self._works = works
        self._schedule = schedule
        self._chance = chance

    async def run(self) -> None:
        """Ask for each wiki's mark by itself, for a few at the same time."""
        async with asyncio.TaskGroup() as group:
            few = asyncio.Semaphore(HINTS_AT_ONCE)
            for wiki_status in self._schedule.by_name.values():
                group.create_task(self._follow(wiki_status, few))

    async def _follow(self, wiki_status: WikiStatus, few: asyncio.Semaphore) -> None:
        # the first ones of many wikis are spread; by their jitter they stay so
        wait_s = self._chance.uniform(*self._schedule.hint_range_s(wiki_status))
        while True:
            await self._wait_for_hint(wiki_status, wait_s)
            async with few:
                await self._take_hint(wiki_status)
            wait_s = self._next_wait_s(wiki_status)

    async def _take_hint(self, wiki_status: WikiStatus) -> None:
        if self._schedule.trouble is not None or wiki_status.is_paused:
            return
        if not wiki_status.has_hints:
            # the whole wiki is the only hint there is
            self._schedule.ask_quietly(wiki_status, Why.WIKI)
        hint = self._works[wiki_status.name].hint()
        try:
            found = await guarded(wiki_status.name, hint)
        except WikisyncError as error:
            if isinstance(error, RateLimited) and not error.is_everywhere:
                log.info("%s: no hint: %s", wiki_status.name, error.message)
                wiki_status.hint_s = self._schedule.hint_range_s(wiki_status)[1]
                return
            if await self._schedule.is_of_service(error):
                self._schedule.ask_quietly(wiki_status, Why.WIKI)
                self._schedule.service_failed(error)
                return
            log.info("%s: no hint: %s", wiki_status.name, error.message)
            found = None
        wiki_status.has_hints = found is not None
        if found is None:
            return
        wiki_status.has_costly_hints = found.is_costly
        before, wiki_status.hinted_at = wiki_status.hinted_at, self._schedule.clock()
        if found.mark != wiki_status.mark:
            # what no webhook told of shows that they do not tell of everything
            wiki_status.has_hooks &= wiki_status.heard_at >= before
            # also the first one: the wiki may have moved since it was looked at
            wiki_status.mark = found.mark
            self._schedule.ask(wiki_status.name, Why.WIKI)

    async def _wait_for_hint(self, wiki_status: WikiStatus, wait_s: float) -> None:
        """Wait until a hint is due, less long where something happens meanwhile."""
        clock = self._schedule.clock
        until = clock() + wait_s
        while (left_s := until - clock()) > 0:
            wiki_status.quickened.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await wiki_status.quickened.wait()
                until = min(until, clock() + self._next_wait_s(wiki_status))

    def _next_wait_s(self, wiki_status: WikiStatus) -> float:
        """How long to wait now; without anything that happens, longer and longer."""
        least_s, most_s = self._schedule.hint_range_s(wiki_status)
        wait_s = min(max(wiki_status.hint_s, least_s), most_s)
        wiki_status.hint_s = wait_s * HINT_GROWTH
        return wait_s * self._chance.uniform(1.0, 1.0 + JITTER)
