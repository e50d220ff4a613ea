"""An open workspace: its configuration, lock, state, and both sides of its wikis.

Every command that works on a workspace comes through here, so that the guards of
its folder hold for all of them: one process at a time, the marker that tells it
from another folder, no overlaps, no wiki read through a copied state.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from wikisync.cli.context import TOKEN_VARIABLE, read_token
from wikisync.errors import ConfigError, UsageError
from wikisync.model import EXTENSIONS, LinkPlace, LinkTarget, Page, Slug
from wikisync.private import PRIVATE_FOLDER, make_private_folder

if TYPE_CHECKING:
    from wikisync.api.client import Client
    from wikisync.api.replica import WikiReplica
    from wikisync.api.settings import ClientSettings
    from wikisync.cli.console import Console
    from wikisync.cli.whose import FoundRecord
    from wikisync.config import Config, WikiSection
    from wikisync.folder.place import Place
    from wikisync.sync.replica import LocalReplica, RemoteReplica
    from wikisync.sync.state import State, WikiState
    from wikisync.sync.translation import TranslatedWiki

STATE_FILE = "state.db"
TOKEN_COMMAND_TIMEOUT_S = 30.0
ANONYMOUS = (
    "no token is set: only public wikis can be read, and nothing can be written; set"
    " WIKISYNC_TOKEN, or set token_file in wikisync.toml"
)
IDENTITY = "identity"
"""Under this name the state keeps which workspace it belongs to."""
ADOPTING = "adopting"
"""Under this name the state keeps that a person took the folder as it is."""


def workspace_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names the workspace; the command gets it as ``start``."""
    return click.option(
        "--workspace",
        "-C",
        "start",
        type=click.Path(path_type=Path),
        default=Path(),
        help="Workspace. [default: the one that contains the current folder]",
    )


def exclude_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that leaves wikis out; the command gets it as ``excluded``."""
    return click.option(
        "--exclude",
        "excluded",
        multiple=True,
        metavar="WIKI",
        help="Skip this wiki, given by folder or full path; repeatable.",
    )


class Workspace(Struct, frozen=True):
    """A workspace on the disk, held by nobody yet."""

    root: Path
    config: Config

    @property
    def private(self) -> Path:
        """Where everything of ours is."""
        return self.root / PRIVATE_FOLDER

    def folder_of(self, wiki: WikiSection) -> Path:
        """The wiki's folder."""
        return self.root / wiki.folder

    def wikis(self, named: Sequence[str] = ()) -> tuple[WikiSection, ...]:
        """The wikis of these folders or full paths; all of them for none.

        Raises:
            UsageError: a name is none of theirs.
        """
        found: list[WikiSection] = []
        for name in named:
            clean = name.strip("/")
            matches = [w for w in self.config.wikis if clean in {w.folder, w.path}]
            if not matches:
                known = ", ".join(wiki.folder for wiki in self.config.wikis)
                raise UsageError(
                    f"the workspace has no wiki {name}", hint=f"its wikis are: {known}"
                )
            found += matches
        return tuple(dict.fromkeys(found)) if named else self.config.wikis

    @property
    def synced(self) -> tuple[WikiSection, ...]:
        """The wikis that are kept in step, where no other ones are named."""
        return self.config.synced_wikis

    def without(self, excluded: Sequence[str]) -> Workspace:
        """The same without some wikis, by their folders or full paths.

        Raises:
            UsageError: a name is none of theirs, or no wiki is left.
        """
        if not excluded and self.synced:
            return self
        sync = self.config.sync
        named = tuple(wiki.path for wiki in self.wikis(excluded)) if excluded else ()
        sync = replace(sync, exclude=(*sync.exclude, *named))
        workspace = replace(self, config=replace(self.config, sync=sync))
        if not workspace.synced:
            raise UsageError(
                "every wiki of the workspace is excluded",
                hint="remove one from --exclude, or from exclude in wikisync.toml",
            )
        return workspace

    def wiki_at(self, name: str) -> WikiSection | None:
        """The wiki whose folder a person names; None where it is none's."""
        for wiki in self.config.wikis:
            folder = self.folder_of(wiki).resolve()
            if folder in {Path(name).resolve(), (self.root / name).resolve()}:
                return wiki
        return None

    def page(self, name: str) -> tuple[WikiSection, Slug]:
        """The wiki and slug of a page that a person names.

        A page is named by its file's path, as the shell completes it, by that of
        its conflict file, or by the wiki's folder and the slug; in a workspace of
        one wiki by the slug alone.

        Raises:
            UsageError: it is a page of no wiki.
        """
        folders = {wiki: self.folder_of(wiki).resolve() for wiki in self.config.wikis}
        found = [
            (wiki, place, folder)
            for path in (Path(name), self.root / name)
            for place in (path.absolute().parent.resolve() / path.name,)
            for wiki, folder in folders.items()
            if place.is_relative_to(folder) and place != folder
        ]
        if found:
            # inside the wiki's folder a hint's FOLDER/SLUG is no way from there
            here = [one for one in found if _has_file(one[1])]
            wiki, place, folder = here[0] if here else found[-1]
            return wiki, _page_at(place.relative_to(folder).as_posix())
        if len(self.config.wikis) == 1:
            return self.config.wikis[0], Slug(name.strip("/"))
        raise UsageError(
            f"{name} is not a page of any wiki here",
            hint=f"give its file, or the wiki's folder and the page:"
            f" {self.config.wikis[0].folder}/home",
        )


