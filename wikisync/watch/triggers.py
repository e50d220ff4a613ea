"""What requests cycles without being asked: hints, scans of the folders, a wake-up.

A hint that a wiki moved is only a reason for a scan, and asked for the less often the
longer nothing happens.  Where one list says in which wikis something happened, these
are asked for their marks at once, and the others rarely; the marks show whether the
list can be trusted.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from msgspec import Struct

from wikisync.errors import RateLimited, WikisyncError
from wikisync.workspace.failures import guarded
from wikisync.workspace.runner import FULL_SCAN_S, Runner, ScanScope, WikiRun, WikiWork

log = logging.getLogger(__name__)

SCAN_INTERVAL_S = 30.0
WAKE_SCAN_S = 5.0
SLEEP_MIN_S = 30.0
"""Clocks that drift apart further in between mean that the machine slept."""
HINT_MAX_S = 15.0
"""Between two hints of a wiki where nothing happens.  An edit on the service is to be
here within 20 s: this, its jitter, the answer, and the cycle."""
IDLE_S = 3600.0
HINTS_APART_S = 1.0
"""Between two hints of many idle wikis: the service limits what a token may ask."""
IDLE_RANGE = 4.0
"""For them, the longest time between two hints of one wiki grows so many times."""
HOOKED_HINT_S = 600.0
"""Between two hints of a wiki with webhooks; these report no push by git.  At the most,
also of one that a list of active projects has."""
HINT_RANGE = 3.0
"""Hints come so many times more often while something happens ..."""
HINT_LEAST_S = 1.0
"""... but never more often than this ..."""
SCANS_APART = 50.0
"""... or so that scans of the wiki, one a hint, would take more of the time than one
part in this."""
SCAN_MIN_S = 60.0
"""Between two scans at a wiki for which the service has no hint; they grow alike."""
HINT_GROWTH = 1.5
HINTS_AT_ONCE = 8
JITTER = 0.2
LIST_LATE_S = 60.0
"""A wiki that moved is on the list after this time: the service notes an edit at once,
and a push by git in the background."""
LIST_RETRY_S = 3600.0
"""A list that the service does not have is asked for again after this time, and one
that lacked a wiki after this time, doubled with each that it lacked."""

T = TypeVar("T")


class Later(Exception):
    """The service answers later, which says nothing of what was asked."""


class RemoteHint(Struct, frozen=True):
    """What a service says cheaply of a wiki's state."""

    mark: str
    is_exact: bool = False
    """Whether the same one means that the wiki is the same."""


class WatchedWork(WikiWork, Protocol):
    """What a watch does for one wiki beside its cycles."""

    async def scan(self) -> bool:
        """Whether the folder differs from what the last cycle scanned."""

    async def hint(self) -> RemoteHint | None:
        """A cheap mark of the wiki's state; None where the service has none."""

    async def note_unchanged(self) -> None:
        """Note that the wiki is as the last cycle saw it."""


class ActivityList(Protocol):
    """One request that says in which of several wikis something happened."""

    @property
    def name(self) -> str:
        """How messages call it."""

    @property
    def wikis(self) -> Collection[str]:
        """The names of the wikis that it has."""

    async def active(self) -> Collection[str]:
        """Those of them in which something happened since it was asked before."""


