"""Loading a folder of wikis into the service, as often as one likes.

``service.toml`` says which users, groups and projects it brings.  Loading again carries
over what changed in the folder since, and never undoes edits through the service.
"""

import asyncio
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from wikisync.contract.project_schema import AccessLevel
from wikisync.core import model
from wikisync.core.decoding import convert
from wikisync.core.mentions import linked_ways, ways_lead_to
from wikisync.core.system.private import read_private_file
from wikisync.errors import ServiceError
from wikisync.folder.naming import attachment_path, is_hidden, parse_path
from wikisync.service.access import FeatureLevel, Visibility
from wikisync.service.answers import fields_of
from wikisync.service.committing import Author, GitRefused
from wikisync.service.editing import CommitPlan
from wikisync.service.instance import ADMIN, Service
from wikisync.service.repository import WikiRepository
from wikisync.service.rows import User
from wikisync.service.tables import Tables
from wikisync.service.tree import RepositoryFile, WikiTree

MANIFEST = "service.toml"
MANIFEST_BYTES_MAX = 1024 * 1024

Role = Literal["guest", "planner", "reporter", "developer", "maintainer", "owner"]

PATH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
"""What a group, project or user may be called in addresses."""


class UserEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Someone who may sign in."""

    username: str
    name: str = ""
    email: str = ""
    admin: bool = False


class GroupEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group, with or without a wiki."""

    path: str
    name: str = ""
    description: str = ""
    visibility: Visibility = "private"
    wiki_access_level: FeatureLevel = "enabled"
    wiki: str | None = None
    """Folder of its wiki's files, relative to the manifest."""
    members: dict[str, Role] = {}


