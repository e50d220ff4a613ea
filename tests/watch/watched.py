"""A runner on virtual time, whose wikis are as a test says."""

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from tests.sync.virtual import START_S, VirtualLoop, run_virtually
from wikisync.errors import Unavailable
from wikisync.watch.triggers import RemoteHint, Triggers
from wikisync.workspace.failures import Condition
from wikisync.workspace.runner import (
    CYCLE,
    AfterCycle,
    CycleOutcome,
    Outage,
    Runner,
    ScanScope,
)

QUIET = CycleOutcome(is_quiet=True)
AWAY = Unavailable("the service does not answer", url="https://gitlab.example.com")
HOUR_S = 3600.0


@dataclass
class Work:
    """A wiki whose cycles, scans and hints are as the test says."""

    name: str
    loop: VirtualLoop
    takes_s: float = 0.1
    is_paused: bool = False
    outcomes: list[CycleOutcome | Exception] = field(default_factory=list)
    """Of the next cycles; quiet ones afterwards."""
    failure: Exception | None = None
    """Of every cycle and hint, while it is set."""
    mark: str | None = "1"
    """Of the hints."""
    is_exact: bool = False
    """Of the hints, too."""
    unchanged: int = 0
    """How often it was noted that nothing changed."""
    differs: bool = False
    scan_failure: Exception | None = None
    cycles: list[tuple[float, ScanScope]] = field(default_factory=list)
    """When each began, in seconds from the start, and what it scans."""
    hints: list[float] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    noted: list[tuple[ScanScope, Collection[str] | None]] = field(default_factory=list)

    @property
    def now(self) -> float:
        return self.loop.time() - START_S

    @property
    def scopes(self) -> list[ScanScope]:
        """What each cycle scanned."""
        return [scope for _, scope in self.cycles]

    @property
    def whole_scans(self) -> list[float]:
        """When each cycle began that scanned everything."""
        return [at for at, scope in self.cycles if scope is ScanScope.EVERYTHING]

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        self.noted.append((scope, paths))

    async def cycle(self, scope: ScanScope) -> CycleOutcome:
        self.cycles.append((self.now, scope))
        self.ids.append(CYCLE.get())
        await asyncio.sleep(self.takes_s)
        if self.failure is not None:
            raise self.failure
        outcome = self.outcomes.pop(0) if self.outcomes else QUIET
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def scan(self) -> bool:
        if self.scan_failure is not None:
            raise self.scan_failure
        return self.differs

    async def hint(self) -> RemoteHint | None:
        self.hints.append(self.now)
        if self.failure is not None:
            raise self.failure
        if self.mark is None:
            return None
        return RemoteHint(self.mark, self.is_exact)

    async def note_unchanged(self) -> None:
        self.unchanged += 1


@dataclass(frozen=True)
class Service:
    """A service that answers when it is asked, or is away."""

    is_away: bool
    has_token = True

    async def version(self) -> None:
        if self.is_away:
            raise AWAY


@dataclass
class Listed:
    """A list of active projects that has some wikis and says what the test says."""

    works: list[Work]
    asked: list[float] = field(default_factory=list)
    """When, in seconds from the start."""
    failure: Exception | None = None
    is_still: bool = False
    """Whether it has nothing of what happens."""
    marks: dict[str, str | None] = field(default_factory=dict)

    name = "the list"

    @property
    def wikis(self) -> list[str]:
        return [work.name for work in self.works]

    async def active(self) -> list[str]:
        self.asked.append(self.works[0].now)
        if self.failure is not None:
            raise self.failure
        before = self.marks
        if not before or not self.is_still:
            self.marks = {work.name: work.mark for work in self.works}
        return [name for name, mark in before.items() if mark != self.marks[name]]


@dataclass
class Watch:
    """A runner with its triggers that runs on virtual time."""

    loop: VirtualLoop
    works: list[Work]
    runner: Runner
    told: list[tuple[str, Condition, str]]
    told_service: list[str]
    listed: Listed
    wall_ahead_s: float = 0.0

    async def at(self, seconds: float) -> None:
        """Let time pass until so many seconds after the start."""
        await asyncio.sleep(seconds - (self.loop.time() - START_S))


def watched(
    *names: str,
    after_cycle: AfterCycle | None = None,
    is_away: bool | None = None,
    is_listed: bool = False,
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Run a test beside a runner of these wikis, which is its first parameter.

    ``is_away`` is what the service itself says when it is asked; None asks nothing.
    ``is_listed`` says that a list of active projects has all of them, by exact hints.
    """

    async def run(loop: VirtualLoop, test: Callable[[Watch], Awaitable[None]]) -> None:
        works = [Work(name, loop, is_exact=is_listed) for name in names or ("docs",)]
        listed = Listed(works)
        told: list[tuple[str, Condition, str]] = []
        told_service: list[str] = []

        def note(outage: Outage | None) -> None:
            told_service.append(outage.condition.value if outage else "back")

        runner = Runner(
            works,
            None if is_away is None else Service(is_away=is_away),
            clock=loop.time,
            chance=random.Random(7),
            on_status=lambda one: told.append((one.name, one.condition, one.problem)),
            on_outage=note,
            after_cycle=after_cycle,
        )
        triggers = Triggers(
            runner,
            works,
            [listed] if is_listed else (),
            wall=lambda: loop.time() + watch.wall_ahead_s,
        )
        watch = Watch(loop, works, runner, told, told_service, listed)
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(one.run()) for one in (runner, triggers)]
            await test(watch)
            for one in running:
                one.cancel()

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        def run_test(**given: object) -> None:
            run_virtually(lambda loop: run(loop, partial(test, **given)))

        signature = inspect.signature(test)
        own = list(signature.parameters.values())[1:]
        run_test.__name__, run_test.__doc__ = test.__name__, test.__doc__
        run_test.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        return run_test

    return decorate


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(times)]


def hear(watch: Watch, name: str) -> None:
    """A webhook reports an edit of a wiki."""
    watch.runner.wikis[name].note_hook(watch.loop.time())
    watch.runner.request_cycle(name, ScanScope.WIKI)