def _has_file(place: Path) -> bool:
    """Whether a page's file is there, its extension given or not."""
    extensions = ("", *(one for known in EXTENSIONS.values() for one in known))
    return any(os.path.lexists(f"{place}{extension}") for extension in extensions)


def _page_at(way: str) -> Slug:
    """The page that a path below a wiki's folder means, its file there or not."""
    from wikisync.folder.naming import page_of_conflict, parse_path

    parsed = parse_path(page_of_conflict(way) or way)
    return parsed[0] if parsed else Slug(way)


def find_workspace(start: Path) -> Workspace:
    """The workspace that a folder is, or lies in.

    Raises:
        UsageError: it is in none.
        ConfigError: its ``wikisync.toml`` is wrong, or names no wiki.
    """
    from wikisync.cli.folders import find_shown

    found = find_shown(start)
    config = found.config()
    if config is None or found.workspace is None:
        raise UsageError(
            f"{start.absolute()} is in no workspace: there is no wikisync.toml",
            hint="run it in a workspace, or create one: wikisync init my-wikis",
        )
    if not config.wikis:
        raise ConfigError(
            f"the workspace {found.workspace} names no wiki",
            hint='add a table [[wiki]] with project = "docs/handbook" to wikisync.toml',
        )
    return Workspace(found.workspace, _with_token_file(config, found.workspace))


def _with_token_file(config: Config, root: Path) -> Config:
    """The configuration with its token file as seen from anywhere."""
    service = config.service
    if not service.token_file:
        return config
    path = root / Path(service.token_file).expanduser()
    return replace(config, service=replace(service, token_file=str(path)))


def workspace_token(
    config: Config, token_file: Path | None, console: Console, env: Mapping[str, str]
) -> str | None:
    """The token: the option's file, the variable, or what ``[service]`` says.

    Raises:
        UsageError: a file or command that should give one does not.
    """
    service = config.service
    if token_file is None and not env.get(TOKEN_VARIABLE, "").strip():
        if service.token_command:
            return _token_of(service.token_command)
        if service.token_file:
            token_file = Path(service.token_file).expanduser()
    return read_token(token_file, console, environment=env)


def _token_of(command: Sequence[str]) -> str:
    """The first line of a command's output; never shown, whatever happens."""
    from wikisync.processes import output_of

    try:
        code, output = output_of(command, TOKEN_COMMAND_TIMEOUT_S)
    except OSError as exc:
        raise UsageError(
            f"the token command {command[0]} cannot be run: {type(exc).__name__}",
            hint="check token_command in wikisync.toml",
        ) from exc
    line = output.decode("ascii", "replace").partition("\n")[0].strip()
    if code != 0 or not line:
        raise UsageError(
            f"the token command {command[0]} printed no token (exit code {code})",
            hint="run it by hand to see its output",
        )
    return line


# -- held by this process ----------------------------------------------------------


class SyncedWiki(Struct, frozen=True):
    """One wiki of an open workspace with both its sides."""

    section: WikiSection
    folder: Path
    found: FoundRecord
    """Where it is on the service now."""
    remote: TranslatedWiki
    local: LocalReplica
    replica: WikiReplica
    """The wiki as it is, behind ``remote``."""

    @property
    def remote_id(self) -> str:
        """The service's id of the project or group."""
        return str(self.found.there.id)

    @property
    def known(self) -> WikiState:
        """What is known of it."""
        return self.found.known


_PARSING = threading.Lock()
"""The parsers are the process's, and made for one page at a time."""