class Triggers:
    """All that requests cycles of a runner from time to time."""

    def __init__(
        self,
        runner: Runner,
        works: Sequence[WatchedWork],
        lists: Sequence[ActivityList] = (),
        *,
        wall: Callable[[], float] = time.time,
        hint_max_s: float = HINT_MAX_S,
    ) -> None:
        self.runner = runner
        self.hint_max_s = hint_max_s
        self._works = {work.name: work for work in works}
        self._lists = lists
        self._wall = wall

    async def run(self) -> None:
        """Request cycles until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._scan_folders())
            group.create_task(self._notice_sleep())
            for one in self._lists:
                listed = _ListedWikis(self, one)
                group.create_task(listed.run(await listed.ask()))
            few = asyncio.Semaphore(HINTS_AT_ONCE)
            for wiki in self.runner.wikis.values():
                group.create_task(self._follow_hints(wiki, few))

    def request_scan(self, wiki: WikiRun) -> None:
        """Request a scan of a wiki where nothing is known to happen."""
        self.runner.request_cycle(wiki.name, ScanScope.WIKI, has_moved=False)

    async def _scan_folders(self) -> None:
        while True:
            await asyncio.sleep(
                SCAN_INTERVAL_S * self.runner.chance.uniform(1 - JITTER, 1 + JITTER)
            )
            for name, work in self._works.items():
                wiki = self.runner.wikis[name]
                if wiki.requested or wiki.is_working or self.runner.is_left_alone(wiki):
                    continue
                try:
                    differs = await guarded(name, work.scan())
                except WikisyncError as error:
                    # the cycle says it, and waits
                    log.info("%s: %s", name, error.message)
                    differs = True
                if differs:
                    self.runner.request_cycle(
                        name, ScanScope.FOLDER, (), has_moved=False
                    )

    async def _notice_sleep(self) -> None:
        """See by the clocks that the machine slept, and scan everything again."""
        clock = self.runner.clock
        apart_s = self._wall() - clock()
        while True:
            began = clock()
            await asyncio.sleep(WAKE_SCAN_S)
            now_apart_s = self._wall() - clock()
            # some systems' monotonic clock goes on while they sleep
            late_s = clock() - began - WAKE_SCAN_S
            if max(now_apart_s - apart_s, late_s) > SLEEP_MIN_S:
                log.info(
                    "the machine was suspended or its clock was set: checking again"
                )
                self.runner.retry()
            apart_s = now_apart_s

    # -- hints -----------------------------------------------------------------------

    async def _follow_hints(self, wiki: WikiRun, few: asyncio.Semaphore) -> None:
        # the first ones of many wikis are spread; by their jitter they stay so
        wait_s = self.runner.chance.uniform(*self._hint_range_s(wiki))
        while True:
            await self._wait_for_hint(wiki, wait_s)
            async with few:
                await self._take_hint(wiki)
            wait_s = self._next_wait_s(wiki)

    def _hint_range_s(self, wiki: WikiRun) -> tuple[float, float]:
        """Between two hints, at least while something happens, and at most."""
        if not wiki.has_hints:
            return SCAN_MIN_S, FULL_SCAN_S
        if wiki.has_hooks:
            return HOOKED_HINT_S, HOOKED_HINT_S
        most_s, idle_s = self.hint_max_s, self.runner.clock() - wiki.moved_at
        if wiki.is_listed:
            most_s = max(most_s, HOOKED_HINT_S)
        elif idle_s >= IDLE_S:
            shared_s = len(self.runner.wikis) * HINTS_APART_S
            most_s = min(max(most_s, shared_s), most_s * IDLE_RANGE)
        least_s = max(self.hint_max_s / HINT_RANGE, HINT_LEAST_S)
        return min(max(least_s, wiki.scan_s * SCANS_APART), most_s), most_s

    async def _take_hint(self, wiki: WikiRun) -> None:
        if self.runner.outage is not None or wiki.is_paused:
            return
        if not wiki.has_hints:
            # the whole wiki is the only hint there is
            self.request_scan(wiki)
        work = self._works[wiki.name]
        try:
            found = await answer(self.runner, work.name, work.hint())
        except Later:
            most_s = self._hint_range_s(wiki)[1]
            wiki.hint_s = self.hint_max_s if wiki.is_due else most_s
            return
        except WikisyncError:
            self.request_scan(wiki)
            return
        wiki.is_due = False
        wiki.has_hints = found is not None
        if found is None:
            return
        if found.mark != wiki.mark:
            self._note_move(wiki, found)
        elif found.is_exact and not (
            wiki.requested or wiki.is_working or wiki.failures or wiki.unsettled
        ):
            # it is in sync until now
            wiki.last_good_at = self.runner.clock()
            with suppress(WikisyncError):  # its next cycle meets that, and says so
                await guarded(work.name, work.note_unchanged())
        wiki.has_exact_hints = found.is_exact
        wiki.hinted_at = self.runner.clock()

    def _note_move(self, wiki: WikiRun, found: RemoteHint) -> None:
        """Note that a wiki has another mark than at the hint before."""
        is_first, before = wiki.mark is None, wiki.hinted_at
        wiki.mark = found.mark
        # a change that no webhook reported: they do not report everything
        wiki.has_hooks &= wiki.heard_at >= before
        if is_first:
            scan_began = wiki.full_scan - wiki.scan_s
            since = max(wiki.listed_since, wiki.listed_at)
            if not wiki.is_listed or scan_began <= since:
                # the wiki may have moved since it was scanned
                self.request_scan(wiki)
            return
        is_same_kind = found.is_exact == wiki.has_exact_hints
        if is_same_kind and wiki.listed_at < before:
            wiki.unlisted_since = self.runner.clock()
        self.runner.request_cycle(wiki.name, ScanScope.WIKI)

    async def _wait_for_hint(self, wiki: WikiRun, wait_s: float) -> None:
        clock = self.runner.clock
        until = clock() + wait_s
        while (left_s := until - clock()) > 0:
            wiki.quickened.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await wiki.quickened.wait()
                if wiki.is_due:
                    return
                until = min(until, clock() + self._next_wait_s(wiki))

    def _next_wait_s(self, wiki: WikiRun) -> float:
        """How long to wait now; without anything that happens, longer and longer."""
        least_s, most_s = self._hint_range_s(wiki)
        wait_s = min(max(wiki.hint_s, least_s), most_s)
        wiki.hint_s = wait_s * HINT_GROWTH
        return wait_s * self.runner.chance.uniform(1.0, 1.0 + JITTER)


class _ListedWikis:
    def __init__(self, triggers: Triggers, listed: ActivityList) -> None:
        self._triggers, self._runner = triggers, triggers.runner
        self._list = listed
        self._trusted: Sequence[WikiRun] = ()
        """The wikis that are asked rarely because it has them."""
        self._lacked = 0

    async def run(self, wait_s: float) -> None:
        while True:
            await asyncio.sleep(wait_s * self._runner.chance.uniform(1.0, 1.0 + JITTER))
            wait_s = await self.ask()

    async def ask(self) -> float:
        if self._runner.outage is not None:
            return self._triggers.hint_max_s
        began = self._runner.clock()
        try:
            active = await answer(self._runner, self._list.name, self._list.active())
        except Later:
            return self._triggers.hint_max_s
        except WikisyncError:
            # one wiki finds out when the service is back
            one = next((one for one in self._wikis() if not one.is_paused), None)
            if one is not None:
                self._triggers.request_scan(one)
            return self._triggers.hint_max_s
        wikis = self._wikis()
        left = [one for one in self._trusted if one not in wikis]
        self._trust(left, is_listed=False)
        if active is None:
            self._trust(wikis, is_listed=False)
            return LIST_RETRY_S
        for one in wikis:
            if one.name in active:
                one.listed_at, one.unlisted_since = self._runner.clock(), None
                one.is_due = True
                one.quickened.set()
        # it lacks a wiki of which a mark says for a while that it moved
        since = min((one.unlisted_since or began for one in wikis), default=began)
        if began - since > LIST_LATE_S:
            self._trust(wikis, is_listed=False)
            for one in wikis:
                self._triggers.request_scan(one)
            self._lacked += 1
            log.info("%s lacks a wiki that changed: all are asked", self._list.name)
            return LIST_RETRY_S * 2.0 ** min(self._lacked - 1, 10)
        self._trust(wikis, is_listed=True)
        self._trusted = wikis
        if all(one.has_hooks for one in wikis):
            return HOOKED_HINT_S
        return self._triggers.hint_max_s

    def _wikis(self) -> Sequence[WikiRun]:
        return [self._runner.wikis[name] for name in self._list.wikis]

    def _trust(self, wikis: Sequence[WikiRun], *, is_listed: bool) -> None:
        """Have marks asked for rarely because the list is trusted, or not."""
        for one in wikis:
            if one.is_listed != is_listed:
                one.is_listed, one.unlisted_since = is_listed, None
                one.listed_since = self._runner.clock()
                # one in which nothing happens needs no hint soon
                one.hint_s = HOOKED_HINT_S if is_listed else 0.0
                if not is_listed:
                    one.quickened.set()


async def answer(runner: Runner, name: str, question: Awaitable[T]) -> T | None:
    """What the service answers between two cycles; None if it refuses.

    Raises Later where it limits what is asked, WikisyncError where it is away.
    """
    try:
        return await guarded(name, question)
    except WikisyncError as error:
        log.info("%s: no hint: %s", name, error.message)
        if isinstance(error, RateLimited) and not error.is_everywhere:
            raise Later from error
        if await runner.is_of_all(error):
            runner.note_outage(error)
            raise
        return None
