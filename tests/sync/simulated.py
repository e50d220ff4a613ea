"""A wiki and a folder that persons edit between any two steps of the engine.

Every text that a person saves holds a mark of its own, so that a lost one can be
named.  The wiki fails in all the ways of ``sync.md`` 4.2, and either side can end
the process at any point.  One seed is one schedule.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field

from wikisync.errors import (
    NotFound,
    PreconditionFailed,
    ProtocolViolation,
    RateLimited,
    Unavailable,
    WikisyncError,
)
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    Format,
    LateSave,
    Page,
    PageState,
    Problem,
    Slug,
    Snapshot,
    digest_of,
    fold_text,
)

MARK = re.compile(r"<\d+>")
NAMES = ("home", "guide", "guide/first", "guide/second", "notes", "Home")
LATENCY_S = 0.05


class Crash(BaseException):
    """The process ends here."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How often things happen at one step."""

    person: float = 0.25
    """A person acts, on either side."""
    fault: float = 0.1
    crash: float = 0.0
    stale: float = 0.0
    """A local edit is made in an editor that shows an older text."""
    web: float = 0.5
    """A person's act is on the wiki."""


CALM = Weather(person=0.0, fault=0.0)


@dataclass(slots=True)
class Copy:
    """One side's pages, and every mark that stood in them."""

    pages: dict[str, tuple[str, Format, int]] = field(default_factory=dict)
    """Text, format, identity by slug."""
    history: list[str] = field(default_factory=list)
    """Every text that was replaced or removed."""

    def texts(self) -> dict[str, str]:
        return {slug: text for slug, (text, _, _) in self.pages.items()}

    def marks(self) -> set[str]:
        return {
            mark for text, _, _ in self.pages.values() for mark in MARK.findall(text)
        }


