"""The daemon: one coroutine that runs the cycles of many wikis for months.

Everything else only asks: a watcher's event, a scan that found something, a hint
that the wiki moved, a webhook, a person.  Asked ten times while a cycle runs, a wiki
gets one more cycle.  Correctness never rests on being asked: every wiki is looked
at whole from time to time (``sync.md`` 3.12).

Errors make a wiki wait, alone where it is the wiki's trouble, with all wikis of the
service where the service is away; nothing that happens to one wiki ends the daemon.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol

from wikisync.errors import (
    AuthenticationFailed,
    Halted,
    PermissionDenied,
    RateLimited,
    RemoteError,
    Unavailable,
    WikisyncError,
)

log = logging.getLogger(__name__)

SCAN_INTERVAL_S = 30.0
"""A folder is scanned so often, whatever the watcher says."""
FULL_LOOK_S = 600.0
"""A wiki is looked at whole at least so often."""
HINT_MIN_S = 15.0
"""Between two hints while a wiki is busy ..."""
HINT_MAX_S = 120.0
"""... and at most, while nothing happens."""
HINT_GROWTH = 1.5
HINT_JITTER = 0.2
BACK_OFF_MIN_S = 2.0
BACK_OFF_MAX_S = 300.0
REFUSED_RETRY_S = 900.0
"""After a refused token."""
RATE_LIMIT_S = 60.0
"""After "too many requests" that do not say how long to wait."""
ROUNDS_MAX = 6
"""Cycles in a row for one wiki before others have their turn."""
CYCLE_TIMEOUT_S = 3600.0
"""A cycle that takes longer is ended; a first pull is long, a hang is longer."""
HINTS_AT_ONCE = 8


class Why(Enum):
    """What a cycle is asked for; it says which sides have to be looked at."""

    FOLDER = auto()
    """Something changed here; the wiki is taken as it was last seen."""
    WIKI = auto()
    """Something changed on the wiki, or may have."""
    EVERYTHING = auto()
    """Time for a whole look, or a person asked."""


@dataclass(frozen=True, slots=True)
class CycleOutcome:
    """What the daemon needs to know of one cycle."""

    is_quiet: bool
    has_more: bool = False
    next_look_s: float | None = None
    needs_person: bool = False
    problem: str = ""


class WikiWork(Protocol):
    """What the daemon does for one wiki; ``cli`` brings the parts together."""

    @property
    def name(self) -> str:
        """How messages call the wiki: its folder in the workspace."""
        ...

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""
        ...

    async def cycle(self, why: Why) -> CycleOutcome:
        """Run one cycle."""
        ...

    async def scan(self) -> bool:
        """Whether the folder differs from when a cycle last looked at it."""
        ...

    async def hint(self) -> str | None:
        """A cheap mark of the wiki's state; None where the service has none."""
        ...


class Condition(Enum):
    """How one wiki fares."""

    STARTING = "starting"
    IN_STEP = "in step"
    WORKING = "working"
    NEEDS_PERSON = "needs a person"
    OFFLINE = "offline"
    REFUSED = "refused"
    FAILING = "failing"
    PAUSED = "paused"


@dataclass(slots=True)
class Standing:
    """One wiki as the daemon sees it; times are of the daemon's clock."""

    work: WikiWork
    condition: Condition = Condition.STARTING
    asked: set[Why] = field(default_factory=lambda: {Why.EVERYTHING})
    not_before: float = 0.0
    """No cycle starts earlier: the wiki, or its service, is in trouble."""
    failures: int = 0
    """In a row."""
    full_look_at: float = 0.0
    """When the wiki was last looked at whole."""
    due_at: float = float("inf")
    """When a cycle is due without being asked."""
    last_good_at: float | None = None
    mark: str | None = None
    """The last hint."""
    hint_s: float = HINT_MIN_S
    problem: str = ""
    cycles: int = 0


Told = Callable[[Standing], None]
"""Called after each change of a wiki's standing."""


