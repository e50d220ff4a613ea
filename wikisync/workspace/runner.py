"""The runner: one coroutine that decides on the cycles of many wikis.

``clone``, ``sync``, ``export`` and ``watch`` all work through it.  It knows of a wiki
only what ``WikiWork`` says: nothing of folders, states and the service.  The contract,
for any queue of wikis:

- no wiki has two cycles at a time; a few wikis have theirs beside each other;
- requested ten times while a cycle runs, a wiki gets one more cycle;
- nothing is lost when the runner dies: the next one begins with a whole scan of each.

``run`` goes on for months: nothing that happens to one wiki ends it, and every wiki is
scanned whole from time to time (``docs/sync.md`` "The daemon"). ``run_to_rest`` is the
same until nothing is due.  Errors make a wiki wait, or all, as ``failures`` says.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from enum import IntEnum, auto
from typing import Protocol

from msgspec import Struct, field

from wikisync.core.messages import Progress
from wikisync.core.system.parallel import WIKIS_AT_ONCE, plain_errors
from wikisync.errors import RemoteError, SyncError, WikisyncError
from wikisync.workspace.failures import (
    OF_SERVICE,
    OWN_TROUBLE,
    Condition,
    Service,
    again_s,
    back_off_s,
    condition_after,
    guarded,
    is_of_all,
    own_failure,
)

log = logging.getLogger(__name__)

CYCLE: ContextVar[str] = ContextVar("cycle", default="")

ROUNDS_MAX = WAITS_MAX = 8
"""Cycles in a row for one wiki before others have their turn, and times that
``run_to_rest`` waits until an absence is certain."""
FULL_SCAN_S = 600.0
"""The whole wiki is scanned at least so often; one whose hints are exact, the more
rarely the longer nothing happened in it ..."""
FULL_SCAN_GROWTH = 6.0
"""... after so many times as long ..."""
FULL_SCAN_MAX_S = 6 * 3600.0
"""... but at least so often."""
RESTLESS_S = 5.0
"""How long a wiki waits that still has something to do after its turn."""
LONG_CYCLE_S = 10.0
"""A wiki whose cycles take longer is not called in sync until they end: a service that
hangs is offline only after minutes."""
CYCLE_TIMEOUT_S = 3600.0
"""A cycle that takes longer is ended; a first pull is long, a hang is longer."""
PAUSE_SCAN_S = 5.0
OPEN_HINT = "close it in the editor; the wiki's changes then arrive immediately"


class ScanScope(IntEnum):
    """Which sides a cycle has to scan; the wider is the greater."""

    FOLDER = auto()
    """Something changed here; the wiki is taken as it was last seen."""
    WIKI = auto()
    EVERYTHING = auto()
    """Time for a whole scan, or a person asked."""


class CycleOutcome(Struct, frozen=True):
    """What the runner needs to know of one cycle."""

    is_quiet: bool
    has_more: bool = False
    next_scan_s: float | None = None
    has_rest: bool = False
    """Pages were left for a newer change: the next cycle begins without a pause."""
    needs_person: bool = False
    problem: str = ""
    """What kept a part of it back; it is tried again, ever more rarely."""
    hint: str = ""
    open_here: str = ""
    """Pages that wait until an editor here closes them; empty for none."""


class WikiWork(Protocol):
    """What is done for one wiki."""

    @property
    def name(self) -> str:
        """How messages call the wiki, such as by its folder in the workspace."""

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        """Remember what the next cycle has to scan, as ``request_cycle`` says."""

    async def cycle(self, scope: ScanScope) -> CycleOutcome:
        """Run one cycle."""


class ShownWork(WikiWork, Protocol):
    """Work that says how far it is."""

    progress: Progress


class WikiRun(Struct):
    """One wiki as the runner sees it; times are of the runner's clock.

    From ``mark`` on it is what hints of a wiki that is watched have to remember.
    """

    name: str
    work: WikiWork
    condition: Condition = Condition.STARTING
    is_working: bool = False
    requested: ScanScope | None = ScanScope.EVERYTHING
    requested_at: float = 0.0
    began_at: float = 0.0
    not_before: float = 0.0
    """No cycle starts earlier: the wiki is in trouble."""
    failures: int = 0
    failure: WikisyncError | None = None
    """Why the last of them failed."""
    failing_since: float = 0.0
    full_scan: float = float("-inf")
    scan_s: float = 0.0
    due_at: float = float("inf")
    """When a cycle is due without being requested."""
    last_good_at: float | None = None
    unsettled: int = 0
    """Cycles in a row that left a problem."""
    problem: str = ""
    hint: str = ""
    cycles: int = 0
    waits: int = 0
    """How often it came to rest with an absence that was not certain."""
    moved_at: float = 0.0
    mark: str | None = None
    has_hints: bool = True
    """Whether the service gives marks of this wiki."""
    has_exact_hints: bool = False
    heard_at: float = float("-inf")
    """When a webhook last reported an edit."""
    has_hooks: bool = False
    """Whether webhooks report what hints find."""
    is_listed: bool = False
    """Whether a list of active projects shows what hints find."""
    listed_since: float = float("inf")
    listed_at: float = float("-inf")
    """When the list last had it as active ..."""
    is_due: bool = False
    """... of which no hint was asked for since."""
    unlisted_since: float | None = None
    """When a hint found a move that the list does not have yet."""
    hinted_at: float = float("-inf")
    hint_s: float = 0.0
    """How long to wait for the next hint; 0: as short as may be."""
    quickened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the wait for the next hint may be too long."""

    @property
    def is_paused(self) -> bool:
        """Whether it was paused when that was last checked."""
        return self.condition is Condition.PAUSED

    def waits_since(self) -> float:
        """When it began to wait for a cycle, or will."""
        if self.requested is None:
            return self.due_at
        return min(self.requested_at, self.due_at)

    def meets(self, outage: Outage | None) -> bool:
        """Whether it failed because all wikis of the service do."""
        return (
            outage is not None
            and isinstance(self.failure, OF_SERVICE)
            and self.failing_since >= outage.failed_at
        )

    def note_hook(self, now: float) -> None:
        """A webhook reported an edit."""
        self.heard_at, self.has_hooks = now, True

    def quicken(self, now: float) -> None:
        """Something happens: hints are asked for at short intervals again."""
        self.hint_s, self.moved_at = 0.0, now
        self.quickened.set()