class ParsedLinks:
    """The links of pages, found in a thread: the loop never waits for a parser.

    The parsers load for the first page that asks.
    """

    async def targets(self, page: Page) -> Sequence[LinkTarget]:
        """Where the page's links lead."""

        def work() -> Sequence[LinkTarget]:
            from wikisync.markup.retarget import link_targets

            with _PARSING:
                return link_targets(page)

        return await asyncio.to_thread(work)

    async def places(
        self, page: Page, targets: Collection[LinkTarget]
    ) -> Sequence[LinkPlace]:
        """Where the source names these targets, in order."""

        def work() -> Sequence[LinkPlace]:
            from wikisync.markup.retarget import link_places

            with _PARSING:
                return link_places(page, targets)

        return await asyncio.to_thread(work)

    async def retarget(
        self, page: Page, changes: Sequence[tuple[LinkPlace, LinkTarget, str]]
    ) -> str | None:
        """The source with other targets; None where that makes another page of it."""

        def work() -> str | None:
            from wikisync.markup.retarget import retarget

            with _PARSING:
                return retarget(page, changes)

        return await asyncio.to_thread(work)


def translated_wiki(
    wiki: RemoteReplica,
    folder: Path,
    known: WikiState,
    private: Path,
    *,
    keeps_looks: bool = True,
) -> TranslatedWiki:
    """The wiki with its links to files as the folder writes them."""
    from wikisync.folder.loose import LooseFiles
    from wikisync.sync.linking import FileLinks
    from wikisync.sync.translation import TranslatedWiki

    files = LooseFiles.of_workspace(folder, private, keeps_looks=keeps_looks)
    links = FileLinks(wiki, files, known, links=ParsedLinks(), clock=time.time)
    return TranslatedWiki(wiki, known, links)


