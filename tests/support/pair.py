"""A real folder and a real wiki with the engine between them.

The wiki is the embedded service behind the client, the folder lies on the disk, the
state is a file; only the clock is the test's, so that absences become certain
without waiting::

    async with paired(tmp_path, {"home": "one\\n"}) as pair:
        await pair.rest()
        pair.save("home", "two\\n")
        await pair.rest()
        assert await pair.wiki_texts() == pair.texts() == {"home": "two\\n"}
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.git import AttachmentSource, RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.core.model import Format, WikiOwner
from wikisync.errors import WikisyncError
from wikisync.folder.naming import parse_path
from wikisync.folder.replica import FolderReplica
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.safety import Decision, decide
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import Cycle, CycleOptions, CycleResult
from wikisync.sync.views import AliasedFolder
from wikisync.workspace.linking import TranslatedWiki

OWNER = WikiOwner("project", "docs/handbook")
ROUNDS_MAX = 16
STEP_S = 31.0
"""Between two cycles, on the test's clock."""


@dataclass(slots=True)
class Pair:
    """A folder and a wiki."""

    service: EmbeddedService
    client: Client
    root: Path
    project: int
    """The service's id of the project, if it is to be another one."""
    now: float = field(default_factory=time.time)
    state: State = field(init=False)
    problems: list[str] = field(default_factory=list)
    """Errors that ended a cycle of ``rest``."""

    def __post_init__(self) -> None:
        self.private.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(exist_ok=True)
        self.restart()

    @property
    def private(self) -> Path:
        return self.root / ".wikisync"

    @property
    def folder(self) -> Path:
        return self.root / "wiki"

    @property
    def known(self) -> WikiState:
        return self.state.wiki(OWNER)

    def restart(self) -> None:
        """A new process: only files are left of the old one."""
        if hasattr(self, "state"):
            self.state.close()
        self.state = State.open(self.private / "state.db")
        self.local, self.remote = self._sides(self.known)

    def _sides(self, known: WikiState) -> tuple[AliasedFolder, TranslatedWiki]:
        wiki = Wiki(self.client, OWNER, self.project)
        git = RemoteRepository(self.client, OWNER, self.private / "cache")
        local = FolderReplica(self.folder, private=self.private, settle_s=0)
        source = AttachmentSource(wiki, git)
        remote = WikiReplica(wiki, attachments=source)
        if self.asks_git:
            trees = git.trees(is_kept=False)
            remote = WikiReplica(
                wiki, attachments=source, trees=trees, request_cost_bytes=1
            )
        return AliasedFolder(local, known), TranslatedWiki(remote, local, known)

    asks_git: bool = False
    """Whether the wiki is scanned by its history, as one that is large."""
    local: AliasedFolder = field(init=False)
    remote: TranslatedWiki = field(init=False)

    # -- persons -----------------------------------------------------------------

    def save(self, name: str, text: str) -> Path:
        """A person saves a file; a name without an extension is markdown."""
        path = self.folder / (name if Path(name).suffix else f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def remove(self, name: str) -> None:
        (self.folder / f"{name}.md").unlink()

    async def edit(
        self, slug: str, text: str, page_format: Format = Format.MARKDOWN
    ) -> None:
        """A person saves a page on the wiki, whatever quirks it has."""
        files = {f"{slug}{page_format.extensions[0]}": text.encode()}
        await self.service.put_files(OWNER, files)

    async def erase(self, slug: str) -> None:
        """A person deletes a page on the wiki."""
        await self.service.remove_file(OWNER, f"{slug}.md")

    def texts(self) -> dict[str, str]:
        """What the folder holds, by slug; conflict files aside."""
        found = {}
        for path in self.folder.rglob("*"):
            way = path.relative_to(self.folder).as_posix()
            page = parse_path(way) if path.is_file() else None
            if page is not None:
                found[str(page[0])] = path.read_bytes().decode()
        return found

    async def wiki_texts(self) -> dict[str, str]:
        """What the wiki's repository holds, by slug."""
        found = {}
        for path, content in (await self.service.files(OWNER)).items():
            page = parse_path(path)
            if page is not None:
                found[str(page[0])] = content.decode()
        return found

    # -- cycles ------------------------------------------------------------------

    async def cycle(self, options: CycleOptions | None = None) -> CycleResult:
        """One cycle, and some time."""
        return await self._run(self.remote, self.local, self.state, options)

    async def plan(self, options: CycleOptions | None = None) -> CycleResult:
        """What a cycle would do."""
        with State.copy(self.state.path, is_live=True) as copy:
            local, remote = self._sides(copy.wiki(OWNER))
            return await self._run(remote, local, copy, options)

    async def _run(
        self,
        remote: TranslatedWiki,
        local: AliasedFolder,
        state: State,
        options: CycleOptions | None,
    ) -> CycleResult:
        self.now += STEP_S
        state.wiki(OWNER).remember(left_out=None)
        known, asked = state.wiki(OWNER), options or CycleOptions()
        clock = lambda: self.now  # noqa: E731
        return await run_cycle(Cycle(remote, local, known, asked, clock, linked=remote))

    async def rest(self, options: CycleOptions | None = None) -> CycleResult:
        """Cycles until nothing is left to do; errors end one, not all."""
        result: CycleResult | None = None
        for _ in range(ROUNDS_MAX):
            try:
                result = await self.cycle(options)
            except WikisyncError as error:
                self.problems.append(error.message)
                continue
            if result.is_quiet and not result.has_more and result.next_scan_s is None:
                break
        assert result is not None, self.problems
        return result

    async def suffer(self, quirks: Iterable[Quirk], cycles: int) -> None:
        """Some cycles under quirks; whatever they end with is noted."""
        self.service.quirks = frozenset(quirks)
        for _ in range(cycles):
            try:
                await self.cycle()
            except WikisyncError as error:
                self.problems.append(error.message)
        self.service.quirks = frozenset()

    def approve_all(self) -> None:
        """A person says yes to everything that a safety stop holds."""
        batches = self.known.memory.batches
        for batch in batches:
            if batch.decision is Decision.WAITING:
                batches = decide(batches, batch.id, Decision.APPROVED)
        self.known.record_batches(batches)


async def no_waiting(seconds: float) -> None:
    """Pauses between requests take no time."""
    del seconds
    await asyncio.sleep(0)


@asynccontextmanager
async def paired(
    place: Path, pages: Mapping[str, str] | None = None
) -> AsyncIterator[Pair]:
    """A wiki with these pages and an empty folder beside it."""
    async with embedded_service(place) as service:
        project = await service.add_project(OWNER.full_path, pages or {})
        client = Client(service.url, service.token, sleep=no_waiting)
        async with client:
            pair = Pair(service, client, place / "workspace", project)
            try:
                yield pair
            finally:
                pair.state.close()
