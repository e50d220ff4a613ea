"""The daemon: one coroutine that decides on the cycles of many wikis for months.

Everything else only asks: a watcher's event, a scan that found something, a hint
that the wiki moved, a webhook, a person.  Asked ten times while a cycle runs, a wiki
gets one more cycle.  Correctness never rests on being asked: every wiki is looked
at whole from time to time (``sync.md`` 3.12).  A few wikis have their cycles at the
same time, so that a long first pull keeps no other wiki waiting; no wiki has two.

Errors make a wiki wait, alone where it is the wiki's trouble, with all wikis of the
service where the service is away; nothing that happens to one wiki ends the daemon.
What it knows of each is in ``standing``.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Protocol, TypeVar

from wikisync.errors import (
    AuthenticationFailed,
    Halted,
    PermissionDenied,
    RateLimited,
    RemoteError,
    SyncError,
    Unavailable,
    WikisyncError,
)
from wikisync.sync.standing import (
    HINT_MIN_S,
    Condition,
    CycleOutcome,
    Standing,
    Trouble,
    Why,
)

__all__ = [
    "Condition",
    "CycleOutcome",
    "Daemon",
    "Standing",
    "Trouble",
    "Why",
    "guarded",
]

log = logging.getLogger(__name__)

CYCLE: ContextVar[str] = ContextVar("cycle", default="")
"""Which cycle a line of the log belongs to."""

SCAN_INTERVAL_S = 30.0
"""A folder is scanned so often, whatever the watcher says."""
FULL_LOOK_S = 600.0
"""A wiki is looked at whole at least so often."""
HINT_GROWTH = 1.5
HINT_RANGE = 8.0
"""Hints of a quiet wiki come at most so many times less often."""
HINT_JITTER = 0.2
LOOK_MIN_S = 60.0
"""Between two looks at a wiki for which the service has no hint; they grow alike."""
BACK_OFF_MIN_S = 2.0
BACK_OFF_MAX_S = 300.0
REFUSED_RETRY_S = 900.0
"""After a refused token."""
RATE_LIMIT_S = 60.0
"""After "too many requests" that do not say how long to wait."""
ROUNDS_MAX = 6
"""Cycles in a row for one wiki before others have their turn."""
RESTLESS_S = 5.0
"""How long a wiki waits that still has something to do after those."""
CYCLES_AT_ONCE = 4
"""Wikis that are worked on at the same time."""
CYCLE_TIMEOUT_S = 3600.0
"""A cycle that takes longer is ended; a first pull is long, a hang is longer."""
HINTS_AT_ONCE = 8
PAUSE_LOOK_S = 5.0
"""How often a paused wiki is asked whether it still is."""
WAKE_LOOK_S = 5.0
"""How often the clocks are compared."""
SLEEP_MIN_S = 30.0
"""Clocks that drift apart further in between mean that the machine slept."""
PROBLEM_CHARS_MAX = 500

T = TypeVar("T")


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


Told = Callable[[Standing], None]
"""Called after each change of a wiki's condition or problem."""
ToldService = Callable[[Trouble | None], None]
"""Called when all wikis have to wait, and with None when they need not any more."""
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
        hint_min_s: float = HINT_MIN_S,
        told: Told | None = None,
        told_service: ToldService | None = None,
        after_cycle: AfterCycle | None = None,
    ) -> None:
        """Make a daemon.

        Args:
            wikis: What it works on.
            clock: Seconds, monotonic; it may stand still while the machine sleeps.
            wall: Seconds since the epoch.
            chance: For jitter.
            hint_min_s: Between two hints of a wiki while something happens.
            told: Hears of every change of a standing.
            told_service: Hears of what keeps all wikis waiting, once.
            after_cycle: Called after each cycle that ended without an error.
        """
        self._clock = clock
        self._wall = wall
        self._chance = chance or random.Random()
        self._hint_min_s = hint_min_s
        self._told = told or _tell_nobody
        self._told_service = told_service or _tell_nobody
        self._after_cycle = after_cycle
        self._wake = asyncio.Event()
        self.trouble: Trouble | None = None
        """Why all wikis wait."""
        now = clock()
        self.standings: Mapping[str, Standing] = {
            work.name: Standing(work.name, asked_at=now, hint_s=hint_min_s)
            for work in wikis
        }
        self._works = {work.name: work for work in wikis}

    # -- asking ------------------------------------------------------------------

    def ask(self, name: str | None = None, why: Why = Why.EVERYTHING) -> None:
        """Ask for a cycle of one wiki, or of all; many askings are one."""
        for standing in self._named(name):
            self._ask(standing, why)
            self._quicken(standing)

    def retry(self) -> None:
        """Forget all waiting: the machine woke up, or a person knows better."""
        if self.trouble is not None:
            self.trouble.until = 0.0
        for standing in self.standings.values():
            standing.not_before = 0.0
        self.ask()

    def now(self) -> float:
        """The time that standings are in."""
        return self._clock()

    def _ask(self, standing: Standing, why: Why) -> None:
        if not standing.asked:
            standing.asked_at = self._clock()
        standing.asked.add(why)
        self._wake.set()

    def _quicken(self, standing: Standing) -> None:
        """Something happens: hints are asked for at short intervals again."""
        standing.hint_s = self._hint_min_s if standing.has_hints else LOOK_MIN_S
        standing.quickened.set()

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
            and self._ready_at(standing) <= now
        ]
        return min(ready, key=Standing.waits_since, default=None)

    def _has_room(self) -> bool:
        """Whether one more wiki may be worked on; one alone tries a lost service."""
        working = sum(one.is_working for one in self.standings.values())
        return working < (CYCLES_AT_ONCE if self.trouble is None else 1)

    def _ready_at(self, standing: Standing) -> float:
        starts_at = standing.not_before
        if self.trouble is not None:
            starts_at = max(starts_at, self.trouble.until)
        return max(starts_at, standing.waits_since())

    def _is_paused_now(self, standing: Standing, now: float) -> bool:
        """Whether it is paused; asked only where the answer matters."""
        if standing.condition is Condition.PAUSED or self._ready_at(standing) <= now:
            return self._is_paused(standing)
        return False

    def _is_paused(self, standing: Standing) -> bool:
        try:
            is_paused = self._works[standing.name].is_paused
        except WikisyncError:
            return False  # its cycle meets the same trouble, and says so
        if is_paused:
            if standing.condition is not Condition.PAUSED:
                self._wake.set()  # it is asked again sooner than anything is due
            self._set(standing, Condition.PAUSED)
        elif standing.condition is Condition.PAUSED:
            self._set(standing, Condition.STARTING)
            self.ask(standing.name)
        return is_paused

    async def _wait_for_work(self) -> None:
        now = self._clock()
        times = [
            now + PAUSE_LOOK_S
            if one.condition is Condition.PAUSED
            else self._ready_at(one)
            for one in self.standings.values()
            if not one.is_working and self._has_room()
        ]
        wait_s = max(min(times, default=float("inf")) - now, 0.001)
        self._wake.clear()
        with suppress(TimeoutError):
            # a wait without end is woken by whoever asks, or ends its cycle
            async with asyncio.timeout(min(wait_s, FULL_LOOK_S)):
                await self._wake.wait()

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
            self._failed(standing, error, why)
        else:
            self._succeeded(standing, outcome, why)
        finally:
            standing.is_working = False
            self._wake.set()

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
                # the wiki is in step, whatever comes of telling so
                log.warning("%s: %s", standing.name, error.message)
        return outcome

    # -- what came of it ---------------------------------------------------------

    def _succeeded(self, standing: Standing, outcome: CycleOutcome, why: Why) -> None:
        now = self._clock()
        standing.failures, standing.not_before = 0, 0.0
        standing.last_good_at = now
        standing.outcome = outcome
        if why is not Why.FOLDER:
            standing.full_look_at = now
        if not outcome.is_quiet:
            self._quicken(standing)
        if outcome.has_more:
            self._ask(standing, Why.EVERYTHING)
            standing.not_before = now + RESTLESS_S
        standing.due_at = standing.full_look_at + FULL_LOOK_S
        if outcome.next_look_s is not None:
            # absences count only in looks at both sides
            standing.due_at = min(standing.due_at, now + max(outcome.next_look_s, 1.0))
        standing.unsettled = standing.unsettled + 1 if outcome.problem else 0
        if outcome.problem:
            again_s = self._back_off_s(standing.unsettled)
            standing.due_at = min(standing.due_at, now + again_s)
        self._service_answered(standing.began_at)
        condition = Condition.PARTLY if outcome.problem else Condition.IN_STEP
        if outcome.needs_person:
            condition = Condition.NEEDS_PERSON
        self._set(standing, condition, outcome.problem)

    def _failed(self, standing: Standing, error: WikisyncError, why: Why) -> None:
        """Let the wiki wait, or all of them where it is the service's trouble."""
        self._ask(standing, why)
        if isinstance(error, Unavailable | RateLimited | AuthenticationFailed):
            # it may be the trouble of this wiki alone: then it keeps to itself
            standing.failures += 1
            standing.not_before = self._clock() + self._back_off_s(standing.failures)
            self._service_failed(error)
            return
        if isinstance(error, RemoteError):
            self._service_answered(standing.began_at)
        standing.failures += 1
        log.error("%s: %s", standing.name, error.message)
        now = self._clock()
        match error:
            case PermissionDenied():
                standing.not_before = now + REFUSED_RETRY_S
                condition = Condition.REFUSED
            case Halted():
                standing.not_before = now + BACK_OFF_MAX_S
                condition = Condition.NEEDS_PERSON
            case _:
                standing.not_before = now + self._back_off_s(standing.failures)
                condition = Condition.FAILING
        self._set(standing, condition, error.message, error.hint or "")

    def _service_failed(self, error: RemoteError) -> None:
        """All wikis wait; of many that fail together, the first one counts."""
        now, before = self._clock(), self.trouble
        if before is not None and now < before.until:
            return
        failures = before.failures + 1 if before else 1
        match error:
            case AuthenticationFailed():
                condition, wait_s = Condition.REFUSED, REFUSED_RETRY_S
            case RateLimited():
                condition = Condition.OFFLINE
                wait_s = error.retry_after_s or RATE_LIMIT_S
            case _:
                condition, wait_s = Condition.OFFLINE, self._back_off_s(failures)
        self.trouble = Trouble(
            condition,
            error.message,
            error.hint or "",
            since=before.since if before else now,
            failed_at=now,
            until=now + wait_s,
            failures=failures,
            before=before.before if before else self._conditions(),
        )
        for standing in self.standings.values():
            if standing.condition is not Condition.PAUSED:
                standing.condition = condition
        if before is None or before.condition is not condition:
            log.error("%s", error.message)
            self._told_service(self.trouble)
        else:
            log.info("still %s: %s", condition.value, error.message)

    def _service_answered(self, began_at: float) -> None:
        """Let every wiki go on, and look soon at what happened meanwhile."""
        if self.trouble is None or began_at < self.trouble.failed_at:
            return
        lost, self.trouble = self.trouble, None
        for standing in self.standings.values():
            if standing.condition is lost.condition:
                standing.condition = lost.before[standing.name]
            self._quicken(standing)
        log.info("the service is back after %.0f s", self._clock() - lost.since)
        self._wake.set()
        self._told_service(None)

    def _conditions(self) -> Mapping[str, Condition]:
        return {one.name: one.condition for one in self.standings.values()}

    def _back_off_s(self, failures: int) -> float:
        """Full jitter below a limit that doubles, never less than the least."""
        limit = min(BACK_OFF_MAX_S, BACK_OFF_MIN_S * 2 ** min(failures, 16))
        return self._chance.uniform(BACK_OFF_MIN_S, limit)

    def _set(
        self,
        standing: Standing,
        condition: Condition,
        problem: str = "",
        hint: str = "",
    ) -> None:
        now_is = condition, problem, hint
        if (standing.condition, standing.problem, standing.hint) != now_is:
            standing.condition, standing.problem, standing.hint = now_is
            self._told(standing)

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

    async def _poll(self) -> None:
        """Ask for each wiki's mark, the less often the longer nothing happens."""
        async with asyncio.TaskGroup() as group:
            few = asyncio.Semaphore(HINTS_AT_ONCE)
            for standing in self.standings.values():
                group.create_task(self._poll_one(standing, few))

    async def _poll_one(self, standing: Standing, few: asyncio.Semaphore) -> None:
        while True:
            await self._wait_for_hint(standing)
            if self.trouble is not None or self._is_paused(standing):
                continue
            if not standing.has_hints:
                # the whole wiki is the only hint there is
                self._ask(standing, Why.WIKI)
            async with few:
                await self._take_hint(standing, self._works[standing.name].hint())

    async def _take_hint(
        self, standing: Standing, hint: Coroutine[None, None, str | None]
    ) -> None:
        try:
            mark = await guarded(standing.name, hint)
        except (Unavailable, RateLimited, AuthenticationFailed) as error:
            self._ask(standing, Why.WIKI)
            self._service_failed(error)
            return
        except WikisyncError as error:
            log.info("%s: no hint: %s", standing.name, error.message)
            mark = None
        if mark is None:
            standing.has_hints = False
            standing.hint_s = max(standing.hint_s, LOOK_MIN_S)
        elif mark != standing.mark:
            # also the first one: the wiki may have moved since it was looked at
            standing.has_hints, standing.mark = True, mark
            self.ask(standing.name, Why.WIKI)

    async def _wait_for_hint(self, standing: Standing) -> None:
        """Wait until a hint is due, less long where something happens meanwhile."""
        until = self._clock() + self._jittered(standing.hint_s)
        while (left_s := until - self._clock()) > 0:
            standing.quickened.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await standing.quickened.wait()
                until = min(until, self._clock() + self._jittered(standing.hint_s))
        least_s = self._hint_min_s if standing.has_hints else LOOK_MIN_S
        most_s = least_s * HINT_RANGE if standing.has_hints else FULL_LOOK_S
        standing.hint_s = min(max(standing.hint_s * HINT_GROWTH, least_s), most_s)

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
                log.info("the machine slept, or its clock was set: looking again")
                self.retry()
            apart_s = now_apart_s

    def _jittered(self, seconds: float) -> float:
        return seconds * self._chance.uniform(1 - HINT_JITTER, 1 + HINT_JITTER)


async def guarded(name: str, work: Awaitable[T]) -> T:
    """Work whose every failure is an error for people.

    Args:
        name: What is worked on.
        work: Whatever runs for months beside the cycles, or is one.

    Raises:
        WikisyncError: its own, or one that says what went wrong with us.
    """
    try:
        return await work
    except WikisyncError:
        raise
    except Exception as exc:
        # the one place that may: a fault of ours must not end the daemon
        log.exception("work on %s failed", name)
        said = f"{type(exc).__name__}: {exc}"[:PROBLEM_CHARS_MAX]
        raise WikisyncError(
            f"work on {name} failed: {said}",
            hint="this is a fault of wikisync; the log tells where",
        ) from exc


def _tell_nobody(standing: object) -> None:
    """Nobody listens."""
    del standing


def _widest(asked: set[Why]) -> Why:
    """The one of several reasons for which most has to be looked at."""
    return max(asked, key=lambda why: why.value)
