"""``service.toml``: which users, groups and projects a folder brings.  Pure.

The file lists tables ``[[user]]``, ``[[group]]`` and ``[[project]]``; every key
is checked, and a wrong one is named with its key path.
"""

import re
import tomllib
from typing import Literal

import msgspec

from wikisync.contract.project_schema import AccessLevel
from wikisync.core.decoding import convert
from wikisync.errors import ServiceError
from wikisync.service.access import FeatureLevel, Visibility

MANIFEST = "service.toml"

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


def parse_manifest(text: str, source: str) -> ServiceManifest:
    """Read a manifest; ServiceError names the key path that is wrong."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ServiceError(f"{source} is not TOML: {error}") from error
    try:
        manifest = convert(values, ServiceManifest)
    except msgspec.ValidationError as error:
        raise ServiceError(f"{source}: {error}") from error
    _check(manifest, source)
    return manifest


def level_of(role: Role) -> AccessLevel:
    """The access level that a role stands for."""
    return AccessLevel[role.upper()]


def _check(manifest: ServiceManifest, source: str) -> None:
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