class ProjectEntry(GroupEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A project, with or without a wiki."""

    archived: bool = False


class ServiceManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything in the file; groups come before the projects in them."""

    user: tuple[UserEntry, ...] = ()
    group: tuple[GroupEntry, ...] = ()
    project: tuple[ProjectEntry, ...] = ()


def parse_manifest(
    text: str, source: str, folder: Path | None = None
) -> ServiceManifest:
    """Read a manifest, of a folder if given; ServiceError names the wrong key path."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ServiceError(f"{source} is not TOML: {error}") from error
    try:
        manifest = convert(values, ServiceManifest)
    except msgspec.ValidationError as error:
        raise ServiceError(f"{source}: {error}") from error
    _check_manifest(manifest, source, folder)
    return manifest


def _check_manifest(
    manifest: ServiceManifest, source: str, folder: Path | None
) -> None:
    usernames = {user.username for user in manifest.user}
    seen: set[str] = set()
    tables = (("group", manifest.group), ("project", manifest.project))
    for table, entries in tables:
        for at, entry in enumerate(entries):
            path = f"{table}[{at}]"
            if not all(PATH_PART.fullmatch(part) for part in entry.path.split("/")):
                raise ServiceError(
                    f"{source}: {path}.path: {entry.path!r} is not a path",
                    hint="use letters, digits, '_', '-', '.' and '/' between groups",
                )
            if entry.path.lower() in seen:
                raise ServiceError(f"{source}: {path}.path: {entry.path} comes twice")
            seen.add(entry.path.lower())
            for username in entry.members:
                if username not in usernames:
                    raise ServiceError(
                        f"{source}: {path}.members.{username}: no such user",
                        hint=f'add [[user]] with username = "{username}"',
                    )
            if folder is not None and entry.wiki is not None:
                _check_wiki_folder(folder, entry.wiki, f"{source}: {path}.wiki")


LOCAL_GROUP = "local"


class LoadedFolder(Struct, frozen=True):
    """What came of a load."""

    owners: tuple[model.WikiOwner, ...]
    """The wikis in the folder, groups first."""
    ignored: tuple[str, ...] = ()
    """Files that are neither a page nor an attachment."""
    kept: tuple[str, ...] = ()
    """Files that changed in the folder and through the service: left as they are
    in the service."""


async def load_folder(service: Service, folder: Path) -> LoadedFolder:
    """Put a folder's users, groups, projects and wikis into the service.

    ServiceError for no such folder, nothing in it, or a wrong service.toml.
    """
    manifest = await asyncio.to_thread(read_manifest, folder)
    records = service.records
    author = await records.ask(Tables.user_named, ADMIN)
    assert author is not None, "the first start makes the administrator"
    for user in manifest.user:
        await records.ask(
            Tables.add_user,
            user.username,
            name=user.name,
            email=user.email,
            is_admin=user.admin,
        )
    owners: list[model.WikiOwner] = []
    ignored: list[str] = []
    kept: list[str] = []
    for entry in (*manifest.group, *manifest.project):
        kind, owner_id = await _add_owner(service, entry, author)
        if entry.wiki is None:
            continue
        owners.append(model.WikiOwner(kind, entry.path))
        files, others = await asyncio.to_thread(scan_wiki, folder / entry.wiki)
        ignored += others
        wiki = service.wiki(kind, owner_id)
        name = Author(author.name, author.email)
        try:
            edited, is_changed = await asyncio.to_thread(
                load_wiki, wiki.repository, files, name
            )
        except (OSError, GitRefused) as error:
            raise ServiceError(f"cannot load {folder / entry.wiki}: {error}") from error
        service.grown.add(wiki.repository)
        if is_changed:
            wiki.note_write(author.id)
        kept += [f"{entry.path}: {path}" for path in edited]
    return LoadedFolder(tuple(owners), tuple(ignored), tuple(kept))


def read_manifest(folder: Path) -> ServiceManifest:
    """The manifest of a folder; of one project without."""
    if not folder.is_dir():
        raise ServiceError(
            f"no folder {folder} to load",
            hint="name a folder with a service.toml, or with page files",
        )
    file = folder / MANIFEST
    if file.exists():
        try:
            text = read_private_file(file.resolve(), MANIFEST_BYTES_MAX).decode()
        except (OSError, UnicodeDecodeError) as error:
            hint = "make it a file with text in UTF-8 that this user can read"
            raise ServiceError(f"cannot read {file}: {error}", hint=hint) from error
        return parse_manifest(text, str(file), folder)
    if not any(_page_path(path) for path, _file in _walk(folder)):
        raise ServiceError(
            f"nothing to load in {folder}: no {MANIFEST} and no page files",
            hint="page files end in .md, .rdoc, .asciidoc, .org and the like",
        )
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", folder.resolve().name).strip("-.") or "wiki"
    project = ProjectEntry(path=f"{LOCAL_GROUP}/{name}", wiki=".")
    return ServiceManifest(project=(project,))


def scan_wiki(folder: Path) -> tuple[dict[str, Path], list[str]]:
    """The pages in a wiki's folder, with the files that they link to or uploaded.

    Path in the repository to the file on disk, and the files that are neither.
    """
    files: dict[str, Path] = {}
    ignored: list[str] = []
    linked: set[str] = set()
    for path, file in _walk(folder):
        if (parsed := parse_path(path)) is not None:
            ways = linked_ways(file.read_bytes().decode(errors="replace"))
            linked.update(ways_lead_to(parsed[0], ways))
    above = {above for path in linked for above in model.folders_above(path)}
    for path, file in _walk(folder, above):
        target: str | None = _page_path(path)
        if path.startswith("uploads/") or model.in_form_c(path) in linked:
            target = target or attachment_path(path)
        if target is None or target in files:
            if path != MANIFEST and not is_hidden(path):
                ignored.append(str(file))
        else:
            files[target] = file
    return files, ignored


def load_wiki(
    repository: WikiRepository, files: dict[str, Path], author: Author
) -> tuple[list[str], bool]:
    """Bring what changed in a folder since its last load into the repository.

    Gives the paths that changed on both sides, and whether anything changed.
    """
    stored = {
        path: RepositoryFile(path, repository.store_file(source))
        for path, source in files.items()
    }
    before = {file.path: file for file in repository.loaded().files}
    kept: list[str] = []
    links: dict[str, RepositoryFile] = {}
    removes: set[str] = set()

    def decide(tree: WikiTree) -> CommitPlan:
        for path in before.keys() | stored.keys():
            old, new, now = before.get(path), stored.get(path), tree.file(path)
            if _blob(old) == _blob(new) or _blob(now) == _blob(new):
                continue
            if _blob(now) != _blob(old):
                kept.append(path)
            elif new is not None:
                links[path] = new
            else:
                removes.add(path)
        return CommitPlan("Load folder", links=links, removes=frozenset(removes))

    repository.change(decide, author)
    repository.remember_loaded(tuple(stored.values()), author)
    return sorted(kept), bool(links or removes)


async def _add_owner(
    service: Service, entry: GroupEntry, author: User
) -> tuple[model.OwnerKind, int]:
    records = service.records
    kind: model.OwnerKind = "group"
    make: Callable[..., int] = Tables.add_group
    values = fields_of(entry, "name description visibility wiki_access_level")
    if isinstance(entry, ProjectEntry):
        kind, make = "project", Tables.add_project
        values["description"] = entry.description or None
        values |= {"creator_id": author.id, "is_archived": entry.archived}
    owner_id = await records.ask(make, entry.path, update=True, **values)
    for username, role in entry.members.items():
        user = await records.ask(Tables.user_named, username)
        assert user is not None, "the manifest names its members as users"
        await records.ask(
            Tables.add_member, kind, owner_id, user.id, AccessLevel[role.upper()]
        )
    return kind, owner_id


def _check_wiki_folder(folder: Path, name: str, key: str) -> None:
    wiki = (folder / name).resolve()
    if not wiki.is_relative_to(folder.resolve()):
        raise ServiceError(f"{key}: {name} is outside the folder")
    if not wiki.is_dir():
        raise ServiceError(f"{key}: there is no folder {name}")


def _walk(folder: Path, above: Collection[str] = ()) -> Iterator[tuple[str, Path]]:
    """Files with their path below the folder, and in hidden folders ``above``."""
    for parent, directories, names in os.walk(folder):
        way = Path(parent).relative_to(folder)
        directories[:] = sorted(
            name
            for name in directories
            if name[0] != "." or (way / name).as_posix() in above
        )
        for name in sorted(names):
            file = Path(parent, name)
            if name[0] != "." and file.is_file() and not file.is_symlink():
                yield file.relative_to(folder).as_posix(), file


def _page_path(path: str) -> str | None:
    """The repository's path of a page file, its own extension kept."""
    parsed = parse_path(path)
    split = model.split_extension(path)
    if parsed is None or split is None:
        return None
    return parsed[0] + path[len(split[0]) :]


def _blob(file: RepositoryFile | None) -> bytes | None:
    return None if file is None else file.blob
