"""``service.toml``: which users, groups and projects a folder brings.  Pure.

The file lists tables ``[[user]]``, ``[[group]]`` and ``[[project]]``; every key
is checked, and a wrong one is named with its key path and the nearest right name.
"""

from __future__ import annotations

import difflib
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

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>[^`]*)`")
_PATH = re.compile(r" - at `\$?\.?(?P<path>[^`]*)`$")


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
    """Read a manifest.

    Raises:
        ServiceError: names the key path that is wrong.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ServiceError(f"{source} is not TOML: {error}") from error
    try:
        manifest = convert(values, ServiceManifest)
    except msgspec.ValidationError as error:
        raise _explain(str(error), source) from error
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


def _explain(text: str, source: str) -> ServiceError:
    """Our words for msgspec's: the key path first, then what is wrong with it."""
    match = _PATH.search(text)
    path = match["path"] if match else ""
    reason = text[: match.start()] if match else text
    hint = None
    unknown = _UNKNOWN.search(reason)
    if unknown is not None:
        key = unknown["key"]
        near = difflib.get_close_matches(key, _keys(path), 1, 0.5)
        path = f"{path}.{key}" if path else key
        reason = "no such key"
        hint = f"did you mean {near[0]}?" if near else None
    prefix = f"{source}: {path}: " if path else f"{source}: "
    return ServiceError(prefix + reason[:1].lower() + reason[1:], hint=hint)


def _keys(path: str) -> tuple[str, ...]:
    tables: dict[str, type[msgspec.Struct]] = {
        "user": UserEntry,
        "group": GroupEntry,
        "project": ProjectEntry,
    }
    return tables.get(path.partition("[")[0], ServiceManifest).__struct_fields__