class World:
    """Both copies, the persons, and the steps of the engine."""

    def __init__(self, seed: int, weather: Weather) -> None:
        self.random = random.Random(seed)
        self.weather = weather
        self.folder = Copy()
        self.wiki = Copy()
        self.trash: list[str] = []
        self.bundles: dict[str, str] = {}
        self.removed: set[str] = set()
        """Marks that a person had on the screen and took away."""
        self.overwritten: set[str] = set()
        """Marks that stood on the wiki between our read and our write."""
        self.steps = 0
        self.crashes_at: set[int] = set()
        """Steps at which the process ends."""
        self.trace: list[str] = []
        self.edits = 0
        self.faults = 0
        self.crashes = 0
        self.writes = 0
        """Writes by the engine, on either side."""
        self._marks = 0
        self._identities = 0
        self._windows: dict[str, str] = {}
        """What editor windows still show of files that the engine replaced."""

    # -- steps -------------------------------------------------------------------

    def step(self, what: str) -> None:
        """One point at which the engine reads or writes: anything may happen."""
        self.steps += 1
        self.trace.append(what)
        if self.steps in self.crashes_at:
            self.crash(what)
        if self.random.random() < self.weather.crash:
            self.crash(what)
        while self.random.random() < self.weather.person:
            self.act()

    def crash(self, what: str) -> None:
        self.crashes += 1
        self.trace.append(f"crash at {what}")
        raise Crash(what)

    def fault(self) -> str | None:
        """What goes wrong with this call to the wiki, if anything."""
        if self.random.random() >= self.weather.fault:
            return None
        self.faults += 1
        kind = self.random.choice(FAULTS)
        self.trace.append(f"fault: {kind}")
        return kind

    # -- persons -----------------------------------------------------------------

    def act(self) -> None:
        """A person does something on one of the sides."""
        is_web = self.random.random() < self.weather.web
        copy = self.wiki if is_web else self.folder
        kind = self.random.choices(
            ("edit", "insert", "cut", "create", "rename", "delete"),
            (8, 8, 2, 3, 2, 1),
        )[0]
        if kind == "create" or not copy.pages:
            self.create(copy)
        elif kind == "rename":
            self.rename(copy)
        elif kind == "delete":
            self.delete(copy)
        elif (
            not is_web and self._windows and (self.random.random() < self.weather.stale)
        ):
            self.save_old()
        else:
            self.edit(copy, kind)
        self.edits += 1

    def new_line(self) -> str:
        self._marks += 1
        return f"line <{self._marks}>\n"

    def create(self, copy: Copy) -> None:
        free = [name for name in NAMES if not self._is_taken(copy, name)]
        if free:
            slug = self.random.choice(free)
            text = "".join(self.new_line() for _ in range(self.random.randint(1, 4)))
            self.put(copy, slug, text)

    def _is_taken(self, copy: Copy, name: str) -> bool:
        return any(slug.casefold() == name.casefold() for slug in copy.pages)

    def edit(self, copy: Copy, kind: str) -> None:
        slug = self.random.choice(sorted(copy.pages))
        text = copy.pages[slug][0]
        self.put(copy, slug, self._changed(text, kind))

    def _changed(self, text: str, kind: str) -> str:
        lines = text.splitlines(keepends=True)
        at = self.random.randrange(len(lines) + 1)
        if kind == "insert" or not lines:
            lines.insert(at, self.new_line())
        elif kind == "cut" and len(lines) > 2:
            del lines[min(at, len(lines) - 1)]
        else:
            lines[min(at, len(lines) - 1)] = self.new_line()
        return "".join(lines)

    def save_old(self) -> None:
        """Save from an editor that does not know what came in since."""
        slug = self.random.choice(sorted(self._windows))
        text = self._windows.pop(slug)
        if slug in self.folder.pages:
            self.put(self.folder, slug, self._changed(text, "insert"), is_blind=True)

    def open_window(self, slug: str) -> None:
        """An editor shows the file, which the engine is about to replace."""
        self._windows.setdefault(slug, self.folder.pages[slug][0])

    def rename(self, copy: Copy) -> None:
        slug = self.random.choice(sorted(copy.pages))
        free = [
            name
            for name in NAMES
            if not self._is_taken(copy, name) and not name.startswith(f"{slug}/")
        ]
        if not free:
            return
        target = self.random.choice(free)
        self.trace.append(f"{self._name(copy)}: rename {slug} to {target}")
        self.move(copy, slug, target)

    def move(self, copy: Copy, slug: str, target: str) -> None:
        copy.pages[target] = copy.pages.pop(slug)
        if copy is not self.wiki:
            return
        for below in [one for one in copy.pages if one.startswith(f"{slug}/")]:
            new = target + below[len(slug) :]
            if new not in copy.pages:
                copy.pages[new] = copy.pages.pop(below)

    def delete(self, copy: Copy) -> None:
        slug = self.random.choice(sorted(copy.pages))
        text = copy.pages.pop(slug)[0]
        self.trace.append(f"{self._name(copy)}: delete {slug}")
        copy.history.append(text)
        self.removed |= set(MARK.findall(text))

    def put(self, copy: Copy, slug: str, text: str, *, is_blind: bool = False) -> None:
        """A person saves a page."""
        self.trace.append(f"{self._name(copy)}: save {slug} {text!r}")
        before = copy.pages.get(slug)
        if before is not None:
            copy.history.append(before[0])
            # what a window did not show was not taken away on purpose
            if not is_blind:
                self.removed |= set(MARK.findall(before[0])) - set(MARK.findall(text))
        if copy is self.folder:
            self._windows.pop(slug, None)
        self.store(copy, slug, text)

    def store(
        self, copy: Copy, slug: str, text: str, page_format: Format = Format.MARKDOWN
    ) -> None:
        before = copy.pages.get(slug)
        if before is None:
            self._identities += 1
        identity = before[2] if before else self._identities
        copy.pages[slug] = (text, before[1] if before else page_format, identity)

    def _name(self, copy: Copy) -> str:
        return "wiki" if copy is self.wiki else "folder"


FAULTS = (
    "refuse",
    "lose the answer",
    "500",
    "429",
    "empty list",
    "not found",
    "cut",
)


