"""An open workspace: its configuration, lock, state, both sides of its wikis, cycles.

Every command comes through here, so that the guards of its folder hold for all of them.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.api.git import AttachmentSource, RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.config.sections import WikiSection
from wikisync.core.layout import CACHE_FOLDER, STATE_FILE
from wikisync.core.messages import Progress
from wikisync.core.model import Problem, Slug, is_named
from wikisync.core.system.private import make_private_folder
from wikisync.errors import Halted, NotFound, StateError, SyncError, WikisyncError
from wikisync.folder import workspace as guards
from wikisync.folder.ignore import CONFIG_FILE
from wikisync.folder.index import FolderIndex
from wikisync.folder.replica import FolderReplica
from wikisync.folder.safe_open import folder_errors, make_folder
from wikisync.sync.base.state import REBUILT, State, WikiState
from wikisync.sync.decide.plan import CreateLocal, CreateRemote, Notice, Rebind
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import (
    NOTHING_DONE,
    Confirm,
    Cycle,
    CycleOptions,
    CycleResult,
    FolderMatch,
    problems_of,
)
from wikisync.sync.views import AliasedFolder, RememberedWiki
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.identity import Located, find_wiki, wiki_as_found
from wikisync.workspace.linking import TranslatedWiki
from wikisync.workspace.runner import CycleOutcome, ScanScope
from wikisync.workspace.sent_pages import bad_front_matter

IDENTITY = "identity"
"""Under this name the state keeps which workspace it belongs to."""
EARLIER = "earlier identities"
"""Under this name it keeps which ones it belonged to before, one a line."""
EARLIER_MAX = 8
ADOPTING = "adopting"
"""Under this name the state keeps that a person took the folder as it is."""


class WikiMoved(SyncError):
    """A wiki is not where it was when the cycle began: it has to be opened anew."""


class SyncedWiki(Struct, frozen=True, kw_only=True):
    """One wiki of an open workspace and of the service."""

    section: WikiSection
    remote: TranslatedWiki
    local: LocalReplica
    known: WikiState
    index: FolderIndex
    found: Located
    replica: WikiReplica
    """The wiki as it is, behind ``remote``."""
    confirm: Confirm | None = None
    """Asks the service whether it is the wiki that is meant, where nobody has yet."""

    def cycle(self, options: CycleOptions) -> Cycle:
        """A cycle of it, for ``run_cycle``."""
        sides = self.remote, self.local, self.known
        return Cycle(*sides, options, linked=self.remote, confirm=self.confirm)


class OpenWorkspace(Struct, eq=False):
    """A workspace that this process holds, with its state."""

    workspace: ConfiguredWorkspace
    state: State
    identity: guards.Identity | None
    """Which workspace the state knows; None before its first sync."""
    is_adopting: bool
    """Its folders are taken as they are: nothing counts as deleted."""
    is_copied: bool
    is_shared: bool
    stack: ExitStack | None
    """Ends with a workspace that is only read; None for any other."""
    lock: int | None = None
    """The lock file, open; None for a workspace that is not held."""
    stand_ins: dict[str, Path] = field(default_factory=dict)
    """Empty folders for those that a sync would make."""

    @property
    def is_read_only(self) -> bool:
        """Whether nothing in it may change."""
        return self.stack is not None

    def folder_of(self, wiki: WikiSection) -> Path:
        """A wiki's folder; an empty one elsewhere for one that a sync would make."""
        folder = self.workspace.folder_of(wiki)
        if self.stack is None or not self._is_made(wiki) or os.path.lexists(folder):
            return folder
        if wiki.folder not in self.stand_ins:
            from tempfile import TemporaryDirectory

            made = self.stack.enter_context(TemporaryDirectory(prefix="wikisync-"))
            self.stand_ins[wiki.folder] = Path(made)
        return self.stand_ins[wiki.folder]

    def _is_made(self, wiki: WikiSection) -> bool:
        return self.is_adopting or not self.known(wiki).base()

    def known(self, wiki: WikiSection) -> WikiState:
        """What is known of one wiki."""
        return self.state.wiki(wiki.owner)

    def page_of(self, wiki: WikiSection, slug: Slug) -> Slug:
        """The page that a file is, which the service may call otherwise."""
        return self.known(wiki).aliases().get(slug, slug)

    def pages_of(self, wiki: WikiSection, names: Iterable[Slug]) -> frozenset[Slug]:
        """The pages that files are, and folders with what the service calls theirs."""
        asked, aliases = frozenset(names), self.known(wiki).aliases()
        named = (page for file, page in aliases.items() if is_named(file, asked))
        return asked.difference(aliases).union(named)

    def notices(self) -> Iterator[str]:
        """What a person should know of the workspace before anything is done."""
        if self.state.set_aside is not None:
            yield (
                f"{self.state.path} {REBUILT}; the next sync removes nothing (the old"
                f" file is {self.state.set_aside.name}; delete it when everything"
                " works)"
            )
        if self.is_copied:
            yield (
                f"{self.workspace.root} was copied or moved: it is accepted as it is,"
                f" and nothing counts as deleted this time"
            )
        if self.is_shared:
            yield (
                f"{self.workspace.root} is used in two places in turn with one"
                " .wikisync: leave .wikisync out of what is shared between them, each"
                " makes its own; deletions wait until the next sync here"
            )

    def local(
        self, wiki: WikiSection, own: FolderReplica | None = None
    ) -> LocalReplica:
        """A wiki's folder by the wiki's names; one that is only read takes nothing."""
        return AliasedFolder(own or self._folder(wiki), self.known(wiki))

    def _folder(self, wiki: WikiSection, *, settle_s: float = 0.0) -> FolderReplica:
        return FolderReplica(
            self.folder_of(wiki),
            private=self.workspace.private,
            keeps_scans=not self.is_read_only,
            settle_s=settle_s,
        )

    async def plan(self, wiki: SyncedWiki, options: CycleOptions) -> CycleResult:
        """What a cycle of a wiki would do, found out with a copy of its state."""
        with State.copy(self.state.path, is_live=True) as copy:
            known = copy.wiki(wiki.section.owner)
            local = AliasedFolder(self._folder(wiki.section), known)
            planned = replace(wiki, local=local, known=known, confirm=None)
            return await run_cycle(planned.cycle(options))

    def remembered(self, wiki: WikiSection, options: CycleOptions) -> Cycle:
        """A dry cycle with the wiki as it was last seen; Halted where emptied."""
        assert self.stack is not None, "it would send pages, and not to the wiki"
        known, folder = self.known(wiki), self.folder_of(wiki)
        if not self.is_adopting:
            guards.refuse_emptied(folder, known_pages=len(known.base()))
        own, seen = self._folder(wiki), known
        if self.match_of(wiki).is_new:
            # a dry run forgets pages in its state, and not what the wiki was seen with
            is_live = guards.holder_of(self.workspace.private) is not None
            copy = State.copy(self.state.path, is_live=is_live)
            seen = self.stack.enter_context(copy).wiki(wiki.owner)
        remote = TranslatedWiki(RememberedWiki(seen), own, known)
        return Cycle(remote, self.local(wiki, own), known, options, linked=remote)

    async def synced(
        self, client: Client, wiki: WikiSection, *, asks_first: bool = True
    ) -> SyncedWiki:
        """Both sides of a wiki, with the guards of its folder.

        Without ``asks_first`` the service is asked where the wiki is only before a
        cycle changes something, if it was asked lately.  NotFound where it is gone or
        hidden, Halted where another one has its path, or the folder had pages and is
        empty.
        """
        found = None if asks_first else wiki_as_found(self.state, client, wiki)
        confirm = None
        if found is None:
            found = await find_wiki(self.state, client, wiki)
        else:
            confirm = self._confirming(client, wiki, found)
        # by its present path: the old one may lead to another wiki
        owner, known = found.owner, self.known(wiki)
        known.end_sync()  # of a run that was killed
        folder = self.folder_of(wiki)
        if not self.is_read_only and self._is_made(wiki):
            with folder_errors("make the folder", folder):
                make_folder(folder)
        if not self.is_adopting:
            guards.refuse_emptied(folder, known_pages=len(known.base()))
        behind = Wiki(client, owner, found.id)
        git = RemoteRepository(client, owner, self.workspace.private / CACHE_FOLDER)
        tag = known.memory.remote_tag
        remote = WikiReplica(
            behind,
            tag=tag,
            pages=known.remote_pages() if tag else None,
            again=known.memory.remote_again,
            trees=git.trees(is_kept=not self.is_read_only),
            attachments=AttachmentSource(behind, git),
            # not in the folder for temporary files, which any writer of them removes
            spool=self.workspace.private,
        )
        settle_s = self.workspace.config.sync.settle_ms / 1000
        own = self._folder(wiki, settle_s=settle_s)
        translated = TranslatedWiki(remote, own, known)
        return SyncedWiki(
            section=wiki,
            remote=translated,
            local=self.local(wiki, own),
            known=known,
            index=own.index,
            found=found,
            replica=remote,
            confirm=confirm,
        )

    def _confirming(self, client: Client, wiki: WikiSection, found: Located) -> Confirm:
        """What raises unless the service says that a wiki is as it was found before."""
        is_confirmed = False

        async def confirm() -> None:
            nonlocal is_confirmed
            if is_confirmed:
                return
            now = await find_wiki(self.state, client, wiki)
            if replace(now, at=found.at) != found:
                raise WikiMoved(f"{wiki.owner} is not where it was")
            is_confirmed = True

        return confirm

    @property
    def has_lost_state(self) -> bool:
        """Whether state or lock was removed or replaced, and the disk is not away."""
        is_unlocked = self.lock is not None and not os.fstat(self.lock).st_nlink
        is_lost = is_unlocked or self.state.is_replaced
        return is_lost and (self.workspace.root / CONFIG_FILE).exists()

    def refuse_lost(self, wiki: WikiSection) -> None:
        """Stop where the state, the workspace's disk or the pages went away since."""
        if self.has_lost_state:
            raise StateError(
                f"state or lock in {self.workspace.private} was removed or replaced",
                hint="the watch begins anew with what is there now",
            )
        guards.state_match(self.workspace.private, self.identity)
        if not self.is_adopting:
            folder = self.folder_of(wiki)
            guards.refuse_emptied(folder, known_pages=len(self.known(wiki).base()))

    def match_of(self, wiki: WikiSection) -> FolderMatch:
        """Whether the wiki's folder is that of its last cycle, or is meant."""
        return self.matched(wiki, is_first=True)[0]

    def matched(
        self, wiki: WikiSection, *, is_first: bool
    ) -> tuple[FolderMatch, guards.FolderIdentity | None, guards.FolderIdentity]:
        """The match, and the folder at the last cycle, if that is known, and now."""
        before = guards.FolderIdentity.parse(self.known(wiki).memory.folder_identity)
        now = guards.current_folder(self.folder_of(wiki), before)
        is_known = self.is_adopting or before is None or now.is_same_folder(before)
        for other in () if is_known else self.workspace.config.wikis:
            theirs = guards.FolderIdentity.parse(
                self.known(other).memory.folder_identity
            )
            if theirs is not None and now.is_same_folder(theirs):
                raise Halted(
                    f"{self.folder_of(wiki)} is the folder that {other.owner} was"
                    " synced with; nothing was changed",
                    hint="give the folders their names back; to put its pages on this"
                    " wiki instead, run: wikisync adopt",
                )
        match = FolderMatch.SAME if is_known else FolderMatch.OTHER
        if self.is_shared:
            match = FolderMatch.SHARED
        if self.is_adopting and is_first:
            match = FolderMatch.ADOPTED
        return match, before, now

    def note_adopted(self) -> None:
        """The folders were scanned as they are; from now on absences count."""
        known = (self.state.recalled(EARLIER) or "").splitlines()
        known.append(self.state.recalled(IDENTITY) or "")
        earlier = list(dict.fromkeys(filter(None, known)))[-EARLIER_MAX:]
        self.state.remember(EARLIER, "\n".join(earlier))
        self.identity = guards.adopt(self.workspace.private)
        self.state.remember(IDENTITY, str(self.identity))
        self.state.remember(ADOPTING, "")
        self.is_adopting = self.is_shared = False


