"""Schedules: the real engine in a simulated world, from one seed to a verdict.

A schedule runs some cycles in bad weather, then calm ones until nothing is written
any more, and then asks where every mark is that a person ever saved.
"""

import asyncio
import contextlib
import logging
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from msgspec.structs import replace

from tests.sync import persons
from tests.sync.incidents import BIN, bring_contents, bring_disk
from tests.sync.incidents import settled as settled_text
from tests.sync.simulated import SimulatedFiles, SimulatedFolder, SimulatedWiki
from tests.sync.simulated_git import SimulatedGit
from tests.sync.virtual import VirtualLoop, run_virtually
from tests.sync.wire import wired_wiki
from wikisync.core.model import STRAY_CONFLICT, Slug, WikiOwner, fold_text
from wikisync.errors import WikisyncError
from wikisync.merging.conflict import read_conflict_file
from wikisync.merging.metadata import front_matter_of
from wikisync.sync.base.database import Database
from wikisync.sync.base.state import State, WikiState, create
from wikisync.sync.decide.ledger import unpack
from wikisync.sync.decide.plan import HoldReason, SkipReason
from wikisync.sync.decide.safety import BatchKind, Decision, decide
from wikisync.sync.run import cycle as engine
from wikisync.sync.run.filters import REFUSAL_S
from wikisync.sync.run.parts import Cycle, CycleOptions, CycleResult, Patience
from wikisync.sync.run.undoing import undo_sync
from wikisync.sync.views import AliasedFolder
from wikisync.workspace.linking import TranslatedWiki

OWNER = WikiOwner("project", "docs/handbook")
CYCLES = 6
ROUNDS_MAX = 12
HINTED = 0.3
"""Cycles for saves that a hint of the wiki has, too."""
LEAVES = 0.1
"""Of the pages that a cycle is about to send, where it leaves those that follow."""
CLOCKS_S = (-86_400.0, -600.0, 0.0, 600.0, 86_400.0)
"""How far from the time a clock may be."""
LOG_LINES = 50
"""Of one page, in which is looked for what a person was told."""
REST_ROUNDS_MAX = 4
"""Rounds to rest once nobody does anything (I3)."""
AT_ONCE = CycleOptions(
    patience=Patience(
        remote_scans=1, remote_span_s=0.0, local_scans=1, local_span_s=0.0
    )
)

# without a place for it, Python prints what the engine logs into the proof's table
logging.getLogger("wikisync").addHandler(logging.NullHandler())


class SimulatedDatabase(Database):
    """A state file whose every commit is a step of the world."""

    world: persons.World

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
    cancels: int = 0
    cycles: int = 0
    """Cycles in bad weather."""
    troubled: int = 0
    """Those that met a fault."""
    conflicts: int = 0
    steps: int = 0
    """Steps in bad weather."""
    rounds: int = 0
    """Cycles to rest since a person did something last."""
    all_rounds: int = 0
    """And with those in which the person settled what was held."""
    """Calm cycles until nothing was written any more."""
    is_restless: bool = False
    """Whether it never came to rest."""
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
    mixed: set[str] = field(default_factory=set)
    """Pages with a line that was written for another one."""
    late_writes: int = 0
    """Writes after rest."""
    trace: list[str] = field(default_factory=list)

    @property
    def is_bad(self) -> bool:
        lost = self.lost or self.unexplained or self.in_trash
        is_restless = self.is_restless or self.rounds > REST_ROUNDS_MAX
        is_wrong = self.different or self.mixed or self.late_writes
        return bool(lost or is_wrong or is_restless)