class OpenWorkspace:
    """A workspace that this process holds, with its state."""

    def __init__(
        self,
        workspace: Workspace,
        state: State,
        *,
        is_adopting: bool,
        is_copied: bool = False,
        stack: ExitStack | None = None,
    ) -> None:
        self.workspace = workspace
        self.state = state
        self.is_adopting = is_adopting
        """Its folders are taken as they are: nothing counts as deleted."""
        self.is_copied = is_copied
        """It was copied or moved since the state was last used."""
        self._stack = stack
        """Ends with a workspace that is only looked at; None for any other."""
        self._stand_ins: dict[str, Path] = {}

    @property
    def is_read_only(self) -> bool:
        """Whether nothing in it may change."""
        return self._stack is not None

    def folder_of(self, wiki: WikiSection) -> Path:
        """A wiki's folder; an empty one elsewhere for one that a sync would make."""
        folder = self.workspace.folder_of(wiki)
        if self._stack is None or not self._is_made(wiki) or os.path.lexists(folder):
            return folder
        if wiki.folder not in self._stand_ins:
            from tempfile import TemporaryDirectory

            place = self._stack.enter_context(TemporaryDirectory(prefix="wikisync-"))
            self._stand_ins[wiki.folder] = Path(place)
        return self._stand_ins[wiki.folder]

    def _is_made(self, wiki: WikiSection) -> bool:
        """Whether a sync makes the wiki's folder where there is none."""
        return self.is_adopting or not self.known(wiki).base()

    def known(self, wiki: WikiSection) -> WikiState:
        """What is known of one wiki."""
        return self.state.wiki(wiki.owner)

    def page_of(self, wiki: WikiSection, slug: Slug) -> Slug:
        """The page that a file is, which the service may call otherwise."""
        return self.known(wiki).aliases().get(slug, slug)

    def notices(self) -> Iterator[str]:
        """What a person should know of the workspace before anything is done."""
        if self.state.set_aside is not None:
            yield (
                f"{self.state.path} was damaged and is rebuilt; the next sync removes"
                f" nothing (the damaged file is {self.state.set_aside.name};"
                " delete it when everything works)"
            )
        if self.is_copied:
            yield (
                f"{self.workspace.root} was copied or moved: it is accepted as it is,"
                f" and nothing counts as deleted this time"
            )

    def local(self, wiki: WikiSection, *, settle_s: float = 0.0) -> LocalReplica:
        """The folder's side of a wiki."""
        from wikisync.folder.replica import FolderReplica
        from wikisync.sync.aliases import AliasedFolder

        known = self.known(wiki)
        folder = FolderReplica.two_way(
            self.folder_of(wiki),
            private=self.workspace.private,
            keeps_looks=not self.is_read_only,
            settle_s=settle_s,
            published=known.base,
        )
        return AliasedFolder(folder, known)

    def remembered(self, wiki: WikiSection) -> tuple[TranslatedWiki, LocalReplica]:
        """The wiki as it was last seen, and its folder.

        Raises:
            Halted: the folder had pages and is empty.
            FolderError: it is gone.
        """
        from wikisync.folder.workspace import refuse_emptied
        from wikisync.sync.remembered import RememberedWiki

        known, folder = self.known(wiki), self.folder_of(wiki)
        if not self.is_adopting:
            refuse_emptied(folder, known_pages=len(known.base()))
        remote = translated_wiki(
            RememberedWiki(known),
            folder,
            known,
            self.workspace.private,
            keeps_looks=not self.is_read_only,
        )
        return remote, self.local(wiki)

    async def synced(
        self,
        client: Client,
        wiki: WikiSection,
        *,
        settle_s: float | None = None,
        is_real: bool = True,
    ) -> SyncedWiki:
        """Both sides of a wiki, with the guards of its folder.

        Args:
            client: For the service.
            wiki: Which one.
            settle_s: How long a saved file must have been left alone; as the
                configuration says where it is None.
            is_real: False to note nothing of where the wiki is now.

        Raises:
            NotFound: the project or group does not exist or is hidden.
            Halted: another one has its path; or the folder had pages and is empty.
            FolderError: it is gone.
        """
        from wikisync.api.attachments import AttachmentSource
        from wikisync.api.git import WikiRepository
        from wikisync.api.replica import WikiReplica
        from wikisync.api.wikis import Wiki
        from wikisync.cli.whose import find_wiki
        from wikisync.folder.workspace import refuse_emptied

        found = await find_wiki(self, client, wiki, is_real=is_real)
        # by its present path: the old one may lead to another wiki
        owner, known = found.there.owner, found.known
        folder = self.folder_of(wiki)
        if not self.is_read_only and self._is_made(wiki):
            _make_folder(folder)
        if not self.is_adopting:
            refuse_emptied(folder, known_pages=len(known.base()))
        behind = Wiki(client, owner, found.there.id)
        git = WikiRepository(client, owner, self.workspace.private / "cache")
        tag = known.remote_tag
        remote = WikiReplica(
            behind,
            tag=tag,
            pages=known.remote_pages() if tag else None,
            reads_max=self.workspace.config.sync.reads_max,
            attachments=AttachmentSource(behind, git),
            spool=self.workspace.private / "tmp",
        )
        if settle_s is None:
            settle_s = self.workspace.config.sync.settle_ms / 1000
        local = self.local(wiki, settle_s=settle_s)
        translated = translated_wiki(
            remote,
            folder,
            known,
            self.workspace.private,
            keeps_looks=not self.is_read_only,
        )
        return SyncedWiki(wiki, folder, found, translated, local, remote)

    def refuse_lost(self, wiki: WikiSection) -> None:
        """Stop where the disk of the workspace or the wiki's pages went away since.

        Raises:
            Halted: the marker is missing, or the folder had pages and is empty.
            FolderError: the folder is gone.
        """
        from wikisync.folder.workspace import Identity, refuse_emptied, standing_of

        identity = Identity.parse(self.state.recalled(IDENTITY))
        standing_of(self.workspace.private, identity)
        if not self.is_adopting:
            folder = self.folder_of(wiki)
            refuse_emptied(folder, known_pages=len(self.known(wiki).base()))

    def has_other_folder(self, wiki: WikiSection) -> bool:
        """Whether the wiki's folder is another one than at its last cycle.

        In a workspace that is adopted all of them are, and were meant to be.

        Raises:
            FolderError: there is none.
        """
        return self._is_other(*self._places(wiki))

    @contextmanager
    def meeting(self, wiki: WikiSection, *, is_real: bool = True) -> Iterator[bool]:
        """A cycle of a wiki: whether it has another folder than at the last one.

        The folder that was there when it began is remembered when it went through:
        after one that did not, or where the folder is replaced meanwhile, the next
        cycle takes it as it is, too.

        Args:
            wiki: Which one.
            is_real: False for a dry run.

        Raises:
            FolderError: there is no folder.
        """
        before, now = self._places(wiki)
        yield self._is_other(before, now)
        if is_real and now != before:
            self.known(wiki).note_place(str(now))

    def _is_other(self, before: Place | None, now: Place) -> bool:
        is_known = before is None or now.is_same_folder(before)
        return not (self.is_adopting or is_known)

    def _places(self, wiki: WikiSection) -> tuple[Place | None, Place]:
        """The wiki's folder at its last cycle, if that is known, and now."""
        from wikisync.folder.place import Place, place_of

        before = Place.parse(self.known(wiki).place)
        return before, place_of(self.folder_of(wiki), before)

    def note_adopted(self) -> None:
        """The folders were looked at as they are; from now on absences count."""
        from wikisync.folder.workspace import adopt

        self.state.remember(IDENTITY, str(adopt(self.workspace.private)))
        self.state.remember(ADOPTING, "")
        self.is_adopting = False


