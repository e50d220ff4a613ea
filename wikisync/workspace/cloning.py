"""Wikis of a service to a new workspace, or to another service.

A copy clones the source into the cache, and pushes the pages of a second workspace,
with attachments as loose files.  The next copy goes on from both as any sync.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from posixpath import dirname
from urllib.parse import quote, unquote

from msgspec import Struct

from wikisync import errors
from wikisync.api.client import Client
from wikisync.api.wikis import Wiki
from wikisync.config.sections import FILE_NAME, Config, ServiceSection, WikiSection
from wikisync.core import layout
from wikisync.core.messages import Progress
from wikisync.core.model import Format, PagePath, Problem, WikiOwner, split_extension
from wikisync.folder.ignore import IGNORE_FILE, UPLOADS, patterns_of_only
from wikisync.folder.safe_open import folder_error, make_folder, read_below
from wikisync.folder.scan import scan_pages
from wikisync.folder.swap import write_atomically
from wikisync.folder.workspace import locked, refuse_overlaps
from wikisync.site.model import WikiSource
from wikisync.sync.base.state import REBUILT
from wikisync.sync.decide.narrowing import Direction
from wikisync.sync.decide.safety import BatchKind
from wikisync.sync.run.parts import REMOTE_SPAN_S, CycleOptions, Patience
from wikisync.workspace import configured, discovery
from wikisync.workspace.attention import batch_sentence, next_step
from wikisync.workspace.creating import refuse_folder, write_config
from wikisync.workspace.discovery import Selection
from wikisync.workspace.opening import WikiCycles, open_workspace
from wikisync.workspace.pulled import Pulled, PulledWiki, missing_pages, pull_all
from wikisync.workspace.service import Credentials
from wikisync.workspace.sync_run import SyncRequest, SyncRun, sync_workspace

STOPS_HERE = frozenset(BatchKind) - {
    BatchKind.DELETES_THERE,
    BatchKind.CHANGES_THERE,
    BatchKind.SHRUNK_THERE,
}
"""Batches that hold what a clone would do; it writes nothing to a wiki."""


async def clone(
    client: Client,
    selection: discovery.Selection,
    folder: Path,
    *,
    only: Sequence[str] = (),
    allow_emptying: bool = False,
    progress: Progress,
) -> Pulled:
    """Make the workspace and pull every wiki into it, or ``only`` some folders of each.

    Fails before anything is written where it can; interrupted, the next run finishes
    it.  A workspace begun now and still without pages is removed after an error.
    """
    patterns = _only_patterns(only)
    existing, is_made = existing_workspace(folder)
    if existing is None:
        refuse_folder(folder, allows_network_disk=True)
    async with client:
        progress.start("find wikis", None)
        found = await discovery.find_wikis(client, selection)
        config = _config(client, folder, existing, found)
        workspace = configured.ConfiguredWorkspace(folder, config)
        refuse_overlaps(folder, [workspace.folder_of(one) for one in config.wikis])
        with locked(workspace.private, f"the workspace {folder}"):
            if existing is None:
                # another process may have made one while the wikis were searched for
                refuse_folder(folder, allows_network_disk=True)
                write_config(folder, config)
            if patterns:
                _write_patterns(workspace, patterns, is_new=existing is None)
        with open_workspace(workspace, allows_network_disk=True) as opened:
            sections = {section.owner: section for section in config.wikis}
            options = CycleOptions(
                direction=Direction.PULL,
                allows_emptying=allow_emptying,
                is_undoable=False,
                waits=True,
                patience=Patience(remote_span_s=REMOTE_SPAN_S),
            )
            clones: list[_WikiClone] = []
            for wiki in found.wikis:
                if section := sections.get(wiki.owner):
                    clones.append(_WikiClone(opened, section, client, options))
                    clones[-1].wiki = wiki
            try:
                pulled = await pull_all(client, clones, progress, waits=True)
            except errors.WikisyncError:
                if existing is None:
                    _undo(workspace, is_made=is_made)
                raise
            if opened.state.set_aside is not None:
                pulled.state_problem = Problem(
                    "state-set-aside",
                    str(opened.state.path),
                    f"{REBUILT}; nothing was removed in this run",
                    f"the old file is {opened.state.set_aside.name}; delete it when"
                    f" everything works",
                )
    pulled.skipped[:0] = found.skipped
    pulled.missing += found.missing
    return pulled


class _WikiClone(WikiCycles):
    is_paused = False
    wiki: discovery.FoundWiki

    def pulled(self) -> PulledWiki:
        """What all cycles did, and what is left to a person; Halted by a stop."""
        synced, folder = self.synced, self._opened.folder_of(self.section)
        for batch in synced.last.batches:
            if batch.kind is BatchKind.DELETES_HERE:
                gone = [member.slug for member in batch.members]
                tracked = max(len(gone), batch.tracked)
                raise missing_pages(self.wiki.owner, gone, tracked)
            if batch.kind in STOPS_HERE:
                raise errors.Halted(batch_sentence(self.name, batch))
        waiting = [
            Problem("page-held", held.slug, str(held), next_step(self.name, held))
            for held in synced.last.held
        ]
        waiting += [
            Problem("page-skipped", one.slug, str(one.reason))
            for one in synced.last.waiting
        ]
        problems = tuple(dict.fromkeys((*synced.problems, *waiting)))
        return PulledWiki(
            WikiSource(**self.wiki.info, folder=folder, problems=problems),
            pages=synced.last.pages,
            written=synced.count("pulled") + synced.count("merged"),
            removed=synced.count("removed"),
            attachments=synced.count("attachments"),
            absent=tuple(dict.fromkeys(synced.absent)),
            notes=synced.all_notes,
        )


def existing_workspace(folder: Path) -> tuple[Config | None, bool]:
    """The configuration in a folder, if it has one; whether it has to be made."""
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return None, True
    except NotADirectoryError as exc:
        raise errors.FolderError(
            f"{folder} is not a folder", hint="choose another path"
        ) from exc
    except OSError as exc:
        raise folder_error("read", str(folder), exc) from exc
    if FILE_NAME in names and layout.PRIVATE_FOLDER in names:
        return configured.read_config(folder / FILE_NAME), False
    # interrupted before the configuration was written
    ours = {layout.LOCK_FILE, layout.TEMPORARY_FOLDER, *layout.MARKERS}
    private = folder / layout.PRIVATE_FOLDER
    inside = {path.name for path in private.iterdir()} if private.exists() else set()
    if names <= {layout.PRIVATE_FOLDER} and inside <= ours:
        return None, False
    raise errors.FolderError(
        f"{folder} is not empty and is not a workspace",
        hint="choose an empty or new folder; this one was not changed",
    )


def _config(
    client: Client, folder: Path, existing: Config | None, found: discovery.Found
) -> Config:
    """Of the workspace to be made, or of the one that is there if it is the same."""
    service, owners = str(client.address), {one.owner for one in found.wikis}
    if existing is None:
        ids = {wiki.owner: wiki.id for wiki in found.wikis}
        sections = (
            WikiSection(owner.kind, owner.full_path, name, ids[owner])
            for owner, name in folder_names(tuple(ids)).items()
        )
        return Config(service=ServiceSection(url=service), wikis=tuple(sections))
    known = {section.owner for section in existing.wikis}
    missing = known - owners
    is_same_service = existing.service.url == service
    named = {wiki.owner for wiki in found.wikis if wiki.is_named}
    is_meant = known & owners and all(
        found.selection.excludes(owner) or found.selection.means(owner, "")
        for owner in missing
    )
    if not is_same_service or not is_meant or not named <= known:
        raise errors.FolderError(
            f"{folder} is already a workspace of other wikis",
            hint="choose another folder; this one was not changed",
        )
    # a list that came short, or a lost right, keeps no other wiki old
    found.missing += [
        Problem(
            "wiki-unlisted",
            str(owner),
            "the service no longer lists it; its folder is not changed",
            "run wikisync sync to check this wiki and see the reason",
        )
        for owner in sorted(missing, key=str)
        if not found.selection.excludes(owner)
    ]
    found.skipped += [
        discovery.skipped(wiki.owner, "new since the clone; add it to wikisync.toml")
        for wiki in found.wikis
        if wiki.owner not in known
    ]
    return existing


def folder_names(owners: Sequence[WikiOwner]) -> Mapping[WikiOwner, str]:
    """A folder for each wiki: its last name, or more of its path where two clash."""
    leaves = [owner.full_path.rpartition("/")[2].casefold() for owner in owners]
    names: dict[WikiOwner, str] = {}
    taken: set[str] = {layout.PRIVATE_FOLDER, "wikisync.toml", "site"}
    for owner in owners:
        leaf = owner.full_path.rpartition("/")[2]
        wanted = leaf
        if leaves.count(leaf.casefold()) > 1 or leaf.casefold() in taken:
            wanted = owner.full_path.replace("/", "-")
        name, number = wanted, 2
        while name.casefold() in taken:
            name, number = f"{wanted}-{number}", number + 1
        taken.add(name.casefold())
        names[owner] = name
    return names


def _only_patterns(folders: Sequence[str]) -> str:
    """What the pattern file of each wiki holds; empty for whole wikis."""
    plain = [folder.strip("/") for folder in folders]
    for folder, way in zip(folders, plain, strict=True):
        if {"", ".", ".."} & set(way.split("/")):
            raise errors.UsageError(
                f"{folder!r} is no folder of a wiki", hint="such as docs/"
            )
    return patterns_of_only([*plain, UPLOADS]) if plain else ""


def _write_patterns(
    workspace: configured.ConfiguredWorkspace, patterns: str, *, is_new: bool
) -> None:
    """Leave out all other folders, unless somebody has patterns of another kind."""
    for folder in map(workspace.folder_of, workspace.config.wikis):
        path = folder / IGNORE_FILE
        if path.exists() or not is_new:
            if not path.exists() or path.read_text("utf-8") != patterns:
                raise errors.UsageError(
                    f"{folder} is a clone of other folders",
                    hint=f"change {path}, or clone into a new folder",
                )
            continue
        make_folder(path.parent)
        write_atomically(path.parent, IGNORE_FILE, patterns.encode())


def _undo(workspace: configured.ConfiguredWorkspace, *, is_made: bool) -> None:
    """Remove a workspace that this run began, as long as it has no pages."""
    with suppress(OSError):
        for folder in map(workspace.folder_of, workspace.config.wikis):
            (folder / IGNORE_FILE).unlink(missing_ok=True)
            if folder.exists():
                folder.rmdir()
        (workspace.root / FILE_NAME).unlink()
        shutil.rmtree(workspace.private)
        if is_made:
            workspace.root.rmdir()


# -- from one service to another ---------------------------------------------------


SOURCE, TARGET, FOLDER = "source", "target", "wiki"
ATTACHMENTS = "attachments"
MENTION = re.compile(
    r"(?P<wiki>\[\[)?(?<![\w/.%-])(?:\.{1,2}/)*"
    r"(?P<folder>uploads/[0-9a-f]{32}/)(?P<name>[^\s()\[\]<>{}|\"'?#]*)"
)
FILE_BYTES_MAX = 512 * 1024 * 1024


class Copied(Struct, frozen=True):
    """What a copy did, or would do."""

    source: PulledWiki
    run: SyncRun
    target: WikiSection


def one_wiki(selection: Selection) -> WikiSection:
    """The only wiki of a selection; UsageError where there are others, or none."""
    owner = selection.only()
    if owner is None:
        raise errors.UsageError(
            "a copy has one source and one target",
            hint="give the address of a project's or group's wiki for each",
        )
    return WikiSection(owner.kind, owner.full_path, FOLDER)


async def copy_wiki(
    source: Client,
    selection: Selection,
    target: Client,
    target_wiki: WikiSection,
    work: Path,
    credentials: Credentials,
    *,
    is_dry_run: bool,
) -> Copied:
    """Clone the source, and push it to the target, whose credentials are given."""
    one_wiki(selection)
    with credentials.messages.progress() as progress:
        cloned = await clone(source, selection, work / SOURCE, progress=progress)
    if not cloned.wikis:
        raise errors.UsageError(
            f"the wiki of {[*selection.projects, *selection.groups][0]} has no pages"
            " that this token can read"
        )
    root = work / TARGET
    if not (root / FILE_NAME).exists():
        section = ServiceSection(url=str(target.address))
        make_folder(root / FOLDER)
        with locked(root / layout.PRIVATE_FOLDER, f"the workspace {root}"):
            write_config(root, Config(service=section, wikis=(target_wiki,)))
    folder = cloned.wikis[0].wiki.folder
    uploaded: dict[str, str] = {}
    if not is_dry_run:
        async with target:
            there = Wiki(target, target_wiki.owner)
            uploaded = await _upload_texts(folder, root / FOLDER, there)
    _carry(folder, root / FOLDER, uploaded)
    request = SyncRequest(direction=Direction.PUSH, adopt="push", is_dry_run=is_dry_run)
    run = await sync_workspace(
        configured.find_workspace(root), (), request, credentials
    )
    return Copied(cloned.wikis[0], run, target_wiki)


async def _upload_texts(source: Path, target: Path, wiki: Wiki) -> dict[str, str]:
    """Upload what would be a page as a loose file; its path there, by the one here."""
    uploaded: dict[str, str] = {}
    there: dict[tuple[str, bytes], str] = {}
    for folder in (target, source):
        for path in filter(split_extension, scan_pages(folder).attachments):
            name = path.split("/")[-1]
            content = read_below(folder, path, FILE_BYTES_MAX)
            # as the service writes the names of files
            key = re.sub(r"[^\w.+-]", "_", name), content
            if key not in there and folder == source:
                stored = await wiki.upload_attachment(content, name)
                _write(target, stored.file_path, content)
                there[key] = stored.file_path
            uploaded[path] = there.setdefault(key, path)
    return uploaded


def _carry(source: Path, target: Path, uploaded: dict[str, str]) -> None:
    scanned = scan_pages(source)
    beside = [one for one in scanned.attachments if split_extension(one) is None]
    there = uploaded | {path: _beside(path) for path in beside}
    # where a name ends is not always clear: then it is kept, in its folder's place
    folders = {dirname(old): dirname(new) for old, new in there.items()}
    places = {f"{old}/": f"{new}/" for old, new in folders.items()} | uploaded
    for page in scanned.pages:
        content = read_below(source, page.path, FILE_BYTES_MAX)
        _write(target, page.path, _converted(content, page.path, page.format, places))
    for path in (*beside, *scanned.loose):
        _write(target, _beside(path), read_below(source, path, FILE_BYTES_MAX))


def _beside(path: str) -> str:
    return re.sub(r"\Auploads/", f"{ATTACHMENTS}/", path)


def _write(target: Path, path: str, content: bytes) -> None:
    with suppress(FileNotFoundError):
        if read_below(target, path, FILE_BYTES_MAX) == content:
            return
    with suppress(errors.PreconditionFailed):
        write_atomically(target, PagePath(path), content)


def _converted(
    content: bytes, path: str, page_format: Format, places: Mapping[str, str]
) -> bytes:
    """A page whose attachments are elsewhere; links start where the service does."""
    up = "../" * path.count("/")

    def moved(found: re.Match[str]) -> str:
        wiki, folder, name = found.group("wiki", "folder", "name")
        if folder not in places:
            return found[0]
        place = places.get(folder + unquote(name)) or f"{places[folder]}{name}"
        is_from_root = wiki and page_format is Format.MARKDOWN
        way = "" if is_from_root or place.startswith(UPLOADS) else up
        return f"{wiki or ''}{way}{place}"

    text = content.decode("utf-8", "surrogateescape")
    for spaced in (known for known in places if " " in known):
        text = text.replace(spaced, quote(spaced))
    return MENTION.sub(moved, text).encode("utf-8", "surrogateescape")