class Client:
    """One folder with its state and its process."""

    def __init__(
        self, world: persons.World, copy: persons.Copy, git: SimulatedGit | None
    ) -> None:
        self.world = world
        self.copy = copy
        self._git = git
        copy.known_pages = lambda: self.known.base().keys()
        self.lose_record()
        self.result: CycleResult | None = None
        self.told: set[str] = set()
        """Marks in such texts that a person was told to be in the trash."""

    def lose_record(self) -> None:
        """Nothing is known of the folder from now on."""
        # not by ``open``, which would make a file of this name
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        database = SimulatedDatabase(connection, Path(":memory:"))
        self.database = database
        database.world = persons.World(0, persons.CALM)
        with database.transaction() as connection:
            create(connection)
        self.restart()
        database.world = self.world

    @property
    def known(self) -> WikiState:
        return self.state.wiki(OWNER)

    async def cycle(
        self, loop: VirtualLoop, options: CycleOptions
    ) -> CycleResult | None:
        """One cycle, to whatever end."""
        self.result = None
        weather, chance = self.world.weather, self.world.random
        is_for_saves = bool(weather.saves) and chance.random() < weather.saves
        if is_for_saves:
            names = frozenset(n for n in self.copy.pages if chance.random() < 0.5)
            options = replace(options, saved=names)
        # a hint may come with the saves, or alone
        is_hinted = is_for_saves and chance.random() < HINTED
        self.wiki.is_remembering = is_for_saves and not is_hinted
        self.wiki.keeps_files = is_for_saves
        thrown = len(self.copy.thrown)

        def is_awaited() -> bool:
            return weather is not persons.CALM and self.world.leaving.random() < LEAVES

        try:
            self.state.wiki(OWNER).remember(left_out=None)
            with patch.object(engine, "SEND_SHARE", -1.0):  # a rest is left at once
                sides = self.wiki, self.folder, self.known
                cycle = Cycle(*sides, options, lambda: loop.time() + self.world.clock_s)
                self.result = await engine.run_cycle(
                    replace(cycle, linked=self.wiki, is_awaited=is_awaited)
                )
        except (persons.Crash, asyncio.CancelledError):
            self.restart()
        except BaseExceptionGroup as group:
            if group.split((persons.Crash, asyncio.CancelledError))[1] is not None:
                raise
            self.restart()
        except WikisyncError as error:
            self.world.trace.append(f"cycle ended: {error}")
        for slug, text in self.copy.thrown[thrown:]:
            events = self.known.events(LOG_LINES, Slug(slug))
            if any("is in the trash" in event.what for event in events):
                self.told |= set(persons.MARK.findall(text))
        return self.result

    def restart(self) -> None:
        """A new process: what was only in memory is gone."""
        self.state = State(self.database)
        known = self.state.wiki(OWNER)
        self.folder = AliasedFolder(SimulatedFolder(self.world, self.copy), known)
        is_wired = self.world.weather.is_wired
        wiki = (
            wired_wiki(self.world, known, OWNER, self._git, self.copy.name)
            if is_wired
            else SimulatedWiki(self.world)
        )
        files = SimulatedFiles(self.world, self.copy)
        self.wiki = TranslatedWiki(wiki, files, known)

    @property
    def is_asked(self) -> bool:
        """Whether a batch waits for the person."""
        batches = self.known.memory.batches
        return any(one.decision is Decision.WAITING for one in batches)

    def approve(self) -> bool:
        """A person says yes to all that waits; False where nothing does.

        But to a wiki that went back in time: the newer texts are put back.
        """
        batches = self.known.memory.batches
        waiting = [one for one in batches if one.decision is Decision.WAITING]
        for batch in waiting:
            is_back = batch.kind is BatchKind.REWOUND
            if is_back:
                # who puts these pages back gives up what the wiki alone has of them
                names = {str(member.slug) for member in batch.members}
                shown = self.world.wiki.texts()
                there = {
                    m
                    for s in names & shown.keys()
                    for m in persons.MARK.findall(shown[s])
                }
                self.world.removed |= there - self.copy.marks()
            is_older = batch.kind is BatchKind.REWOUND_THERE and batch.id % 2
            self.world.trace.append(f"{self.copy.name}: asked about {batch.kind.name}")
            said = Decision.REFUSED if is_back or is_older else Decision.APPROVED
            batches = decide(batches, batch.id, said)
        self.known.record_batches(batches)
        return bool(waiting)

    def settle_held(self) -> bool:
        """A person saves every conflict file with both texts in it."""
        settled = False
        for slug, text in list(self.copy.conflict_files.items()):
            conflict_file = read_conflict_file(text)
            if conflict_file.text is None:
                self.copy.conflict_files[slug] = settled_text(text)
                self.world.join_pages(self.copy.conflict_files[slug])
                settled = True
        return settled

    def held_names(self) -> set[str]:
        """Pages that wait for a person, by all the names they have or want."""
        held = self.result.plan.held if self.result else ()
        names = [(one.slug, one.target, one.file) for one in held]
        waiting = {str(name) for each in names for name in each if name}
        twins = {
            one.slug.casefold() for one in held if one.reason is HoldReason.CASE_TWIN
        }
        waiting |= {slug for slug in self.copy.pages if slug.casefold() in twins}
        doubled = self._reported("duplicate-page")
        files = {str(p) for p, slug in self.known.aliases().items() if slug in doubled}
        skipped = self.result.plan.skipped if self.result else ()
        # a missing page may be the file that is skipped, until a person names one anew
        reasons = {SkipReason.CHANGE_REFUSED, SkipReason.MAY_BE_UNREAD}
        reasons -= set() if doubled else {SkipReason.MAY_BE_UNREAD}
        # a page that is renamed waits until a held one gives up the name
        reasons |= {SkipReason.NAME_IN_USE} if held else set()
        waits = {skip.slug for skip in skipped if skip.reason in reasons}
        return waiting | doubled | files | waits

    def untold(self) -> set[str]:
        """Conflict files that lie there, and nobody knows of."""
        known = {str(self.known.file_of(one)) for one in self.known.conflict_files()}
        return self.copy.conflict_files.keys() - known - self._reported(STRAY_CONFLICT)

    def _reported(self, code: str) -> set[str]:
        """Names of pages and files of which the last cycle said this."""
        problems = self.result.problems if self.result else ()
        return {one.subject for one in problems if one.code == code}

    def kept_marks(self) -> set[str]:
        """What is in the trash, in the ring, and in conflict files that are gone."""
        texts = list(self.copy.trash)
        # also of pages that are gone: ``restore`` brings those back, too
        rows = self.known._rows("SELECT text FROM history WHERE wiki = ?")
        texts += [unpack(text) for (text,) in rows]
        return {mark for text in texts for mark in persons.MARK.findall(text)}