@contextmanager
def open_workspace(
    workspace: Workspace,
    *,
    allows_network_disk: bool = False,
    is_held: bool = True,
    is_read_only: bool = False,
    adopts: bool = False,
    is_guarded: bool = True,
    is_watch: bool = False,
) -> Iterator[OpenWorkspace]:
    """Hold a workspace until the block ends.

    Args:
        workspace: Which one.
        allows_network_disk: A person's word that no other machine writes there.
        is_held: False to use it also while another process holds it.
        is_read_only: Whether it is only looked at: nothing is held, and nothing in it
            changes; what is noted is noted in a copy.
        adopts: A person's word that this is the workspace, whatever its marker says.
        is_guarded: False to look even at what the guards refuse.
        is_watch: Whether a watch holds it, for what others are told.

    Raises:
        FolderError: another process holds it, its folders overlap, or it is on a
            network's disk.
        Halted: its folder is not the one that was synced.
        StateError: its state cannot be used.
    """
    from wikisync.folder.workspace import (
        Identity,
        Standing,
        adopt,
        holder_of,
        locked,
        refuse_network_disk,
        refuse_overlaps,
        standing_of,
    )
    from wikisync.sync.state import State

    root = workspace.root
    if is_guarded:
        refuse_network_disk(root, is_allowed=allows_network_disk)
        folders = [workspace.folder_of(wiki) for wiki in workspace.config.wikis]
        refuse_overlaps(root, folders)
    is_held = is_held and not is_read_only
    if not is_held and not is_read_only:
        _make_private(workspace.private)
    lock = locked(workspace.private, f"the workspace {root}", is_watch=is_watch)
    file, url = workspace.private / STATE_FILE, workspace.config.service.url.rstrip("/")
    with (
        lock if is_held else nullcontext(),
        State.copy(
            file, service_url=url, is_live=holder_of(workspace.private) is not None
        )
        if is_read_only
        else State.open(file, service_url=url, is_held=is_held) as state,
        ExitStack() as stack,
    ):
        recorded = Identity.parse(state.recalled(IDENTITY))
        if adopts:
            adopt(workspace.private)
            state.remember(ADOPTING, "yes")
        standing = Standing.SAME
        if is_guarded:
            standing = standing_of(workspace.private, recorded)
        is_copied = standing is Standing.COPIED
        opened = OpenWorkspace(
            workspace,
            state,
            is_adopting=is_copied or bool(state.recalled(ADOPTING)),
            is_copied=is_copied and not adopts,
            stack=stack if is_read_only else None,
        )
        if standing is Standing.NEW and is_held:
            opened.note_adopted()
        yield opened


def _make_folder(folder: Path) -> None:
    """Make a wiki's folder for its first sync."""
    from wikisync.errors import FolderError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        is_taken = isinstance(exc, FileExistsError | NotADirectoryError)
        why = "something else has this name" if is_taken else exc.strerror
        raise FolderError(
            f"the folder {folder} cannot be made: {why}",
            path=str(folder),
            hint="move it, or set another folder in wikisync.toml",
        ) from exc


def _make_private(private: Path) -> None:
    """Make the place of the state, which a first look has to have, too."""
    from wikisync.folder.descent import folder_error

    try:
        make_private_folder(private)
    except OSError as exc:
        raise folder_error("write to", str(private), exc) from exc


@asynccontextmanager
async def open_service(
    workspace: Workspace,
    token_file: Path | None,
    console: Console,
    env: Mapping[str, str],
    *,
    settings: ClientSettings | None = None,
) -> AsyncIterator[Client]:
    """A client for the workspace's service, which says what it waits for.

    Raises:
        UsageError: there is no token where one should be.
    """
    from wikisync.api.client import Client
    from wikisync.api.settings import DEFAULT_SETTINGS

    token = workspace_token(workspace.config, token_file, console, env)
    if token is None:
        console.note(ANONYMOUS)
    url = workspace.config.service.url
    settings = settings or DEFAULT_SETTINGS
    async with Client(url, token, settings=settings, told=console.note) as client:
        yield client
