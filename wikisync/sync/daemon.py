"""The daemon: one coroutine that decides on the cycles of many wikis for months.

Everything else only asks: a watcher's event, a scan that found something, a hint that
the wiki moved, a webhook, a person.  Asked ten times while a cycle runs, a wiki gets
one more cycle.  Correctness never rests on being asked: every wiki is looked at whole
from time to time (``docs/sync.md`` "The daemon").  A few wikis have their cycles at the
same time, so that a long first pull keeps no other wiki waiting; no wiki has two.

Nothing that happens to one wiki ends the daemon.  What it knows of each is in
``standing``, who waits and how long in ``standings``, hints are in ``hints``.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from wikisync.errors import SyncError, WikisyncError
from wikisync.sync.hints import Hints
from wikisync.sync.standing import (
    Condition,
    CycleOutcome,
    Standing,
    Trouble,
    Why,
)
from wikisync.sync.standings import (
    FULL_LOOK_S,
    HINT_MAX_S,
    JITTER,
    IsAway,
    Standings,
    Told,
    ToldService,
)
from wikisync.sync.work import CYCLE, WikiWork, guarded

log = logging.getLogger(__name__)

SCAN_INTERVAL_S = 30.0
"""A folder is scanned so often, whatever the watcher says."""
ROUNDS_MAX = 6
"""Cycles in a row for one wiki before others have their turn."""
CYCLES_AT_ONCE = 4
"""Wikis that are worked on at the same time."""
CYCLE_TIMEOUT_S = 3600.0
"""A cycle that takes longer is ended; a first pull is long, a hang is longer."""
PAUSE_LOOK_S = 5.0
"""How often a paused wiki is asked whether it still is."""
WAKE_LOOK_S = 5.0
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
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        chance: random.Random | None = None,
        hint_max_s: float = HINT_MAX_S,
        told: Told | None = None,
        told_service: ToldService | None = None,
        after_cycle: AfterCycle | None = None,
        is_away: IsAway | None = None,
    ) -> None:
        """Make a daemon.

        Args:
            wikis: What it works on.
            clock: Seconds, monotonic; it may stand still while the machine sleeps.
            wall: Seconds since the epoch.
            chance: For jitter.
            hint_max_s: Between two hints of a wiki while nothing happens.
            told: Hears of every change of a standing.
            told_service: Hears of what keeps all wikis waiting, once.
            after_cycle: Called after each cycle that ended without an error.
            is_away: Asks the service itself whether an error of one wiki is that of
                all; without it each that may be is taken so.
        """
        self._clock = clock
        self._wall = wall
        self._chance = chance = chance or random.Random()
        self._after_cycle = after_cycle
        self._works = {work.name: work for work in wikis}
        self._standings = Standings(
            self._works,
            clock=clock,
            chance=chance,
            hint_max_s=hint_max_s,
            told=told,
            told_service=told_service,
            is_away=is_away,
        )
        self._hints = Hints(self._works, self._standings, chance=chance)

    # -- for whoever asks, and whoever shows ---------------------------------------

    def ask(self, name: str | None = None, why: Why = Why.EVERYTHING) -> None:
        """Ask for a cycle of one wiki, or of all; many askings are one."""
        self._standings.ask(name, why)

    def retry(self) -> None:
        """Forget all waiting: the machine woke up, or a person knows better."""
        self._standings.retry()

    def now(self) -> float:
        """The time that standings are in."""
        return self._clock()

    @property
    def standings(self) -> Mapping[str, Standing]:
        """How each wiki fares, by its name."""
        return self._standings.by_name

    @property
    def trouble(self) -> Trouble | None:
        """Why all wikis wait."""
        return self._standings.trouble

    # -- running -----------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; a cycle under way is finished as ``flow`` does it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._own_cycles())
            group.create_task(self._scan())
            group.create_task(self._hints.run())
            group.create_task(self._notice_sleep())

    async def _own_cycles(self) -> None:
        """The one owner of control."""
        async with asyncio.TaskGroup() as group:
            while True:
                standing = self._next()
                if standing is None:
                    await self._wait_for_work()
                    continue
                standing.is_working = True
                group.create_task(self._work_on(standing))

    def _next(self) -> Standing | None:
        """A wiki that may have a cycle now; who waited longest comes first."""
        if not self._has_room():
            return None
        now = self._clock()
        ready = [
            standing
            for standing in self.standings.values()
            if not standing.is_working
            and not self._is_paused_now(standing, now)
            and self._standings.ready_at(standing) <= now
        ]
        return min(ready, key=Standing.waits_since, default=None)

    def _has_room(self) -> bool:
        """Whether one more wiki may be worked on; one alone tries a lost service."""
        working = sum(one.is_working for one in self.standings.values())
        return working < (CYCLES_AT_ONCE if self.trouble is None else 1)

    def _is_paused_now(self, standing: Standing, now: float) -> bool:
        """Whether it is paused; asked only where the answer matters."""
        is_due = self._standings.ready_at(standing) <= now
        if standing.condition is Condition.PAUSED or is_due:
            return self._is_paused(standing)
        return False

    def _is_paused(self, standing: Standing) -> bool:
        try:
            is_paused = self._works[standing.name].is_paused
        except WikisyncError:
            return False  # its cycle meets the same trouble, and says so
        self._standings.note_pause(standing, is_paused=is_paused)
        return is_paused

    async def _wait_for_work(self) -> None:
        now = self._clock()
        times = [
            now + PAUSE_LOOK_S
            if one.condition is Condition.PAUSED
            else self._standings.ready_at(one)
            for one in self.standings.values()
            if not one.is_working and self._has_room()
        ]
        wait_s = max(min(times, default=float("inf")) - now, 0.001)
        self._standings.wake.clear()
        with suppress(TimeoutError):
            # a wait without end is woken by whoever asks, or ends its cycle
            async with asyncio.timeout(min(wait_s, FULL_LOOK_S)):
                await self._standings.wake.wait()

    async def _work_on(self, standing: Standing) -> None:
        """Cycles of one wiki until nothing is left to do at once."""
        standing.began_at = self._clock()
        is_due = standing.due_at <= standing.began_at
        asked, standing.asked = standing.asked, set()
        why = Why.EVERYTHING if is_due or not asked else _widest(asked)
        if self.trouble is not None:
            # a cycle that asks the service for nothing does not show that it is back
            why = _widest({why, Why.WIKI})
        try:
            for _ in range(ROUNDS_MAX):
                outcome = await self._cycle(standing, why)
                if not outcome.has_more:
                    break
                why = Why.EVERYTHING
        except WikisyncError as error:
            is_of_service = await self._standings.is_of_service(error)
            self._standings.failed(standing, error, why, is_of_service=is_of_service)
        else:
            self._standings.succeeded(standing, outcome, why)
        finally:
            standing.is_working = False
            self._standings.wake.set()

    async def _cycle(self, standing: Standing, why: Why) -> CycleOutcome:
        standing.cycles += 1
        CYCLE.set(f"{standing.name}#{standing.cycles}")
        work = self._works[standing.name]
        try:
            async with asyncio.timeout(CYCLE_TIMEOUT_S):
                outcome = await guarded(standing.name, work.cycle(why))
        except TimeoutError as exc:
            raise SyncError(
                f"a cycle of {standing.name} took longer than"
                f" {CYCLE_TIMEOUT_S / 60:.0f} minutes"
            ) from exc
        if self._after_cycle is not None:
            try:
                await guarded(standing.name, self._after_cycle(work, outcome))
            except WikisyncError as error:
                # the wiki is in sync, whatever comes of telling so
                log.warning("%s: %s", standing.name, error.message)
        return outcome

    # -- looking without being asked -----------------------------------------------

    async def _scan(self) -> None:
        """Look into every folder from time to time: events get lost."""
        while True:
            await asyncio.sleep(self._jittered(SCAN_INTERVAL_S))
            for standing in tuple(self.standings.values()):
                if standing.asked or standing.is_working or self._is_paused(standing):
                    continue
                try:
                    work = self._works[standing.name].scan()
                    differs = await guarded(standing.name, work)
                except WikisyncError as error:
                    # the cycle says it, and waits
                    log.info("%s: %s", standing.name, error.message)
                    differs = True
                if differs:
                    self.ask(standing.name, Why.FOLDER)

    async def _notice_sleep(self) -> None:
        """See by the clocks that the machine slept, and look at everything again."""
        apart_s = self._wall() - self._clock()
        while True:
            began = self._clock()
            await asyncio.sleep(WAKE_LOOK_S)
            now_apart_s = self._wall() - self._clock()
            # some systems' monotonic clock goes on while they sleep
            late_s = self._clock() - began - WAKE_LOOK_S
            if max(now_apart_s - apart_s, late_s) > SLEEP_MIN_S:
                log.info(
                    "the machine was suspended or its clock was set: checking again"
                )
                self.retry()
            apart_s = now_apart_s

    def _jittered(self, seconds: float) -> float:
        return seconds * self._chance.uniform(1 - JITTER, 1 + JITTER)


def _widest(asked: set[Why]) -> Why:
    """The one of several reasons for which most has to be looked at."""
    return max(asked, key=lambda why: why.value)