class Schedule:
    """One seed under way."""

    def __init__(self, seed: int, weather: persons.Weather, cache: Path) -> None:
        self.world = persons.World(seed, weather)
        git = SimulatedGit(self.world, seed, cache) if weather.has_git else None
        self.weather = weather
        self.verdict = Verdict(seed)
        self.random = random.Random(seed + 1)
        self.clients = [Client(self.world, copy, git) for copy in self.world.folders]

    async def run(self, loop: VirtualLoop) -> Verdict:
        for _ in range(3):
            self.world.create(self.world.wiki)
            self.world.create(self.random.choice(self.world.folders))
        if self.weather.disks:
            for name in persons.DISK_NAMES:
                self.world.put(self.world.wiki, name, self.world.new_line())
        for _ in range(CYCLES * self.weather.length):
            faults = self.world.faults
            patient = CycleOptions(
                patience=Patience(remote_scans=2, remote_span_s=20.0)
            )
            await self.storm(loop, patient)
            self.verdict.cycles += 1
            self.verdict.troubled += self.world.faults > faults
            loop.now_s += self.random.uniform(1, 40)
            if self.weather.clock and self.random.random() < self.weather.clock:
                self.world.clock_s = self.random.choice(CLOCKS_S)
                self.world.trace.append(f"the clock is set: {self.world.clock_s:+.0f}")
            if self.world.force():
                await self.put_back(loop)
            await self.undo(loop)
            for client in self.clients:
                if self.random.random() < self.weather.lost:
                    self.world.trace.append(f"{client.copy.name}: its record is lost")
                    client.lose_record()
        self.world.weather = persons.CALM
        for folder in self.world.folders:
            bring_disk(self.world, folder)
            bring_contents(self.world, folder)
        if self.weather.rights:
            self.world.rights = "write"
            loop.now_s += 3 * REFUSAL_S  # after it, though the clock was set back
        self.verdict.steps = self.world.steps
        self.world.crashes_at.clear()
        await self.rest(loop)
        self.judge()
        return self.verdict

    async def put_back(self, loop: VirtualLoop) -> None:
        """Persons are asked about a wiki that went back, and put their texts back."""
        self.world.weather = persons.CALM
        for client in self.clients:
            await client.cycle(loop, AT_ONCE)
            client.approve()
            await client.cycle(loop, AT_ONCE)
        self.world.weather = self.weather

    async def undo(self, loop: VirtualLoop) -> None:
        """A person takes a folder's last sync back, and sees what goes with it."""
        for client in self.clients:
            if self.random.random() >= self.weather.undo:
                continue
            known = client.known
            sync = known.last_sync()
            if sync is None:
                continue
            self.world.trace.append(f"{client.copy.name}: undo {sync.number}")
            self.world.weather = persons.CALM
            client.wiki.is_remembering = False
            there = await client.wiki.snapshot()
            now = loop.time()
            pages = await undo_sync(client.folder, known, sync, there, now)
            self.world.weather = self.weather
            for step in (one for one, why in pages.items() if not why):
                gone = set(persons.MARK.findall(known.text(step.slug) or ""))
                self.world.removed |= gone - set(persons.MARK.findall(step.before))

    async def storm(self, loop: VirtualLoop, options: CycleOptions) -> None:
        """A cycle of every client at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(client.cycle(loop, options))
                for client in self.clients
            ]
            self.world.cancel = lambda: self.random.choice(tasks).cancel()
        self.world.cancel = lambda: False

    async def rest(self, loop: VirtualLoop) -> None:
        """Calm cycles, with a person who settles what is held, until all is quiet.

        The rounds count from the last thing that a person did (I3).
        """
        undisturbed = 0
        for round_number in range(1, ROUNDS_MAX * len(self.clients) + 1):
            results = []
            for client in self.clients:
                if client.approve():
                    undisturbed = 0
                results.append(await client.cycle(loop, AT_ONCE))
            undisturbed += 1
            assert all(results), self.world.trace[-20:]
            if all(one and one.is_quiet and not one.has_more for one in results):
                if sum(client.settle_held() for client in self.clients):
                    self.verdict.conflicts += 1
                    undisturbed = 0
                    continue
                if not any(client.is_asked for client in self.clients):
                    break
                undisturbed = 0
            self.verdict.rounds = max(self.verdict.rounds, undisturbed)
            self.verdict.all_rounds = round_number
        else:
            self.verdict.is_restless = True
        writes = self.world.writes
        for client in self.clients:
            await client.cycle(loop, AT_ONCE)
        self.verdict.late_writes = self.world.writes - writes

    def judge(self) -> None:
        world, verdict = self.world, self.verdict
        verdict.edits, verdict.faults = world.edits, world.faults
        verdict.crashes, verdict.trace = world.crashes, world.trace
        verdict.cancels = world.cancels
        made = {f"<{number}>" for number in range(1, world.marks + 1)}
        shown = world.wiki.marks()
        kept: set[str] = set()
        for client in self.clients:
            shown |= client.copy.marks()
            for text in client.copy.conflict_files.values():
                shown |= set(persons.MARK.findall(text))
            kept |= client.kept_marks()
            world.removed |= client.told
        missing = made - shown - world.removed
        past = {m for text in world.wiki.history for m in persons.MARK.findall(text)}
        verdict.in_history = missing & world.overwritten
        rest = missing - world.overwritten
        verdict.in_trash = rest & kept
        verdict.unexplained = (rest - kept) & past
        verdict.lost = rest - kept - past
        for client in self.clients:
            verdict.different |= self._different(client) | client.untold()
            verdict.different |= self._not_agreed(client)
            if self.weather.rights and client.result:
                # all rights are back for as long as a refusal counts
                held = client.result.plan.held
                refused = (one for one in held if one.reason is HoldReason.REFUSED)
                verdict.different |= {f"{one.slug} as refused" for one in refused}
        if self.weather.taken:
            for copy in (world.wiki, *world.folders):
                verdict.mixed |= world.mixed(copy)
        verdict.different |= world.spoilt
        verdict.different |= {name for name in world.wiki.pages if BIN in name}

    def _different(self, client: Client) -> set[str]:
        """Pages that differ by more than line ends, which each side has as it likes.

        Also such as show a picture that is not there.
        """
        mine, theirs = client.copy.shown(), self.world.wiki.shown()
        aliases = {str(k): str(v) for k, v in client.known.aliases().items()}
        mine = {aliases.get(name, name): text for name, text in mine.items()}
        if self.world.strips_front_matter:
            mine, theirs = _without_front_matter(mine), _without_front_matter(theirs)
        return {
            name
            for name in mine.keys() | theirs.keys()
            if name not in client.held_names()
            and (
                _folded(mine.get(name)) != _folded(theirs.get(name))
                or persons.MISSING in theirs.get(name, "")
            )
        }

    def _not_agreed(self, client: Client) -> set[str]:
        """Pages of which the engine has not noted what both sides hold."""
        aliases = {str(k): v for k, v in client.known.aliases().items()}
        mine = {aliases.get(k, Slug(k)): v for k, v in client.copy.texts().items()}
        return {
            f"{name} as agreed"
            for name, text in mine.items()
            if name not in client.held_names() and not self.world.strips_front_matter
            if _folded(client.known.text(name)) != _folded(text)
        }

    def close(self) -> None:
        for client in self.clients:
            client.database.close()


def _without_front_matter(texts: dict[str, str]) -> dict[str, str]:
    return {
        slug: text[len(front_matter_of(text)) :].lstrip("\r\n")
        for slug, text in texts.items()
    }


def _folded(text: str | None) -> str | None:
    return None if text is None else fold_text(text)


def run_schedule(
    seed: int, weather: persons.Weather, *, crash_at: int = 0, then: int = 0
) -> Verdict:
    """One schedule from its seed to its verdict.

    Args:
        seed: Of everything that happens.
        weather: How often it happens.
        crash_at: The step at which the process ends; 0 for none.
        then: Another such step.
    """
    with tempfile.TemporaryDirectory(prefix="wikisync-sim-") as cache:
        schedule = Schedule(seed, weather, Path(cache))
        schedule.world.crashes_at = {crash_at, then}
        try:
            return run_virtually(schedule.run)
        finally:
            schedule.close()


def steps_of(seed: int, weather: persons.Weather) -> int:
    """How many steps a schedule has before the calm."""
    return run_schedule(seed, weather).steps
