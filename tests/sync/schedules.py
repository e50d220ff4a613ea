"""Schedules: the real engine in a simulated world, from one seed to a verdict.

A schedule runs some cycles in bad weather, then calm ones until nothing is written
any more, and then asks where every mark is that a person ever saved.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.sync.simulated import (
    CALM,
    MARK,
    Crash,
    SimulatedFolder,
    SimulatedWiki,
    Weather,
    World,
)
from tests.sync.virtual import VirtualLoop, run_virtually
from wikisync.errors import WikisyncError
from wikisync.model import Slug, WikiOwner
from wikisync.sync.conflict import Clash, read_bundle
from wikisync.sync.database import Database
from wikisync.sync.deciding import ExchangeOptions
from wikisync.sync.exchange import ExchangeResult, exchange
from wikisync.sync.migrations import SCHEMA_VERSION, create
from wikisync.sync.safety import Decision, decide
from wikisync.sync.sightings import Patience
from wikisync.sync.state import State

OWNER = WikiOwner("project", "docs/handbook")
CYCLES = 6
ROUNDS_MAX = 12
AT_ONCE = ExchangeOptions(patience=Patience(1, 0.0, 1, 0.0))


class SimulatedDatabase(Database):
    """A state file whose every commit is a step of the world."""

    world: World

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        if self._depth:
            with super().transaction() as connection:
                yield connection
            return
        self.world.step("begin")
        with super().transaction() as connection:
            yield connection
        self.world.step("committed")


@dataclass(slots=True)
class Verdict:
    """What became of one schedule."""

    seed: int
    edits: int = 0
    faults: int = 0
    crashes: int = 0
    conflicts: int = 0
    steps: int = 0
    """Steps in bad weather."""
    rounds: int = 0
    """Calm cycles until nothing was written any more."""
    lost: set[str] = field(default_factory=set)
    """Marks that are nowhere, and no person took them away."""
    in_trash: set[str] = field(default_factory=set)
    """Marks that are only in our trash or ring."""
    in_history: set[str] = field(default_factory=set)
    """Marks overwritten between our read and our write."""
    unexplained: set[str] = field(default_factory=set)
    """Marks only in the wiki's history without that excuse."""
    different: set[str] = field(default_factory=set)
    """Pages that differ at rest and are not held."""
    late_writes: int = 0
    """Writes after rest."""
    trace: list[str] = field(default_factory=list)

    @property
    def is_bad(self) -> bool:
        return bool(self.lost or self.unexplained or self.different or self.late_writes)