@contextmanager
def open_workspace(
    workspace: ConfiguredWorkspace,
    *,
    allows_network_disk: bool = False,
    is_held: bool = True,
    is_read_only: bool = False,
    adopts: bool = False,
    is_guarded: bool = True,
    is_watch: bool = False,
) -> Iterator[OpenWorkspace]:
    """Hold a workspace until the block ends; StateError where its state is unusable.

    ``is_held`` is False to use it while another process holds it; ``is_read_only``
    notes everything in a copy, and holds nothing; ``adopts`` is a person's word that
    this is the workspace; ``is_guarded`` is False to read even what the guards refuse.
    FolderError where it is held, its folders overlap, or its disk is remote; Halted
    where its folder is not the one that was synced.
    """
    root = workspace.root
    if is_guarded:
        guards.refuse_network_disk(root, is_allowed=allows_network_disk)
        folders = [workspace.folder_of(wiki) for wiki in workspace.config.wikis]
        guards.refuse_overlaps(root, folders)
    is_held = is_held and not is_read_only
    private = workspace.private
    if not is_held and not is_read_only:
        # a first scan has to have it, too
        with folder_errors("write to", private):
            make_private_folder(private)
    lock = guards.locked(private, f"the workspace {root}", is_watch=is_watch)
    file = private / STATE_FILE
    with (
        lock if is_held else nullcontext() as held,
        State.copy(file, is_live=guards.holder_of(private) is not None)
        if is_read_only
        else State.open(file, is_held=is_held) as state,
        ExitStack() as stack,
    ):
        state.follow_folders({one.owner: one.folder for one in workspace.config.wikis})
        recorded = guards.Identity.parse(state.recalled(IDENTITY))
        if adopts:
            guards.adopt(private)
            state.remember(ADOPTING, "yes")
        matched = guards.StateMatch.SAME
        if is_guarded:
            known = (state.recalled(EARLIER) or "").splitlines()
            earlier = filter(None, map(guards.Identity.parse, known))
            matched = guards.state_match(private, recorded, tuple(earlier))
        is_copied = matched is guards.StateMatch.COPIED
        opened = OpenWorkspace(
            workspace,
            state,
            recorded,
            is_adopting=is_copied or bool(state.recalled(ADOPTING)),
            is_copied=is_copied,
            is_shared=matched is guards.StateMatch.SHARED,
            stack=stack if is_read_only else None,
            lock=held,
        )
        if matched is guards.StateMatch.NEW and is_held:
            opened.note_adopted()
        yield opened


