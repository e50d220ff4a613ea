"""Three wikis that are worked on by the runner of one machine, or by two of a fleet."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from pathlib import Path
from typing import Any, Self

from tests.support.fleet import passes
from tests.support.waiting import until
from wikisync.api.client import Client
from wikisync.core.model import WikiOwner
from wikisync.errors import WikisyncError
from wikisync.fleet.cycle import Cycle
from wikisync.fleet.rows import Row, Rows, key_of
from wikisync.fleet.settings import Settings
from wikisync.fleet.worker import FleetRunner
from wikisync.site.bucket import nothing_lost
from wikisync.site.model import WikiOrigin
from wikisync.workspace.discovery import FoundWiki, Selection
from wikisync.workspace.runner import CycleOutcome, Runner, ScanScope

WIKIS = tuple(
    FoundWiki(
        owner=WikiOwner("project", f"docs/{number}"),
        title="",
        origin=WikiOrigin("http://service", number, "--all", has_token=True),
        is_named=False,
    )
    for number in range(1, 4)
)
KEYS = tuple(map(key_of, WIKIS))


class Cycles:
    """Cycles that take up what was edited, and that a test may hold or let fail."""

    def __init__(self) -> None:
        self.edits: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        """How many of the edits the last whole cycle took up."""
        self.begun: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.live: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.errors: dict[str, WikisyncError] = {}
        self.is_held = False

    async def cycle(self, key: str) -> None:
        seen = self.edits[key]
        self.begun[key] += 1
        self.live[key] += 1
        self.most[key] = max(self.most[key], self.live[key])
        try:
            await until(lambda: not self.is_held)
        finally:
            self.live[key] -= 1
        if key in self.errors:
            raise self.errors[key]
        self.carried[key] = seen
        self.ended[key] += 1

    async def rest(self) -> None:
        """Wait until every wiki has what was edited, and no cycle runs."""
        await until(lambda: set(self.ended) == set(KEYS))
        await until(lambda: self.carried == self.edits and not any(self.live.values()))


class Bench(ABC):
    """Runners that may be ended, and other ones started."""

    def __init__(self) -> None:
        self.cycles = Cycles()

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[None]:
        """Let them work until the block ends, where they die."""

    @abstractmethod
    async def hint(self, key: str) -> None:
        """Tell of a change in a wiki."""

    @abstractmethod
    async def retry(self) -> None:
        """Let nothing wait any longer, as a person may."""

    async def edit(self, key: str) -> None:
        self.cycles.edits[key] += 1
        await self.hint(key)

    async def hold(self, key: str) -> None:
        """Let a cycle of a wiki begin after all others, and not end."""
        await self.cycles.rest()
        self.cycles.is_held = True
        await self.edit(key)
        await until(lambda: self.cycles.live[key] > 0)


@asynccontextmanager
async def running(work: Any) -> AsyncIterator[asyncio.Task[None]]:
    """Work that is cancelled with the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        try:
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


class CountedWork:
    """A wiki of a workspace."""

    is_paused = False

    def __init__(self, name: str, cycles: Cycles) -> None:
        self.name, self._cycles = name, cycles

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        pass

    async def cycle(self, _scope: ScanScope) -> CycleOutcome:
        await self._cycles.cycle(self.name)
        return CycleOutcome(is_quiet=True)


class LocalBench(Bench):
    """The runner of one machine."""

    def __init__(self) -> None:
        super().__init__()
        self._runner: Runner | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._runner = Runner([CountedWork(key, self.cycles) for key in KEYS])
        async with running(self._runner.run()):
            yield

    async def hint(self, key: str) -> None:
        assert self._runner
        self._runner.request_cycle(key, ScanScope.WIKI)
        await asyncio.sleep(0)  # as others tell of theirs, cycles go on

    async def retry(self) -> None:
        assert self._runner
        self._runner.retry()


class CountedCycle(Cycle, frozen=True, kw_only=True):
    """A cycle of a fleet that publishes one page, nowhere."""

    cycles: Cycles

    async def _tried(self, row: Row) -> None:
        await self.cycles.cycle(row.key)
        await end_cycle(self.rows, row)


async def end_cycle(rows: Rows, row: Row, *, rests_s: float | None = 0.0) -> None:
    """Note that a wiki of one page was published."""
    await rows.move(row, generation=1, state="", pages=1, problem="", rests_s=rests_s)


async def idle() -> None:
    pass


class FleetBench(Bench):
    """Two runners of a fleet on one database."""

    def __init__(self, database: str) -> None:
        super().__init__()
        self.database, self.rows = database, Rows(database)

    async def __aenter__(self) -> Self:
        await self.rows.__aenter__()
        # the places are not written to
        self._settings = Settings("http://service", Selection(is_all=True), "", "")
        await self.rows.make(self._settings)
        await self.rows.put(WIKIS)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.rows.__aexit__(*error)

    def runner(self, rows: Rows) -> FleetRunner:
        return FleetRunner(rows, slots=4, beat_s=0.5, poll_s=0.1, dead_s=5)

    def cycle(self, rows: Rows) -> CountedCycle:
        client = Client(self._settings.service, None)
        given = rows, self._settings, client, Path(), nothing_lost, passes
        return CountedCycle(*given, cycles=self.cycles)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for _ in range(2):
                rows = await stack.enter_async_context(Rows(self.database))
                work = self.runner(rows).run(self.cycle(rows).run, idle)
                await stack.enter_async_context(running(work))
            yield

    async def hint(self, key: str) -> None:
        (path,) = (one.owner.full_path for one in WIKIS if key_of(one) == key)
        assert await self.rows.hint(path)

    async def retry(self) -> None:
        await self.rows.retry([one.owner.full_path for one in WIKIS])
