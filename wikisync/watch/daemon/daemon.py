"""The daemon: one coroutine that decides on the cycles of many wikis for months.

Everything else only asks: a watcher's event, a scan that found something, a hint that
the wiki moved, a webhook, a person.  Asked ten times while a cycle runs, a wiki gets
one more cycle.  Correctness never rests on being asked: every wiki is scanned whole
from time to time (``docs/sync.md`` "The daemon").  A few wikis have their cycles at the
same time, so that a long first pull keeps no other wiki waiting; no wiki has two.

Nothing that happens to one wiki ends the daemon.  What it knows of each is in
``wiki_status``, who waits and how long in ``schedule``, hints are in ``hints``.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from wikisync.errors import SyncError, WikisyncError
from wikisync.watch.daemon.hints import follow_hints
from wikisync.watch.daemon.schedule import (
    FULL_SCAN_S,
    HINT_MAX_S,
    JITTER,
    IsAway,
    OnOutage,
    OnStatus,
    Schedule,
)
from wikisync.watch.daemon.wiki_status import (
    Condition,
    CycleOutcome,
    Outage,
    Why,
    WikiStatus,
)
from wikisync.watch.daemon.work import CYCLE, ActivityList, WikiWork, guarded

log = logging.getLogger(__name__)

SCAN_INTERVAL_S = 30.0
"""A folder is scanned so often, whatever the watcher says."""
ROUNDS_MAX = 6
"""Cycles in a row for one wiki before others have their turn."""
CYCLES_AT_ONCE = 4
"""Wikis that are worked on at the same time."""
LONG_CYCLE_S = 10.0
"""A wiki whose cycles take longer is not called in sync until they end: a service that
hangs is offline only after minutes."""
CYCLE_TIMEOUT_S = 3600.0
"""A cycle that takes longer is ended; a first pull is long, a hang is longer."""
PAUSE_SCAN_S = 5.0
"""How often a paused wiki is asked whether it still is."""
WAKE_SCAN_S = 5.0
"""How often the clocks are compared."""
SLEEP_MIN_S = 30.0
"""Clocks that drift apart further in between mean that the machine slept."""

AfterCycle = Callable[[WikiWork, CycleOutcome], Awaitable[None]]


class Daemon:
    """Runs the cycles of some wikis of one service until it is cancelled."""

    def __init__(
        self,
        wikis: Sequence[WikiWork],
        *,
        lists: Sequence[ActivityList] = (),
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        chance: random.Random | None = None,
        hint_max_s: float = HINT_MAX_S,
        on_status: OnStatus | None = None,
        on_outage: OnOutage | None = None,
        after_cycle: AfterCycle | None = None,
        is_away: IsAway | None = None,
    ) -> None:
        """Make a daemon.

        Args:
            wikis: What it works on.
            lists: What says of many of them at once where something happened.
            clock: Seconds, monotonic; it may stand still while the machine sleeps.
            wall: Seconds since the epoch.
            chance: For jitter.
            hint_max_s: Between two hints of a wiki while nothing happens.
            on_status: Called after every change of a status.
            on_outage: Called once with what keeps all wikis waiting.
            after_cycle: Called after each cycle that ended without an error.
            is_away: Asks the service itself whether an error of one wiki is that of
                all; without it each that may be is taken so.
        """
        self._clock = clock
        self._wall = wall
        self._chance = chance or random.Random()
        self._after_cycle = after_cycle
        self._works = {work.name: work for work in wikis}
        self._schedule = Schedule(
            self._works,
            clock=clock,
            chance=self._chance,
            hint_max_s=hint_max_s,
            on_status=on_status,
            on_outage=on_outage,
            is_away=is_away,
        )
        self._lists = lists

    # -- for whoever asks, and whoever shows ---------------------------------------

    def ask(self, name: str | None = None, why: Why = Why.EVERYTHING) -> None:
        """Ask for a cycle of one wiki, or of all; many askings are one."""
        self._schedule.ask(name, why)

    def hear(self, name: str) -> None:
        """A webhook reported an edit: ask for a cycle of its wiki."""
        self._schedule.hear(name)

    def retry(self) -> None:
        """Forget all waiting: the machine woke up, or a person knows better."""
        self._schedule.retry()

    def now(self) -> float:
        """The time that statuses are in."""
        return self._clock()

    @property
    def schedule(self) -> Mapping[str, WikiStatus]:
        """The status of each wiki, by its name."""
        return self._schedule.by_name

    @property
    def trouble(self) -> Outage | None:
        """Why all wikis wait."""
        return self._schedule.trouble

    # -- running -----------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; a cycle under way is finished as ``flow`` does it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._own_cycles())
            group.create_task(self._scan())
            group.create_task(
                follow_hints(self._works, self._lists, self._schedule, self._chance)
            )
            group.create_task(self._notice_sleep())

    async def _own_cycles(self) -> None:
        """The one owner of control."""
        async with asyncio.TaskGroup() as group:
            while True:
                wiki_status = self._next()
                if wiki_status is None:
                    await self._wait_for_work()
                    continue
                wiki_status.is_working = True
                group.create_task(self._work_on(wiki_status))

    def _next(self) -> WikiStatus | None:
        """A wiki that may have a cycle now; who waited longest comes first."""
        if not self._has_room():
            return None
        now = self._clock()
        ready = [
            wiki_status
            for wiki_status in self.schedule.values()
            if not wiki_status.is_working
            and not self._is_paused_now(wiki_status, now)
            and self._schedule.ready_at(wiki_status) <= now
        ]
        return min(ready, key=WikiStatus.waits_since, default=None)

    def _has_room(self) -> bool:
        """Whether one more wiki may be worked on; one alone tries a lost service."""
        working = sum(one.is_working for one in self.schedule.values())
        return working < (CYCLES_AT_ONCE if self.trouble is None else 1)

    def _is_paused_now(self, wiki_status: WikiStatus, now: float) -> bool:
        """Whether it is paused; asked only where the answer matters."""
        is_due = self._schedule.ready_at(wiki_status) <= now
        if wiki_status.condition is Condition.PAUSED or is_due:
            return self._is_paused(wiki_status)
        return False

    def _is_paused(self, wiki_status: WikiStatus) -> bool:
        try:
            is_paused = self._works[wiki_status.name].is_paused
        except WikisyncError:
            return False  # its cycle meets the same trouble, and says so
        self._schedule.note_pause(wiki_status, is_paused=is_paused)
        return is_paused

    async def _wait_for_work(self) -> None:
        now = self._clock()
        times = [
            now + PAUSE_SCAN_S
            if one.condition is Condition.PAUSED
            else self._schedule.ready_at(one)
            for one in self.schedule.values()
            if not one.is_working and self._has_room()
        ]
        wait_s = max(min(times, default=float("inf")) - now, 0.001)
        # nothing is awaited since the times were read, so that no wake-up is lost
        self._schedule.wake.clear()
        with suppress(TimeoutError):
            # a wait without end is woken by whoever asks, or ends its cycle
            async with asyncio.timeout(min(wait_s, FULL_SCAN_S)):
                await self._schedule.wake.wait()

    async def _work_on(self, wiki_status: WikiStatus) -> None:
        """Cycles of one wiki until nothing is left to do at once."""
        wiki_status.began_at = self._clock()
        is_due = wiki_status.due_at <= wiki_status.began_at
        # taken before the cycle: whoever asks during it asks for another one
        asked, wiki_status.asked = wiki_status.asked, set()
        why = Why.EVERYTHING if is_due or not asked else _widest(asked)
        if self.trouble is not None:
            # a cycle that asks the service for nothing does not show that it is back
            why = _widest({why, Why.WIKI})
        late = asyncio.get_running_loop().call_later(
            LONG_CYCLE_S, self._schedule.note_long, wiki_status
        )
        try:
            for _ in range(ROUNDS_MAX):
                outcome = await self._cycle(wiki_status, why)
                if not outcome.has_more:
                    break
                why = Why.EVERYTHING
        except WikisyncError as error:
            is_of_service = await self._schedule.is_of_service(error)
            self._schedule.failed(wiki_status, error, why, is_of_service=is_of_service)
        else:
            self._schedule.succeeded(wiki_status, outcome, why)
        finally:
            late.cancel()
            wiki_status.is_working = False
            self._schedule.wake.set()

    async def _cycle(self, wiki_status: WikiStatus, why: Why) -> CycleOutcome:
        wiki_status.cycles += 1
        CYCLE.set(f"{wiki_status.name}#{wiki_status.cycles}")
        work = self._works[wiki_status.name]
        try:
            async with asyncio.timeout(CYCLE_TIMEOUT_S):
                outcome = await guarded(wiki_status.name, work.cycle(why))
        except TimeoutError as exc:
            raise SyncError(
                f"a cycle of {wiki_status.name} took longer than"
                f" {CYCLE_TIMEOUT_S / 60:.0f} minutes"
            ) from exc
        if self._after_cycle is not None:
            try:
                await guarded(wiki_status.name, self._after_cycle(work, outcome))
            except WikisyncError as error:
                # the wiki is in sync, also where nobody could be notified
                log.warning("%s: %s", wiki_status.name, error.message)
        return outcome

    # -- scans without being asked -------------------------------------------------

    async def _scan(self) -> None:
        """Scan every folder from time to time: events get lost."""
        while True:
            await asyncio.sleep(self._jittered(SCAN_INTERVAL_S))
            for wiki_status in tuple(self.schedule.values()):
                if (
                    wiki_status.asked
                    or wiki_status.is_working
                    or self._is_paused(wiki_status)
                ):
                    continue
                try:
                    work = self._works[wiki_status.name].scan()
                    differs = await guarded(wiki_status.name, work)
                except WikisyncError as error:
                    # the cycle says it, and waits
                    log.info("%s: %s", wiki_status.name, error.message)
                    differs = True
                if differs:
                    self._schedule.ask_quietly(wiki_status, Why.FOLDER)

    async def _notice_sleep(self) -> None:
        """See by the clocks that the machine slept, and scan everything again."""
        apart_s = self._wall() - self._clock()
        while True:
            began = self._clock()
            await asyncio.sleep(WAKE_SCAN_S)
            now_apart_s = self._wall() - self._clock()
            # some systems' monotonic clock goes on while they sleep
            late_s = self._clock() - began - WAKE_SCAN_S
            if max(now_apart_s - apart_s, late_s) > SLEEP_MIN_S:
                log.info(
                    "the machine was suspended or its clock was set: checking again"
                )
                self.retry()
            apart_s = now_apart_s

    def _jittered(self, seconds: float) -> float:
        return seconds * self._chance.uniform(1 - JITTER, 1 + JITTER)


def _widest(asked: set[Why]) -> Why:
    """The one of several reasons for which most has to be scanned."""
    return max(asked, key=lambda why: why.value)