class Daemon:
    """Runs the cycles of some wikis of one service until it is cancelled."""

    def __init__(
        self,
        wikis: Sequence[WikiWork],
        *,
        clock: Callable[[], float],
        chance: random.Random | None = None,
        told: Told | None = None,
        after_cycle: Callable[[WikiWork, CycleOutcome], Awaitable[None]] | None = None,
    ) -> None:
        """Make a daemon.

        Args:
            wikis: What it works on.
            clock: Seconds, monotonic.
            chance: For jitter.
            told: Hears of every change of a standing.
            after_cycle: Called after each cycle that ended without an error.
        """
        self._clock = clock
        self._chance = chance or random.Random()
        self._told = told or _tell_nobody
        self._after_cycle = after_cycle
        self._wake = asyncio.Event()
        self._service_not_before = 0.0
        self.standings: Mapping[str, Standing] = {
            work.name: Standing(work) for work in wikis
        }

    # -- asking ------------------------------------------------------------------

    def ask(self, name: str | None = None, why: Why = Why.EVERYTHING) -> None:
        """Ask for a cycle of one wiki, or of all; many askings are one."""
        for standing in self._named(name):
            standing.asked.add(why)
            if why is not Why.FOLDER:
                standing.hint_s = HINT_MIN_S
        self._wake.set()

    def retry(self) -> None:
        """Forget all waiting: the machine woke up, or a person knows better."""
        self._service_not_before = 0.0
        for standing in self.standings.values():
            standing.not_before = 0.0
        self.ask()

    def _named(self, name: str | None) -> Sequence[Standing]:
        if name is None:
            return tuple(self.standings.values())
        standing = self.standings.get(name)
        return () if standing is None else (standing,)

    # -- running -----------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; a cycle under way is finished as ``flow`` does it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._own_cycles())
            group.create_task(self._scan())
            group.create_task(self._poll())

    async def _own_cycles(self) -> None:
        """The one owner of control."""
        while True:
            standing = self._next()
            if standing is None:
                await self._wait_for_work()
                continue
            await self._work_on(standing)

    def _next(self) -> Standing | None:
        """A wiki that may have a cycle now; who waited longest comes first."""
        now = self._clock()
        ready = [
            standing
            for standing in self.standings.values()
            if (standing.asked or standing.due_at <= now)
            and self._starts_at(standing) <= now
            and not self._is_paused(standing)
        ]
        return min(ready, key=lambda one: one.full_look_at, default=None)

    def _starts_at(self, standing: Standing) -> float:
        return max(standing.not_before, self._service_not_before)

    def _is_paused(self, standing: Standing) -> bool:
        if not standing.work.is_paused:
            return False
        self._set(standing, Condition.PAUSED)
        return True

    async def _wait_for_work(self) -> None:
        now = self._clock()
        times = [
            max(self._starts_at(one), now if one.asked else one.due_at)
            for one in self.standings.values()
        ]
        wait_s = min(max(min(times, default=now), now + 0.001) - now, SCAN_INTERVAL_S)
        self._wake.clear()
        try:
            async with asyncio.timeout(wait_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _work_on(self, standing: Standing) -> None:
        """Cycles of one wiki until nothing is left to do at once."""
        now = self._clock()
        asked, standing.asked = standing.asked, set()
        why = _widest(asked) if asked else Why.EVERYTHING
        if now - standing.full_look_at >= FULL_LOOK_S:
            why = Why.EVERYTHING
        self._set(standing, Condition.WORKING)
        try:
            for _ in range(ROUNDS_MAX):
                outcome = await self._cycle(standing, why)
                if not outcome.has_more:
                    break
                why = Why.EVERYTHING
        except WikisyncError as error:
            self._failed(standing, error, why)
        else:
            self._succeeded(standing, outcome, why)

    async def _cycle(self, standing: Standing, why: Why) -> CycleOutcome:
        standing.cycles += 1
        try:
            async with asyncio.timeout(CYCLE_TIMEOUT_S):
                outcome = await standing.work.cycle(why)
        except WikisyncError:
            raise
        except TimeoutError as exc:
            raise Unavailable(
                f"a cycle of {standing.work.name} took longer than"
                f" {CYCLE_TIMEOUT_S / 60:.0f} minutes"
            ) from exc
        except Exception as exc:
            # the one place that may: a fault of ours must not end the daemon
            log.exception("a cycle of %s failed", standing.work.name)
            raise WikisyncError(
                f"a cycle of {standing.work.name} failed: {type(exc).__name__}: {exc}",
                hint="this is a fault of wikisync; the log tells where",
            ) from exc
        if self._after_cycle is not None:
            await self._after_cycle(standing.work, outcome)
        return outcome

    # -- what came of it ---------------------------------------------------------

    def _succeeded(self, standing: Standing, outcome: CycleOutcome, why: Why) -> None:
        now = self._clock()
        standing.failures, standing.not_before = 0, 0.0
        standing.last_good_at = now
        if why is not Why.FOLDER:
            standing.full_look_at = now
        if outcome.has_more:
            standing.asked.add(Why.EVERYTHING)
        standing.due_at = standing.full_look_at + FULL_LOOK_S
        if outcome.next_look_s is not None:
            # absences count only in looks at both sides
            standing.due_at = min(standing.due_at, now + max(outcome.next_look_s, 1.0))
        standing.problem = outcome.problem
        needs = outcome.needs_person
        self._set(standing, Condition.NEEDS_PERSON if needs else Condition.IN_STEP)

    def _failed(self, standing: Standing, error: WikisyncError, why: Why) -> None:
        """Let the wiki wait, or all of them where it is the service's trouble."""
        log.error("%s: %s", standing.work.name, error.message)
        standing.failures += 1
        standing.asked.add(why)
        standing.problem = error.message
        now = self._clock()
        match error:
            case RateLimited():
                self._service_not_before = now + (error.retry_after_s or RATE_LIMIT_S)
                condition = Condition.OFFLINE
            case AuthenticationFailed() | PermissionDenied():
                standing.not_before = now + REFUSED_RETRY_S
                condition = Condition.REFUSED
            case Unavailable():
                self._service_not_before = now + self._back_off_s(standing.failures)
                condition = Condition.OFFLINE
            case Halted():
                standing.not_before = now + BACK_OFF_MAX_S
                condition = Condition.NEEDS_PERSON
            case _:
                standing.not_before = now + self._back_off_s(standing.failures)
                condition = Condition.FAILING
        self._set(standing, condition)

    def _back_off_s(self, failures: int) -> float:
        """Full jitter below a limit that doubles, never less than the least."""
        limit = min(BACK_OFF_MAX_S, BACK_OFF_MIN_S * 2 ** min(failures, 16))
        return self._chance.uniform(BACK_OFF_MIN_S, limit)

    def _set(self, standing: Standing, condition: Condition) -> None:
        if standing.condition is not condition:
            log.info("%s is %s", standing.work.name, condition.value)
            standing.condition = condition
            self._told(standing)

    # -- looking without being asked -----------------------------------------------

    async def _scan(self) -> None:
        """Look into every folder from time to time: events get lost."""
        while True:
            await asyncio.sleep(self._jittered(SCAN_INTERVAL_S))
            for standing in tuple(self.standings.values()):
                if standing.asked or standing.work.is_paused:
                    continue
                try:
                    differs = await standing.work.scan()
                except WikisyncError as error:
                    # the cycle says it, and waits
                    log.info("%s: %s", standing.work.name, error.message)
                    differs = True
                if differs:
                    self.ask(standing.work.name, Why.FOLDER)

    async def _poll(self) -> None:
        """Ask for each wiki's mark, the less often the longer nothing happens."""
        async with asyncio.TaskGroup() as group:
            few = asyncio.Semaphore(HINTS_AT_ONCE)
            for standing in self.standings.values():
                group.create_task(self._poll_one(standing, few))

    async def _poll_one(self, standing: Standing, few: asyncio.Semaphore) -> None:
        while True:
            await asyncio.sleep(self._jittered(standing.hint_s))
            standing.hint_s = min(standing.hint_s * HINT_GROWTH, HINT_MAX_S)
            if self._starts_at(standing) > self._clock() or standing.work.is_paused:
                continue
            try:
                async with few:
                    mark = await standing.work.hint()
            except RemoteError as error:
                log.info("%s: no hint: %s", standing.work.name, error.message)
                continue
            if mark is not None and mark != standing.mark:
                known, standing.mark = standing.mark, mark
                if known is not None:
                    self.ask(standing.work.name, Why.WIKI)

    def _jittered(self, seconds: float) -> float:
        return seconds * self._chance.uniform(1 - HINT_JITTER, 1 + HINT_JITTER)


def _tell_nobody(standing: Standing) -> None:
    """Nobody listens."""
    del standing


def _widest(asked: set[Why]) -> Why:
    """The one of several reasons for which most has to be looked at."""
    return max(asked, key=lambda why: why.value)
