"""Wikis of a service to a new workspace."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from wikisync.api.client import Client
from wikisync.config import FILE_NAME, Config, ServiceSection, WikiSection
from wikisync.config.reading import render_config
from wikisync.errors import FolderError, WikisyncError
from wikisync.folder.identity import current_folder
from wikisync.folder.swap import OWNERS, PRIVATE, write_atomically
from wikisync.folder.workspace import adopt, locked, refuse_overlaps
from wikisync.layout import (
    FOLDER_ID_FILE,
    LOCK_FILE,
    PRIVATE_FOLDER,
    STATE_FILE,
    TEMPORARY_FOLDER,
)
from wikisync.model import Problem, WikiOwner
from wikisync.progress import Progress
from wikisync.sync.base.state import State
from wikisync.workspace.creating import agree_to_new, refuse_folder
from wikisync.workspace.discovery import (
    Found,
    FoundWiki,
    Selection,
    find_wikis,
    skipped,
)
from wikisync.workspace.opening import IDENTITY
from wikisync.workspace.pulled import Pulled
from wikisync.workspace.pulling import Destination, pull_into_folders
from wikisync.workspace.settings import read_config


async def clone(
    client: Client,
    selection: Selection,
    folder: Path,
    *,
    allow_emptying: bool = False,
    progress: Progress,
) -> Pulled:
    """Make the workspace and pull every wiki into it.

    Fails before anything is written where that can be known.  Interrupted, it
    leaves a workspace that the next run finishes.

    Raises:
        FolderError: the folder is not empty and not this clone, lies in a workspace,
            became one meanwhile, or its wikis' folders overlap.
        WikisyncError: a wiki cannot be had; a workspace begun by this run and
            still without pages is removed again.
    """
    existing = existing_workspace(folder)
    if existing is None:
        refuse_folder(folder, allows_network_disk=True)
    async with client:
        progress.start("find wikis", None)
        found = await find_wikis(client, selection)
        workspace = _workspace(client, folder, existing, found)
        refuse_overlaps(folder, [folder / name for name in workspace.folders.values()])
        with locked(folder / PRIVATE_FOLDER, f"the workspace {folder}"):
            if existing is None:
                # another process may have made one while the wikis were searched for
                refuse_folder(folder, allows_network_disk=True)
            _write_workspace(folder, workspace)
            destination = Destination(
                private=folder / PRIVATE_FOLDER,
                folder_of=lambda wiki: folder / workspace.folders[wiki.owner],
                folders=workspace.folders,
                allow_emptying=allow_emptying,
            )
            try:
                pulled = await pull_into_folders(
                    client, workspace.wikis, destination, progress
                )
                _note_identity(destination.private, pulled)
            except WikisyncError:
                if existing is None:
                    _undo(folder, workspace)
                raise
    pulled.skipped[:0] = found.skipped
    pulled.missing += found.missing
    return pulled


class NewWorkspace(Struct, frozen=True):
    """A workspace as it is to be."""

    config: Config
    wikis: Sequence[FoundWiki]
    folders: Mapping[WikiOwner, str]
    is_new: bool
    made_folder: bool
    """This run makes the folder itself, and not only what is in it."""


def existing_workspace(folder: Path) -> Config | None:
    """The configuration in the folder; None where a new workspace may be made.

    Raises:
        FolderError: there is something else in it.
    """
    try:
        names = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return None
    except NotADirectoryError as exc:
        raise FolderError(
            f"{folder} is not a folder", hint="choose another path"
        ) from exc
    except OSError as exc:
        raise FolderError(
            f"{folder} cannot be read: {exc.strerror}", hint="choose another folder"
        ) from exc
    if FILE_NAME in names and PRIVATE_FOLDER in names:
        return read_config(folder / FILE_NAME)
    # interrupted before the configuration was written
    if names <= {PRIVATE_FOLDER} and _holds_only_lock(folder / PRIVATE_FOLDER):
        return None
    raise FolderError(
        f"{folder} is not empty and is not a workspace",
        hint="choose an empty or new folder; this one was not changed",
    )


def _holds_only_lock(private: Path) -> bool:
    if not private.exists():
        return True
    names = {path.name for path in private.iterdir()}
    return names <= {LOCK_FILE, FOLDER_ID_FILE}


def _workspace(
    client: Client, folder: Path, existing: Config | None, found: Found
) -> NewWorkspace:
    """The workspace to be made, or the one that is there if it is the same.

    Raises:
        FolderError: the folder is a workspace of other wikis.
    """
    if existing is None:
        return _new_workspace(client, folder, found.wikis)
    known = {section.owner: section.folder for section in existing.wikis}
    here = [wiki for wiki in found.wikis if wiki.owner in known]
    missing = known.keys() - {wiki.owner for wiki in here}
    is_same_service = existing.service.url == str(client.address).rstrip("/")
    named = {wiki.owner for wiki in found.wikis if wiki.is_named}
    is_meant = here and all(
        found.selection.excludes(owner) or found.selection.means(owner, "")
        for owner in missing
    )
    if not is_same_service or not is_meant or not named <= known.keys():
        raise FolderError(
            f"{folder} is already a workspace of other wikis",
            hint="choose another folder; this one was not changed",
        )
    # a list that came short, or a lost right, keeps no other wiki old
    found.missing += [
        _not_listed(owner)
        for owner in sorted(missing, key=str)
        if not found.selection.excludes(owner)
    ]
    found.skipped += [
        skipped(wiki.owner, "new since the clone; add it to wikisync.toml")
        for wiki in found.wikis
        if wiki.owner not in known
    ]
    return NewWorkspace(existing, here, known, is_new=False, made_folder=False)


def _not_listed(owner: WikiOwner) -> Problem:
    return Problem(
        "wiki-unlisted",
        str(owner),
        "the service no longer lists it; its folder is not changed",
        "run wikisync sync to check this wiki and see the reason",
    )


def _new_workspace(
    client: Client, folder: Path, wikis: Sequence[FoundWiki]
) -> NewWorkspace:
    folders = folder_names([wiki.owner for wiki in wikis])
    ids = {wiki.owner: wiki.id for wiki in wikis}
    config = Config(
        service=ServiceSection(url=str(client.address).rstrip("/")),
        wikis=tuple(
            WikiSection(owner.kind, owner.full_path, name, ids[owner])
            for owner, name in folders.items()
        ),
    )
    return NewWorkspace(
        config, wikis, folders, is_new=True, made_folder=not folder.exists()
    )


def folder_names(owners: Sequence[WikiOwner]) -> Mapping[WikiOwner, str]:
    """A folder for each wiki: its last name, or more of its path where two clash.

    Names are distinct on disks that ignore case, too.
    """
    leaves = [owner.full_path.rpartition("/")[2].casefold() for owner in owners]
    names: dict[WikiOwner, str] = {}
    taken: set[str] = {PRIVATE_FOLDER, "wikisync.toml", "site"}
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


def _write_workspace(folder: Path, workspace: NewWorkspace) -> None:
    if not workspace.is_new:
        return
    private = folder / PRIVATE_FOLDER
    identity = secrets.token_hex(16) + "\n"
    temporary = private / TEMPORARY_FOLDER
    write_atomically(
        private, FOLDER_ID_FILE, identity.encode(), temporary=temporary, modes=PRIVATE
    )
    text = render_config(workspace.config)
    write_atomically(
        folder, FILE_NAME, text.encode(), temporary=temporary, modes=OWNERS
    )
    agree_to_new(folder, workspace.config)


def _note_identity(private: Path, pulled: Pulled) -> None:
    """Let the state know its folders, so that copies of them are recognised."""
    with State.open(private / STATE_FILE) as state:
        # a copy that is cloned into again stays one until it is synced
        if not state.recalled(IDENTITY):
            state.remember(IDENTITY, str(adopt(private)))
        for one in pulled.wikis:
            known = state.wiki(one.wiki.owner)
            if not known.memory.folder_identity:
                known.remember(folder_identity=str(current_folder(one.folder)))


def _undo(folder: Path, workspace: NewWorkspace) -> None:
    """Remove a workspace that this run began, as long as it has no pages."""
    with suppress(OSError):
        for name in workspace.folders.values():
            if (folder / name).exists():
                (folder / name).rmdir()
        (folder / FILE_NAME).unlink()
        shutil.rmtree(folder / PRIVATE_FOLDER)
        if workspace.made_folder:
            folder.rmdir()