def read_workspace(
    workspace: ConfiguredWorkspace,
) -> AbstractContextManager[OpenWorkspace]:
    """The workspace for a command that only reads, also from a network's disk."""
    return open_workspace(workspace, is_read_only=True, allows_network_disk=True)


# -- cycles as the runner wants them, and what came of them


class Synced(Struct):
    """One wiki after its cycles."""

    section: WikiSection
    results: list[CycleResult] = field(default_factory=list)
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
    def last(self) -> CycleResult:
        """The cycle after which nothing was left to do at once, or an empty one."""
        return self.results[-1] if self.results else NOTHING_DONE

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
        last = tuple(dict.fromkeys((*self.warnings, *problems_of(self.results))))
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
    def moves(self) -> dict[Slug, Slug]:
        """Pages that were renamed, and not only spelled otherwise, by old name."""
        done = (result.plan.moves for result in self.results if result.renamed)
        return {
            move.slug: move.target
            for moves in done
            for move in moves
            if not isinstance(move, Rebind)
        }


class WikiCycles:
    """The cycles of one wiki of an open workspace, a ``runner.WikiWork``."""

    # the service is asked for nothing before the first cycle, so that a watch may begin
    # while it is away

    def __init__(
        self,
        opened: OpenWorkspace,
        section: WikiSection,
        client: Client,
        options: CycleOptions,
        *,
        asks_first: bool = True,
    ) -> None:
        self.section, self.name = section, section.folder
        self.options = options
        self.progress = Progress()
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

    def _outcome(self, result: CycleResult) -> CycleOutcome:
        self.synced.results.append(result)
        if self._opened.is_read_only:
            return CycleOutcome(is_quiet=True)
        if self.options.waits and not result.has_more and result.next_scan_s:
            self.progress.start("wait until missing pages are surely deleted", None)
        return CycleOutcome(result.is_quiet, result.has_more, result.next_scan_s)

    def is_awaited(self) -> bool:
        """Whether something changed since the cycle began for which it leaves pages."""
        return False

    async def _exchange(self, scope: ScanScope) -> CycleResult:
        del scope
        return await self._met(await self._connected(), self.options)

    async def _connected(self) -> SyncedWiki:
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

    async def _met(self, wiki: SyncedWiki, options: CycleOptions) -> CycleResult:
        is_first = not self.synced.results
        match, before, now = self._opened.matched(self.section, is_first=is_first)
        # whoever begins may have mended the token or the service's limits just now
        options = replace(options, folder=match, tries_again=is_first)
        cycle = wiki.cycle(options)
        result = await run_cycle(
            replace(cycle, progress=self.progress, is_awaited=self.is_awaited)
        )
        sent, wrong = result.names.get("pushed", ()), wiki.remote.bad_front_matter
        noted = bad_front_matter(wiki.known, self.section, sent, wrong)
        # the folder that was there when it began is remembered when it went through:
        # after one that did not, or where the folder is replaced meanwhile, the next
        # cycle takes it as it is, too
        if now != before:
            wiki.known.remember(folder_identity=str(now))
        self.synced.has_other_folder |= match is FolderMatch.OTHER
        return replace(result, notes=(*result.notes, *noted))


def other_folder(folder: Path) -> str:
    """What is said of a wiki whose folder is another one than at the last cycle."""
    return (
        f"{folder} is not the folder of the last sync: it is accepted as it is,"
        f" nothing counts as deleted this time, and pages that differ are held"
    )