class Outage(Struct):
    """Why no wiki of the service can be worked on."""

    error: WikisyncError
    condition: Condition
    """Offline, limited or refused."""
    since: float
    failed_at: float
    """When it was tried last; what began earlier says nothing of now."""
    until: float
    failures: int


AfterCycle = Callable[[WikiWork, CycleOutcome], Awaitable[None]]


class Runner:
    """Runs the cycles of some wikis of one service."""

    def __init__(
        self,
        works: Iterable[WikiWork],
        service: Service | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
        on_status: Callable[[WikiRun], None] = lambda _wiki: None,
        on_outage: Callable[[Outage | None], None] = lambda _outage: None,
        after_cycle: AfterCycle | None = None,
    ) -> None:
        """Request a first cycle of each of these wikis.

        ``service`` is asked whether an error of one wiki is that of all; None: it is.
        ``clock`` is monotonic, and may stand still while the machine sleeps.
        ``on_outage`` gets None when it is over; ``after_cycle`` cycles without errors.
        """
        self.clock, self.chance = clock, chance or random.Random()
        self._service = service
        self._on_status, self._on_outage = on_status, on_outage
        self._after_cycle = after_cycle
        self._wake = asyncio.Event()
        """Set when something may be due earlier than was thought."""
        self._is_endless, self._waits, self._working = True, False, 0
        self.outage: Outage | None = None
        self._queue: deque[WikiRun] = deque()
        """Wikis that were due when it was filled, first who waited longest: whoever is
        due since then waits less, and to ask all after each cycle is quadratic."""
        now = clock()
        self.wikis: Mapping[str, WikiRun] = {
            work.name: WikiRun(work.name, work, requested_at=now, moved_at=now)
            for work in works
        }

    # -- requests ------------------------------------------------------------------

    def request_cycle(
        self,
        name: str | None = None,
        scope: ScanScope = ScanScope.EVERYTHING,
        paths: Collection[str] | None = None,
        *,
        has_moved: bool = True,
    ) -> None:
        """Request a cycle of one wiki, or of all; many requests are one.

        ``paths`` are known to have changed; ``has_moved``: not only may have.
        """
        for wiki in self.wikis.values() if name is None else (self.wikis[name],):
            wiki.work.note(scope, paths)
            if wiki.requested is None:
                wiki.requested_at = self.clock()
            wiki.requested = max(wiki.requested or scope, scope)
            if has_moved:
                wiki.quicken(self.clock())
        self._wake.set()

    def retry(self) -> None:
        """Forget all waiting: the machine woke up, or a person knows better."""
        if self.outage is not None:
            self.outage.until = 0.0
        for wiki in self.wikis.values():
            wiki.not_before = 0.0
        self.request_cycle(has_moved=False)
        self._quicken_unlisted()

    def _quicken_unlisted(self) -> None:
        """Something may have happened; the next list says in which of its wikis."""
        for wiki in self.wikis.values():
            if not wiki.is_listed:
                wiki.quicken(self.clock())
            elif wiki.is_due:
                wiki.quickened.set()

    # -- running -----------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._begin_next(group)

    @classmethod
    async def to_rest(
        cls,
        works: Sequence[ShownWork],
        service: Service,
        progress: Progress,
        label: str,
        *,
        waits: bool = False,
    ) -> Runner:
        """Run each to its rest; the progress is that of the one, or counts the many."""
        of_wikis = Progress()
        if len(works) == 1:
            works[0].progress = progress
        else:
            of_wikis = progress
            of_wikis.start(label, len(works))
        runner = cls(works, service, on_status=lambda _wiki: of_wikis.advance())
        await runner.run_to_rest(waits=waits)
        return runner

    async def run_to_rest(self, *, waits: bool = False) -> None:
        """Work until nothing is due, or the service is lost: each wiki to its rest.

        ``waits``: until absences are certain, too.
        """
        self._is_endless, self._waits = False, waits
        with plain_errors():
            async with asyncio.TaskGroup() as group:
                while not self._is_at_rest():
                    await self._begin_next(group)

    def _is_at_rest(self) -> bool:
        if self._working:
            return False
        wikis = self.wikis.values()
        left = [wiki for wiki in wikis if wiki.waits_since() != float("inf")]
        return self.outage is not None or all(map(self.is_left_alone, left))

    async def _begin_next(self, group: asyncio.TaskGroup) -> None:
        """Begin the cycles of the wiki that waited longest, or wait for one."""
        # one alone tries a service that was lost
        room = WIKIS_AT_ONCE if self.outage is None else int(self._is_endless)
        room -= self._working
        if room > 0 and not self._queue:
            ready = filter(self._may_begin, self.wikis.values())
            self._queue.extend(sorted(ready, key=WikiRun.waits_since))
        while room > 0 and self._queue:
            wiki = self._queue.popleft()
            if self._may_begin(wiki):
                wiki.is_working, self._working = True, self._working + 1
                group.create_task(self._work_on(wiki))
                return
        now = self.clock()
        times = [
            now + PAUSE_SCAN_S if wiki.is_paused else self._ready_at(wiki)
            for wiki in (self.wikis.values() if room > 0 else ())
            if not wiki.is_working
        ]
        wait_s = max(min(times, default=float("inf")) - now, 0.001)
        # nothing is awaited since the times were read, so that no wake-up is lost
        self._wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(wait_s, FULL_SCAN_S)):
                await self._wake.wait()

    def _may_begin(self, wiki: WikiRun) -> bool:
        """Whether it is due, and not paused, which is asked only where it matters."""
        if wiki.is_working:
            return False
        now = self.clock()
        is_asked = wiki.is_paused or self._ready_at(wiki) <= now
        return is_asked and not self.is_left_alone(wiki) and self._ready_at(wiki) <= now

    def _ready_at(self, wiki: WikiRun) -> float:
        starts_at = max(wiki.not_before, wiki.waits_since())
        return starts_at if self.outage is None else max(starts_at, self.outage.until)

    def is_left_alone(self, wiki: WikiRun) -> bool:
        """Whether a wiki is paused now; what was resumed is scanned."""
        try:
            is_paused = wiki.work.is_paused
        except WikisyncError:
            return False  # its cycle meets the same trouble, and says so
        if is_paused:
            if not wiki.is_paused:
                self._wake.set()  # it is asked again sooner than anything is due
            self._set(wiki, Condition.PAUSED)
        elif wiki.is_paused:
            self._set(wiki, Condition.STARTING)
            self.request_cycle(wiki.name)
        return is_paused

    async def _work_on(self, wiki: WikiRun) -> None:
        wiki.began_at = self.clock()
        scope = wiki.requested or ScanScope.EVERYTHING
        if wiki.due_at <= wiki.began_at:
            scope = ScanScope.EVERYTHING
        # taken before the cycle: whoever requests one during it gets another one
        wiki.requested = None
        if self.outage is not None:
            # a cycle that asks the service for nothing does not show that it is back
            scope = max(scope, ScanScope.WIKI)
        late = asyncio.get_running_loop().call_later(
            LONG_CYCLE_S, self._note_long, wiki
        )
        try:
            for _ in range(ROUNDS_MAX):
                outcome = await self._cycle(wiki, scope)
                if not outcome.has_more:
                    break
                scope = ScanScope.EVERYTHING
        except WikisyncError as error:
            self._failed(wiki, error, scope, is_of_all=await self.is_of_all(error))
        else:
            self._succeeded(wiki, outcome, scope)
        finally:
            late.cancel()
            wiki.is_working, self._working = False, self._working - 1
            self._wake.set()

    async def _cycle(self, wiki: WikiRun, scope: ScanScope) -> CycleOutcome:
        wiki.cycles += 1
        CYCLE.set(f"{wiki.name}#{wiki.cycles}")
        if not self._is_endless:
            outcome = await wiki.work.cycle(scope)
        else:
            try:
                async with asyncio.timeout(CYCLE_TIMEOUT_S):
                    outcome = await guarded(wiki.name, wiki.work.cycle(scope))
            except TimeoutError as exc:
                raise SyncError(
                    f"a cycle of {wiki.name} took longer than"
                    f" {CYCLE_TIMEOUT_S / 60:.0f} minutes"
                ) from exc
        if self._after_cycle is not None:
            try:
                await guarded(wiki.name, self._after_cycle(wiki.work, outcome))
            except WikisyncError as error:
                # the wiki is in sync, also where nobody could be notified
                log.warning("%s: %s", wiki.name, error.message)
        return outcome

    # -- what came of a cycle ----------------------------------------------------

    def _succeeded(
        self, wiki: WikiRun, outcome: CycleOutcome, scope: ScanScope
    ) -> None:
        now = self.clock()
        wiki.failures, wiki.failure, wiki.not_before = 0, None, 0.0
        wiki.last_good_at = now
        if scope is not ScanScope.FOLDER:
            wiki.full_scan, wiki.scan_s = now, now - wiki.began_at
        if not outcome.is_quiet:
            wiki.quicken(now)
        wiki.due_at = float("inf")
        if outcome.next_scan_s is not None:
            # absences count only in scans of both sides
            wiki.due_at = now + max(outcome.next_scan_s, 1.0)
            wiki.waits += 1
        wiki.unsettled = wiki.unsettled + 1 if outcome.problem else 0
        if not self._is_endless:
            if not self._waits or outcome.has_more or wiki.waits > WAITS_MAX:
                wiki.due_at = float("inf")
        else:
            wait_s = FULL_SCAN_S
            if wiki.has_exact_hints:
                rest_s = wiki.full_scan - wiki.moved_at
                wait_s = min(max(rest_s * FULL_SCAN_GROWTH, wait_s), FULL_SCAN_MAX_S)
            wiki.due_at = min(wiki.due_at, wiki.full_scan + wait_s)
            if outcome.has_more:
                self.request_cycle(wiki.name, has_moved=False)
                wiki.not_before = now if outcome.has_rest else now + RESTLESS_S
            if outcome.problem:
                again_at = now + back_off_s(wiki.unsettled, self.chance)
                wiki.due_at = min(wiki.due_at, again_at)
        self._service_answered(wiki.began_at)
        problem, hint = outcome.problem, outcome.hint
        if outcome.needs_person:
            condition = Condition.NEEDS_PERSON
        elif problem:
            condition = Condition.PARTLY
        elif outcome.has_more and self._is_endless:
            condition = Condition.SYNCING
        elif outcome.open_here:
            condition, problem, hint = Condition.OPEN, outcome.open_here, OPEN_HINT
        else:
            condition = Condition.IN_SYNC
        self._set(wiki, condition, problem, hint)

    def _note_long(self, wiki: WikiRun) -> None:
        is_well = wiki.condition in {Condition.IN_SYNC, Condition.OPEN}
        if is_well and self.outage is None:
            self._set(wiki, Condition.SYNCING)

    def _failed(
        self, wiki: WikiRun, error: WikisyncError, scope: ScanScope, *, is_of_all: bool
    ) -> None:
        """Let the wiki wait, or all of them where it is the service's trouble."""
        now = self.clock()
        if not wiki.failures:
            wiki.failing_since = now
        wiki.failures += 1
        if self._is_endless:
            self.request_cycle(wiki.name, scope, has_moved=False)
        else:
            wiki.due_at = float("inf")
        if is_of_all:
            wiki.failure = error
            wiki.not_before = now + back_off_s(wiki.failures, self.chance)
            self.note_outage(error)
            return
        wiki.not_before = now + again_s(error, wiki.failures, self.chance)
        if isinstance(error, RemoteError):
            # where the error may be of all, the service was asked, and answered now
            is_now = isinstance(error, OWN_TROUBLE)
            self._service_answered(now if is_now else wiki.began_at)
        wiki.failure = own_failure(error, wiki.failures)
        condition = condition_after(error, is_of_all=False)
        self._set(wiki, condition, wiki.failure.message, wiki.failure.hint or "")

    def _set(
        self, wiki: WikiRun, condition: Condition, problem: str = "", hint: str = ""
    ) -> None:
        if (wiki.condition, wiki.problem, wiki.hint) != (condition, problem, hint):
            wiki.condition, wiki.problem, wiki.hint = condition, problem, hint
            self._on_status(wiki)

    # -- the service -------------------------------------------------------------

    def condition_of(self, wiki: WikiRun) -> Condition:
        """How a wiki is, which in an outage is how the service is."""
        if self.outage is None or wiki.is_paused:
            return wiki.condition
        return self.outage.condition

    async def is_of_all(self, error: WikisyncError) -> bool:
        """Whether the other wikis would meet this error, too."""
        try:
            return await guarded("the service", is_of_all(self._service, error))
        except WikisyncError:
            return True

    def note_outage(self, error: WikisyncError) -> None:
        """All wikis wait; of many that fail together, the first one counts."""
        now, before = self.clock(), self.outage
        if before is not None and now < before.until:
            return
        failures = before.failures + 1 if before else 1
        condition = condition_after(error, is_of_all=True)
        self.outage = Outage(
            error,
            condition,
            since=before.since if before else now,
            failed_at=now,
            until=now + again_s(error, failures, self.chance),
            failures=failures,
        )
        log.info("%s: %s", condition.value, error.message)
        if before is None or before.condition is not condition:
            self._on_outage(self.outage)

    def _service_answered(self, began_at: float) -> None:
        """Let every wiki go on, and ask soon for what happened meanwhile."""
        # what began before the failure says nothing of the service now
        if self.outage is None or began_at < self.outage.failed_at:
            return
        log.info("the service is back after %.0f s", self.clock() - self.outage.since)
        self.outage = None
        self._quicken_unlisted()
        self._wake.set()
        self._on_outage(None)