class Schedule:
    """One seed under way."""

    def __init__(self, seed: int, weather: Weather) -> None:
        self.world = World(seed, weather)
        self.weather = weather
        self.verdict = Verdict(seed)
        self.random = random.Random(seed + 1)
        self.database = SimulatedDatabase.open(Path(":memory:"))
        assert isinstance(self.database, SimulatedDatabase)
        self.database.world = World(0, CALM)
        with self.database.transaction() as connection:
            create(connection)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self.state = State(self.database)
        self.state.wiki(OWNER)
        self.database.world = self.world
        self.wiki = SimulatedWiki(self.world)
        self.folder = SimulatedFolder(self.world)

    async def run(self, loop: VirtualLoop) -> Verdict:
        for _ in range(3):
            self.world.create(self.world.wiki)
            self.world.create(self.world.folder)
        for _ in range(CYCLES):
            await self.cycle(loop, ExchangeOptions(patience=Patience(2, 20.0, 2, 10.0)))
            loop.now_s += self.random.uniform(1, 40)
        self.world.weather = CALM
        self.verdict.steps = self.world.steps
        self.world.crashes_at.clear()
        await self.rest(loop)
        self.judge()
        return self.verdict

    async def cycle(
        self, loop: VirtualLoop, options: ExchangeOptions
    ) -> ExchangeResult | None:
        try:
            return await exchange(
                self.wiki,
                self.folder,
                self.state,
                owner=OWNER,
                options=options,
                clock=loop.time,
            )
        except Crash:
            self.restart()
        except BaseExceptionGroup as group:
            if group.split(Crash)[0] is None:
                raise
            self.restart()
        except WikisyncError as error:
            self.world.trace.append(f"cycle ended: {error}")
        return None

    def restart(self) -> None:
        """A new process: what was only in memory is gone."""
        self.state = State(self.database)

    async def rest(self, loop: VirtualLoop) -> None:
        """Calm cycles, with a person who settles what is held, until all is quiet."""
        for round_number in range(1, ROUNDS_MAX + 1):
            self.approve()
            result = await self.cycle(loop, AT_ONCE)
            assert result is not None, self.world.trace[-20:]
            if result.is_quiet and not result.has_more:
                if self.settle_held():
                    self.verdict.conflicts += 1
                    continue
                break
            self.verdict.rounds = round_number
        writes = self.world.writes
        await self.cycle(loop, AT_ONCE)
        self.verdict.late_writes = self.world.writes - writes
        self.held = {one.slug for one in result.held} if result else set()
        self.names = {str(one.slug) for one in result.plan.held} if result else set()
        for one in result.plan.held if result else ():
            if one.target:
                self.names.add(one.target)

    def approve(self) -> None:
        known = self.state.wiki(OWNER)
        batches = known.batches()
        for batch in batches:
            if batch.decision is Decision.WAITING:
                batches = decide(batches, batch.id, Decision.APPROVED)
        known.record_batches(batches, known.last_batch)

    def settle_held(self) -> bool:
        """A person saves every conflict file with both texts in it."""
        settled = False
        for slug, text in list(self.world.bundles.items()):
            bundle = read_bundle(text)
            if bundle.text is None:
                self.world.bundles[slug] = "".join(
                    piece.remote + piece.local if isinstance(piece, Clash) else piece
                    for piece in bundle.pieces
                )
                settled = True
        return settled

    def judge(self) -> None:
        world, verdict = self.world, self.verdict
        verdict.edits, verdict.faults = world.edits, world.faults
        verdict.crashes, verdict.trace = world.crashes, world.trace
        made = {f"<{number}>" for number in range(1, world._marks + 1)}
        shown = world.folder.marks() | world.wiki.marks()
        for text in world.bundles.values():
            shown |= set(MARK.findall(text))
        missing = made - shown - world.removed
        kept = {m for text in world.trash for m in MARK.findall(text)}
        known = self.state.wiki(OWNER)
        for slug in {*known.base(), *map(Slug, world.folder.pages)}:
            for one in known.replaced(slug):
                kept |= set(MARK.findall(one.replaced))
        past = {m for text in world.wiki.history for m in MARK.findall(text)}
        verdict.in_history = missing & world.overwritten
        rest = missing - world.overwritten
        verdict.in_trash = rest & kept
        verdict.unexplained = (rest - kept) & past
        verdict.lost = rest - kept - past
        mine, theirs = world.folder.texts(), world.wiki.texts()
        verdict.different = {
            name
            for name in mine.keys() | theirs.keys()
            if name not in self.names and mine.get(name) != theirs.get(name)
        }


def run_schedule(
    seed: int, weather: Weather, *, crash_at: int = 0, then: int = 0
) -> Verdict:
    """One schedule from its seed to its verdict.

    Args:
        seed: Of everything that happens.
        weather: How often it happens.
        crash_at: The step at which the process ends; 0 for none.
        then: Another such step.
    """
    schedule = Schedule(seed, weather)
    schedule.world.crashes_at = {crash_at, then}
    try:
        return run_virtually(schedule.run)
    finally:
        schedule.database.close()


def steps_of(seed: int, weather: Weather) -> int:
    """How many steps a schedule has before the calm."""
    return run_schedule(seed, weather).steps
