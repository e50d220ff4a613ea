"""Cycles of a workspace's wikis as the runner wants them, and what came of them."""

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.config import WikiSection
from wikisync.core.messages import Progress, SilentProgress
from wikisync.core.model import Problem, Slug
from wikisync.errors import ExitCode, Halted, NotFound, WikisyncError
from wikisync.sync.decide.plan import CreateLocal, CreateRemote, Notice, Rebind
from wikisync.sync.run import parts
from wikisync.workspace.opening import OpenWorkspace, SyncedWiki, WikiMoved
from wikisync.workspace.runner import CycleOutcome, ScanScope


class Synced(Struct):
    """One wiki after its cycles."""

    section: WikiSection
    results: list[parts.CycleResult] = field(default_factory=list)
    paused: str | None = None
    failure: WikisyncError | None = None
    has_other_folder: bool = False
    """Whether its folder was another one than at the cycle before."""
    pages: frozenset[Slug] | None = None
    unknown: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    """What a person may want to change in the configuration."""
    warnings: tuple[Problem, ...] = ()

    @property
    def last(self) -> parts.CycleResult:
        """The cycle after which nothing was left to do at once, or an empty one."""
        return self.results[-1] if self.results else parts.NOTHING_DONE

    @property
    def notices(self) -> tuple[tuple[Slug, Notice], ...]:
        """Pages with which something went ahead that a person may not have meant."""
        return tuple(
            (action.slug, action.notice)
            for result in self.results
            for action in result.plan.actions
            if isinstance(action, CreateLocal | CreateRemote)
            and action.notice is not None
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong in the last cycle, and pages that never came to rest."""
        last = tuple(dict.fromkeys((*self.warnings, *parts.problems_of(self.results))))
        if not self.last.has_more or self.failure:
            return (*last, *self.unknown)
        restless = Problem(
            "not-at-rest",
            str(self.section.owner),
            "pages changed during the sync; some are not in sync yet",
            "run it again",
        )
        return (*last, *self.unknown, restless)

    @property
    def absent(self) -> tuple[Problem, ...]:
        """Attachments that the wiki lacks, reported in any of the cycles."""
        return tuple(one for result in self.results for one in result.absent)

    @property
    def all_notes(self) -> tuple[Problem, ...]:
        """Those of the wiki, and those of its folder in any of the cycles."""
        return (*self.notes, *(one for each in self.results for one in each.notes))

    def count(self, name: str) -> int:
        """A count of all cycles together: ``pulled``, ``pushed`` and so on."""
        return sum(getattr(result, name) for result in self.results)

    @property
    def has_moves(self) -> bool:
        """Whether a page was renamed, not only spelled as the service does."""
        done = (result.plan.moves for result in self.results if result.renamed)
        return any(not isinstance(move, Rebind) for moves in done for move in moves)


class WikiCycles:
    """The cycles of one wiki of an open workspace, a ``runner.WikiWork``."""

    # the service is asked for nothing before the first cycle, so that a watch may begin
    # while it is away

    def __init__(
        self,
        opened: OpenWorkspace,
        section: WikiSection,
        client: Client,
        options: parts.CycleOptions,
        *,
        asks_first: bool = True,
    ) -> None:
        self.section, self.name = section, section.folder
        self.options = options
        self.progress: Progress = SilentProgress()
        self.synced = Synced(section)
        self._opened = opened
        self._client = client
        self._asks_first = asks_first
        self._wiki: SyncedWiki | None = None

    @property
    def is_paused(self) -> bool:
        """Whether a person wants it left alone."""
        return self._opened.known(self.section).memory.paused is not None

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        """Nothing is kept: every cycle scans both sides."""

    async def cycle(self, scope: ScanScope = ScanScope.EVERYTHING) -> CycleOutcome:
        """One cycle; a wiki that is elsewhere is looked for once more."""
        try:
            try:
                result = await self._exchange(scope)
            except WikiMoved:
                self._wiki, self._asks_first = None, True
                result = await self._exchange(scope)
        except NotFound:
            # a project may come back under its path with another id
            self._wiki = None
            raise
        return self._outcome(result)

    def _outcome(self, result: parts.CycleResult) -> CycleOutcome:
        self.synced.results.append(result)
        if self._opened.is_read_only:
            return CycleOutcome(is_quiet=True)
        if self.options.waits and not result.has_more and result.next_scan_s:
            self.progress.start("wait until missing pages are surely deleted", None)
        return CycleOutcome(result.is_quiet, result.has_more, result.next_scan_s)

    def is_awaited(self) -> bool:
        """Whether something changed since the cycle began for which it leaves pages."""
        return False

    async def _exchange(self, scope: ScanScope) -> parts.CycleResult:
        return await self._met(await self._connected(scope), self.options)

    async def _connected(self, scope: ScanScope) -> SyncedWiki:
        del scope
        if self._wiki is None:
            wiki = await self._opened.synced(
                self._client, self.section, asks_first=self._asks_first
            )
            self.synced.notes = wiki.found.notes
            self.synced.warnings = wiki.found.warnings
            await self._begin(wiki)
            self._wiki = wiki
        return self._wiki

    async def _begin(self, wiki: SyncedWiki) -> None:
        """Do what comes before the first cycle."""

    async def _met(
        self, wiki: SyncedWiki, options: parts.CycleOptions
    ) -> parts.CycleResult:
        is_first = not self.synced.results
        match, before, now = self._opened.matched(self.section, is_first=is_first)
        # whoever begins may have mended the token or the service's limits just now
        options = replace(options, folder=match, tries_again=is_first)
        result = await self._opened.cycle(
            wiki, options, self.progress, is_awaited=self.is_awaited
        )
        # the folder that was there when it began is remembered when it went through:
        # after one that did not, or where the folder is replaced meanwhile, the next
        # cycle takes it as it is, too
        if now != before:
            self._opened.known(self.section).remember(folder_identity=str(now))
        self.synced.has_other_folder |= match is parts.FolderMatch.OTHER
        return result


def other_folder(folder: Path) -> str:
    """What is said of a wiki whose folder is another one than at the last cycle."""
    return (
        f"{folder} is not the folder of the last sync: it is accepted as it is,"
        f" nothing counts as deleted this time, and pages that differ are held"
    )


def exit_code_of(wikis: Sequence[Synced]) -> ExitCode:
    """The exit code of all wikis together: that of the worst."""
    failures = [wiki.failure for wiki in wikis if wiki.failure is not None]
    failed = [error for error in failures if not isinstance(error, Halted)]
    if failed:
        return failed[0].exit_code
    if any(wiki.unknown for wiki in wikis):
        return ExitCode.USAGE
    if failures or any(wiki.last.batches for wiki in wikis):
        return ExitCode.HALTED
    if any(wiki.last.held or wiki.problems for wiki in wikis):
        return ExitCode.HELD
    return ExitCode.DONE
