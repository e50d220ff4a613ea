"""Asking for hints that a wiki moved, the less often the longer nothing happens.

A hint is only a reason for a scan; a wiki for which the service has none is scanned
instead, and the whole wiki is scanned from time to time whatever hints say.

Where one list says of many wikis in which something happened, these are asked for
their marks at once, and the others rarely.  The marks show whether the list can be
trusted: a wiki that moved is on it, a minute later at the most.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from wikisync.errors import RateLimited, WikisyncError
from wikisync.watch.daemon.schedule import HOOKED_HINT_S, JITTER, Schedule
from wikisync.watch.daemon.wiki_status import RemoteHint, Why, WikiStatus
from wikisync.watch.daemon.work import ActivityList, WikiWork, guarded

log = logging.getLogger(__name__)

HINT_GROWTH = 1.5
HINTS_AT_ONCE = 8
LIST_LATE_S = 60.0
"""A wiki that moved is on the list after this time: the service notes an edit at once,
and a push by git in the background."""
LIST_RETRY_S = 3600.0
"""A list that the service does not have is asked for again after this time, and one
that lacked a wiki after this time, doubled with each that it lacked."""

T = TypeVar("T")


class Later(Exception):
    """The service answers later, which says nothing of what was asked."""


async def follow_hints(
    works: Mapping[str, WikiWork],
    lists: Sequence[ActivityList],
    schedule: Schedule,
    chance: random.Random,
) -> None:
    """Ask for each wiki's mark, a few at the same time, until it is cancelled.

    Args:
        works: The wikis.
        lists: Each has many of them.
        schedule: When each is due.
        chance: For jitter.
    """
    hints = _Hints(works, schedule, chance)
    async with asyncio.TaskGroup() as group:
        for one in lists:
            listed = _ListedWikis(one, schedule, chance)
            group.create_task(listed.run(await listed.ask()))
        few = asyncio.Semaphore(HINTS_AT_ONCE)
        for wiki_status in schedule.by_name.values():
            group.create_task(hints.follow(wiki_status, few))


class _Hints:
    def __init__(
        self, works: Mapping[str, WikiWork], schedule: Schedule, chance: random.Random
    ) -> None:
        self._works = works
        self._schedule = schedule
        self._chance = chance

    async def follow(self, wiki_status: WikiStatus, few: asyncio.Semaphore) -> None:
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
        work = self._works[wiki_status.name]
        try:
            found = await answer(self._schedule, work.name, work.hint())
        except Later:
            most_s = self._schedule.hint_range_s(wiki_status)[1]
            wiki_status.hint_s = (
                self._schedule.hint_max_s if wiki_status.is_due else most_s
            )
            return
        except WikisyncError:
            self._schedule.ask_quietly(wiki_status, Why.WIKI)
            return
        wiki_status.is_due = False
        wiki_status.has_hints = found is not None
        if found is None:
            return
        if found.mark != wiki_status.mark:
            self._note_move(wiki_status, found)
        elif found.is_exact and self._schedule.note_unchanged(wiki_status):
            with suppress(WikisyncError):  # its next cycle meets that, and says so
                await guarded(work.name, work.note_unchanged())
        wiki_status.has_costly_hints = found.is_costly
        wiki_status.has_exact_hints = found.is_exact
        wiki_status.hinted_at = self._schedule.clock()

    def _note_move(self, wiki_status: WikiStatus, found: RemoteHint) -> None:
        """Note that a wiki has another mark than at the hint before."""
        is_first, before = wiki_status.mark is None, wiki_status.hinted_at
        wiki_status.mark = found.mark
        # a change that no webhook reported: they do not report everything
        wiki_status.has_hooks &= wiki_status.heard_at >= before
        if is_first:
            scan_began = wiki_status.full_scan - wiki_status.scan_s
            since = max(wiki_status.listed_since, wiki_status.listed_at)
            if not wiki_status.is_listed or scan_began <= since:
                # the wiki may have moved since it was scanned
                self._schedule.ask_quietly(wiki_status, Why.WIKI)
            return
        is_same_kind = found.is_exact == wiki_status.has_exact_hints
        if is_same_kind and wiki_status.listed_at < before:
            wiki_status.unlisted_since = self._schedule.clock()
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
                if wiki_status.is_due:
                    return
                until = min(until, clock() + self._next_wait_s(wiki_status))

    def _next_wait_s(self, wiki_status: WikiStatus) -> float:
        """How long to wait now; without anything that happens, longer and longer."""
        least_s, most_s = self._schedule.hint_range_s(wiki_status)
        wait_s = min(max(wiki_status.hint_s, least_s), most_s)
        wiki_status.hint_s = wait_s * HINT_GROWTH
        return wait_s * self._chance.uniform(1.0, 1.0 + JITTER)


class _ListedWikis:
    """Asks one list in which of its wikis something happened, until it is cancelled."""

    def __init__(
        self, listed: ActivityList, schedule: Schedule, chance: random.Random
    ) -> None:
        self._list = listed
        self._schedule = schedule
        self._chance = chance
        self._trusted: Sequence[WikiStatus] = ()
        """The wikis that are asked rarely because it has them."""
        self._lacked = 0
        """How often it lacked a wiki that had moved."""

    async def run(self, wait_s: float) -> None:
        """Ask again and again, for the first time after so many seconds."""
        while True:
            await asyncio.sleep(wait_s * self._chance.uniform(1.0, 1.0 + JITTER))
            wait_s = await self.ask()

    async def ask(self) -> float:
        """Ask once; seconds until the next time."""
        if self._schedule.trouble is not None:
            return self._schedule.hint_max_s
        began = self._schedule.clock()
        try:
            active = await answer(self._schedule, self._list.name, self._list.active())
        except Later:
            return self._schedule.hint_max_s
        except WikisyncError:
            self._try_one()
            return self._schedule.hint_max_s
        wikis = self._wikis()
        left = [one for one in self._trusted if one not in wikis]
        self._trust(left, is_listed=False)
        if active is None:
            self._trust(wikis, is_listed=False)
            return LIST_RETRY_S
        self._note(wikis, active)
        if self._is_late(wikis, began):
            self._trust(wikis, is_listed=False)
            for one in wikis:
                self._schedule.ask_quietly(one, Why.WIKI)
            self._lacked += 1
            log.info("%s lacks a wiki that changed: all are asked", self._list.name)
            return LIST_RETRY_S * 2.0 ** min(self._lacked - 1, 10)
        self._trust(wikis, is_listed=True)
        self._trusted = wikis
        if all(one.has_hooks for one in wikis):
            return HOOKED_HINT_S
        return self._schedule.hint_max_s

    def _wikis(self) -> Sequence[WikiStatus]:
        return [self._schedule.by_name[name] for name in self._list.wikis]

    def _try_one(self) -> None:
        """Have one wiki find out when the service is back."""
        one = next((one for one in self._wikis() if not one.is_paused), None)
        if one is not None:
            self._schedule.ask_quietly(one, Why.WIKI)

    def _note(self, wikis: Sequence[WikiStatus], active: Collection[str]) -> None:
        """Have the active wikis asked for their marks at once."""
        for one in wikis:
            if one.name in active:
                one.listed_at, one.unlisted_since = self._schedule.clock(), None
                one.is_due = True
                one.quickened.set()

    def _is_late(self, wikis: Sequence[WikiStatus], began: float) -> bool:
        """Whether it lacks a wiki of which a mark says for a while that it moved."""
        return any(
            one.unlisted_since is not None and began - one.unlisted_since > LIST_LATE_S
            for one in wikis
        )

    def _trust(self, wikis: Sequence[WikiStatus], *, is_listed: bool) -> None:
        """Have marks asked for rarely because the list is trusted, or not."""
        for one in wikis:
            if one.is_listed != is_listed:
                one.is_listed, one.unlisted_since = is_listed, None
                one.listed_since = self._schedule.clock()
                # one in which nothing happens needs no hint soon
                one.hint_s = HOOKED_HINT_S if is_listed else 0.0
                if not is_listed:
                    one.quickened.set()


async def answer(schedule: Schedule, name: str, question: Awaitable[T]) -> T | None:
    """What the service answers to a question between two cycles.

    Returns:
        None also where it refuses that alone.

    Raises:
        Later: it limits what is asked.
        WikisyncError: it is away, which all wikis meet; noted already.
    """
    try:
        return await guarded(name, question)
    except WikisyncError as error:
        log.info("%s: no hint: %s", name, error.message)
        if isinstance(error, RateLimited) and not error.is_everywhere:
            raise Later from error
        if await schedule.is_of_service(error):
            schedule.service_failed(error)
            raise
        return None