class _Side:
    """What both sides of the engine have in common."""

    def __init__(self, world: World, copy: Copy, name: str) -> None:
        self.world = world
        self.copy = copy
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def _state(self, slug: str) -> PageState:
        text, page_format, identity = self.copy.pages[slug]
        return PageState(
            Slug(slug),
            page_format,
            digest_of(text),
            digest_of(fold_text(text)),
            str(identity),
            len(text.encode()),
        )

    def _page(self, slug: str) -> Page:
        if slug not in self.copy.pages:
            raise NotFound(f"no page {slug}")
        text, page_format, _ = self.copy.pages[slug]
        return Page(Slug(slug), page_format, text)

    def _require(self, slug: str, expected: Digest | None) -> None:
        held = self.copy.pages.get(slug)
        if (digest_of(held[0]) if held else None) != expected:
            raise PreconditionFailed(f"{slug} changed")

    async def attachment(self, path: AttachmentPath) -> Attachment | None:
        self.world.step(f"attachment {path}")
        return None

    def read_attachment(self, path: AttachmentPath) -> AsyncIterator[bytes]:
        raise NotFound(f"no attachment {path}")

    async def write_attachment(
        self, path: AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> Attachment:
        raise NotImplementedError


class SimulatedFolder(_Side):
    """A folder whose writes are compared in the same moment (swap and look)."""

    def __init__(self, world: World) -> None:
        super().__init__(world, world.folder, "the folder")

    async def snapshot(self) -> Snapshot:
        self.world.step("scan")
        return Snapshot({Slug(s): self._state(s) for s in self.copy.pages})

    async def read(self, slug: Slug) -> Page:
        self.world.step(f"read file {slug}")
        return self._page(slug)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        self.world.step(f"write file {page.slug}")
        self._require(page.slug, expected)
        self.world.writes += 1
        before = self.copy.pages.get(page.slug)
        if before is not None:
            self.copy.history.append(before[0])
            self.world.open_window(page.slug)
        self.world.store(self.copy, page.slug, page.content, page.format)
        self.world.step(f"wrote file {page.slug}: {page.content!r}")
        return page

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> Sequence[Page | WikisyncError]:
        results: list[Page | WikisyncError] = []
        for page, expected in pages:
            try:
                results.append(await self.write(page, expected=expected))
            except PreconditionFailed as error:
                results.append(error)
        return results

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        self.world.step(f"rename file {slug}")
        self._require(slug, expected)
        if target in self.copy.pages:
            raise PreconditionFailed(f"{target} exists")
        self.world.writes += 1
        self.world.move(self.copy, slug, target)
        self.world.step(f"renamed file {slug}")
        return self._page(target)

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        self.world.step(f"remove file {slug}")
        self._require(slug, expected)
        self.world.writes += 1
        self.world.trash.append(self.copy.pages.pop(slug)[0])
        self.world.step(f"removed file {slug}")

    async def untracked(self, pages: Iterable[tuple[Slug, Format]]) -> frozenset[Slug]:
        self.world.trace.extend(f"untracked? {slug}" for slug, _ in pages)
        return frozenset()

    async def late_saves(self) -> Sequence[LateSave]:
        return ()

    async def acknowledge(self, late: LateSave) -> None:
        pass

    async def keep(self, slug: Slug, text: str, why: str) -> None:
        self.world.step(f"keep {slug}: {why}")
        self.world.trash.append(text)

    async def conflict_text(self, slug: Slug) -> str | None:
        self.world.step(f"read conflict {slug}")
        return self.world.bundles.get(slug)

    async def write_conflict(self, slug: Slug, page_format: Format, text: str) -> str:
        self.world.step(f"write conflict {slug} as {page_format}")
        self.world.bundles[slug] = text
        self.world.step(f"wrote conflict {slug}")
        return f"{slug}.conflict.md"

    async def remove_conflict(self, slug: Slug) -> None:
        self.world.step(f"remove conflict {slug}")
        if slug in self.world.bundles:
            self.world.trash.append(self.world.bundles.pop(slug))


class SimulatedWiki(_Side):
    """A service without compare-and-swap that others edit and that fails."""

    def __init__(self, world: World) -> None:
        super().__init__(world, world.wiki, "the wiki")
        self.last_window_s = 0.0

    async def snapshot(self) -> Snapshot:
        fault = await self._ask("list")
        if fault == "empty list":
            return Snapshot({})
        states = {Slug(s): self._state(s) for s in self.copy.pages}
        texts = {slug: self._page(slug) for slug in states}
        if fault == "cut":
            raise ProtocolViolation("the list was cut")
        if fault == "not found":
            problem = Problem("list", "list", "half of it")
            kept = dict(list(states.items())[: len(states) // 2])
            return Snapshot(kept, problems=(problem,), is_complete=False)
        self.world.step("listed")
        return Snapshot(states, texts=texts)

    async def read(self, slug: Slug) -> Page:
        fault = await self._ask(f"get {slug}")
        if fault == "not found":
            raise NotFound(f"no page {slug}")
        if fault == "cut":
            raise ProtocolViolation("cut")
        return self._page(slug)

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        await self._look(page.slug, expected)
        fault = await self._ask(f"put {page.slug}")
        if fault in {"cut", "not found"}:
            raise Unavailable("cut before it was taken")
        if expected is None and self.world._is_taken(self.copy, page.slug):
            raise PreconditionFailed(f"{page.slug} exists")
        if expected is not None and page.slug not in self.copy.pages:
            raise NotFound(f"no page {page.slug}")
        before = self.copy.pages.get(page.slug)
        if before is not None:
            self._overwrite(before[0], page.content, expected)
        self.world.writes += 1
        self.world.store(self.copy, page.slug, page.content, page.format)
        answer = self._page(page.slug)
        await self._answer(fault, f"put {page.slug}: {page.content!r}")
        return answer

    def _overwrite(self, before: str, text: str, expected: Digest | None) -> None:
        self.copy.history.append(before)
        if digest_of(before) != expected:
            # saved by someone between our read and our write; nothing can help
            lost = set(MARK.findall(before)) - set(MARK.findall(text))
            self.world.overwritten |= lost
            self.world.trace.append(f"overwritten unseen: {sorted(lost)}")

    async def write_pages(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> Sequence[Page | WikisyncError]:
        return [await self.write(page, expected=was) for page, was in pages]

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        await self._look(slug, expected)
        fault = await self._ask(f"rename {slug} to {target}")
        if fault in {"cut", "not found"}:
            raise Unavailable("cut before it was taken")
        if slug not in self.copy.pages:
            raise NotFound(f"no page {slug}")
        if self.world._is_taken(self.copy, target) and (
            target.casefold() != slug.casefold()
        ):
            raise PreconditionFailed(f"{target} exists")
        # a rename sends the text that was read
        self.world.writes += 1
        self.world.move(self.copy, slug, target)
        answer = self._page(target)
        await self._answer(fault, f"rename {slug}")
        return answer

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        await self._look(slug, expected)
        fault = await self._ask(f"delete {slug}")
        if fault in {"cut", "not found"}:
            raise Unavailable("cut before it was taken")
        if slug not in self.copy.pages:
            raise NotFound(f"no page {slug}")
        self.world.writes += 1
        before = self.copy.pages.pop(slug)[0]
        self._overwrite(before, "", expected)
        await self._answer(fault, f"delete {slug}")

    async def _look(self, slug: Slug, expected: Digest | None) -> None:
        fault = await self._ask(f"look at {slug}")
        if fault in {"cut", "not found"}:
            raise ProtocolViolation("cut")
        self._require(slug, expected)

    async def _ask(self, what: str) -> str | None:
        """A request on its way: refused, or with the fault that comes later."""
        self.world.step(what)
        await asyncio.sleep(LATENCY_S)
        fault = self.world.fault()
        if fault == "refuse":
            raise Unavailable(f"{what}: no connection")
        if fault == "500":
            raise Unavailable(f"{what}: 500")
        if fault == "429":
            raise RateLimited(f"{what}: slow down")
        if fault == "lose the answer" and what.startswith(("get", "list", "look")):
            raise Unavailable(f"{what}: no answer")
        return fault

    async def _answer(self, fault: str | None, what: str) -> None:
        self.world.step(f"done: {what}")
        if fault == "lose the answer":
            raise Unavailable(f"{what}: the answer was lost")
