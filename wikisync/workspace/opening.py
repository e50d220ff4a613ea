"""An open workspace: its configuration, lock, state, and both sides of its wikis.

Every command comes through here, so that the guards of its folder hold for all of them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.api.client import Client
from wikisync.api.git import AttachmentSource, RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.wikis import Wiki
from wikisync.config import WikiSection
from wikisync.core.layout import CACHE_FOLDER, STATE_FILE
from wikisync.core.messages import Progress
from wikisync.core.model import Slug, is_named
from wikisync.core.system.private import make_private_folder
from wikisync.errors import Halted, SyncError
from wikisync.folder.index import FolderIndex
from wikisync.folder.replica import FolderReplica, LooseFiles
from wikisync.folder.safe_open import folder_error, make_folder
from wikisync.folder.workspace import (
    FolderIdentity,
    Identity,
    StateMatch,
    adopt,
    current_folder,
    holder_of,
    locked,
    refuse_emptied,
    refuse_network_disk,
    refuse_overlaps,
    state_match,
)
from wikisync.sync.base.state import REBUILT, State, WikiState
from wikisync.sync.replica import LocalReplica
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import Confirm, CycleOptions, CycleResult, FolderMatch
from wikisync.sync.views import AliasedFolder, DryFolder, RememberedWiki
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.identity import Located, find_wiki, wiki_as_found
from wikisync.workspace.linking import TranslatedWiki

IDENTITY = "identity"
"""Under this name the state keeps which workspace it belongs to."""
EARLIER = "earlier identities"
"""Under this name it keeps which ones it belonged to before, one a line."""
EARLIER_MAX = 8
ADOPTING = "adopting"
"""Under this name the state keeps that a person took the folder as it is."""


class WikiMoved(SyncError):
    """A wiki is not where it was when the cycle began: it has to be opened anew."""


class Sides(Struct, frozen=True, kw_only=True):
    """One wiki of an open workspace as a cycle needs it."""

    section: WikiSection
    remote: TranslatedWiki
    local: LocalReplica
    confirm: Confirm | None = None
    """Asks the service whether it is the wiki that is meant, where nobody has yet."""
    remote_id: str = ""
    """Which wiki it is; empty while nobody asks the service."""


class SyncedWiki(Sides, frozen=True, kw_only=True):
    """One wiki of an open workspace and of the service."""

    index: FolderIndex
    found: Located
    known: WikiState
    replica: WikiReplica
    """The wiki as it is, behind ``remote``."""


class OpenWorkspace(Struct, eq=False):
    """A workspace that this process holds, with its state."""

    workspace: ConfiguredWorkspace
    state: State
    identity: Identity | None
    """Which workspace the state knows; None before its first sync."""
    is_adopting: bool
    """Its folders are taken as they are: nothing counts as deleted."""
    is_copied: bool
    is_shared: bool
    stack: ExitStack | None
    """Ends with a workspace that is only read; None for any other."""
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
        own = own or self._folder(wiki)
        return AliasedFolder(
            DryFolder(own) if self.is_read_only else own, self.known(wiki)
        )

    def _folder(self, wiki: WikiSection, *, settle_s: float = 0.0) -> FolderReplica:
        return FolderReplica(
            self.folder_of(wiki),
            private=self.workspace.private,
            keeps_scans=not self.is_read_only,
            settle_s=settle_s,
        )

    async def cycle(
        self,
        sides: Sides,
        options: CycleOptions,
        progress: Progress | None = None,
        *,
        is_planned: bool = False,
        is_awaited: Callable[[], bool] = bool,
    ) -> CycleResult:
        """Run one cycle of a wiki; a dry run with a copied state, or ``is_planned``."""
        owner, local = sides.section.owner, sides.local
        options = replace(options, reads_max=self.workspace.config.sync.reads_max)
        path, state = self.state.path, nullcontext(self.state)
        with State.copy(path, is_live=True) if is_planned else state as known:
            if is_planned:
                own = DryFolder(self._folder(sides.section))
                local = AliasedFolder(own, known.wiki(owner))
            return await run_cycle(
                sides.remote,
                local,
                known,
                owner=owner,
                remote_id=sides.remote_id,
                options=options,
                progress=progress,
                linked=sides.remote,
                confirm=None if is_planned else sides.confirm,
                is_awaited=is_awaited,
            )

    def remembered(self, wiki: WikiSection) -> Sides:
        """The wiki as it was last seen, and its folder; Halted where emptied."""
        known, folder = self.known(wiki), self.folder_of(wiki)
        if not self.is_adopting:
            refuse_emptied(folder, known_pages=len(known.base()))
        own, seen = self._folder(wiki), known
        if self.stack is not None and self.match_of(wiki).is_new:
            # a dry run forgets pages in its state, and not what the wiki was seen with
            is_live = holder_of(self.workspace.private) is not None
            copy = State.copy(self.state.path, is_live=is_live)
            seen = self.stack.enter_context(copy).wiki(wiki.owner)
        remote = TranslatedWiki(RememberedWiki(seen), LooseFiles(own), known)
        return Sides(section=wiki, remote=remote, local=self.local(wiki, own))

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
            try:
                make_folder(folder)
            except OSError as exc:
                raise folder_error("make the folder", str(folder), exc) from exc
        if not self.is_adopting:
            refuse_emptied(folder, known_pages=len(known.base()))
        behind = Wiki(client, owner, found.id)
        git = RemoteRepository(client, owner, self.workspace.private / CACHE_FOLDER)
        tag = known.memory.remote_tag
        remote = WikiReplica(
            behind,
            tag=tag,
            pages=known.remote_pages() if tag else None,
            again=known.memory.remote_again,
            trees=git.trees(is_kept=not self.is_read_only),
            reads_max=self.workspace.config.sync.reads_max,
            attachments=AttachmentSource(behind, git),
            # not in the folder for temporary files, which any writer of them removes
            spool=self.workspace.private,
        )
        settle_s = self.workspace.config.sync.settle_ms / 1000
        own = self._folder(wiki, settle_s=settle_s)
        translated = TranslatedWiki(remote, LooseFiles(own), known)
        return SyncedWiki(
            section=wiki,
            remote=translated,
            local=self.local(wiki, own),
            remote_id=found.remote_id,
            index=own.index,
            found=found,
            known=known,
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

    def refuse_lost(self, wiki: WikiSection) -> None:
        """Stop where the disk of the workspace or the wiki's pages went away since."""
        state_match(self.workspace.private, self.identity)
        if not self.is_adopting:
            folder = self.folder_of(wiki)
            refuse_emptied(folder, known_pages=len(self.known(wiki).base()))

    def match_of(self, wiki: WikiSection) -> FolderMatch:
        """Whether the wiki's folder is that of its last cycle, or is meant."""
        return self.matched(wiki, is_first=True)[0]

    def matched(
        self, wiki: WikiSection, *, is_first: bool
    ) -> tuple[FolderMatch, FolderIdentity | None, FolderIdentity]:
        """The match, and the folder at the last cycle, if that is known, and now."""
        before = FolderIdentity.parse(self.known(wiki).memory.folder_identity)
        now = current_folder(self.folder_of(wiki), before)
        is_known = self.is_adopting or before is None or now.is_same_folder(before)
        for other in () if is_known else self.workspace.config.wikis:
            theirs = FolderIdentity.parse(self.known(other).memory.folder_identity)
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
        self.identity = adopt(self.workspace.private)
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
        refuse_network_disk(root, is_allowed=allows_network_disk)
        folders = [workspace.folder_of(wiki) for wiki in workspace.config.wikis]
        refuse_overlaps(root, folders)
    is_held = is_held and not is_read_only
    private = workspace.private
    if not is_held and not is_read_only:
        # a first scan has to have it, too
        try:
            make_private_folder(private)
        except OSError as exc:
            raise folder_error("write to", str(private), exc) from exc
    lock = locked(private, f"the workspace {root}", is_watch=is_watch)
    file = private / STATE_FILE
    with (
        lock if is_held else nullcontext(),
        State.copy(file, is_live=holder_of(private) is not None)
        if is_read_only
        else State.open(file, is_held=is_held) as state,
        ExitStack() as stack,
    ):
        state.follow_folders({one.owner: one.folder for one in workspace.config.wikis})
        recorded = Identity.parse(state.recalled(IDENTITY))
        if adopts:
            adopt(private)
            state.remember(ADOPTING, "yes")
        matched = StateMatch.SAME
        if is_guarded:
            known = (state.recalled(EARLIER) or "").splitlines()
            earlier = filter(None, map(Identity.parse, known))
            matched = state_match(private, recorded, tuple(earlier))
        is_copied = matched is StateMatch.COPIED
        opened = OpenWorkspace(
            workspace,
            state,
            recorded,
            is_adopting=is_copied or bool(state.recalled(ADOPTING)),
            is_copied=is_copied and not adopts,
            is_shared=matched is StateMatch.SHARED and not adopts,
            stack=stack if is_read_only else None,
        )
        if matched is StateMatch.NEW and is_held:
            opened.note_adopted()
        yield opened
