"""Users, tokens, groups and projects as values, read from rows of the tables.

No SQL here and no connection; ``tables`` asks, these hold the answers.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import Struct

from wikisync.contract.project_schema import AccessLevel
from wikisync.core.decoding import convert, json_decoder
from wikisync.core.model import OwnerKind
from wikisync.service.access import FeatureLevel, Membership, Visibility, WikiDoor

T = TypeVar("T")

_TOPICS = json_decoder(list[str])
_ATTRIBUTES = json_decoder(dict[str, object])


class User(Struct, frozen=True):
    """Someone who may sign in."""

    id: int
    username: str
    name: str
    email: str
    is_admin: bool
    is_blocked: bool
    created_at: str
    has_private_profile: bool = False
    projects_limit: int = 100_000

    @property
    def state(self) -> str:
        """The API's word for whether the user may sign in."""
        return "blocked" if self.is_blocked else "active"


class Token(Struct, frozen=True):
    """An access token, without its secret."""

    id: int
    user_id: int
    name: str
    scopes: frozenset[str]
    created_at: str
    expires_on: str | None
    is_revoked: bool

    def is_expired(self, today: str) -> bool:
        """Whether its last day has come; dates as ``YYYY-MM-DD``."""
        return self.expires_on is not None and self.expires_on <= today


class Namespace(Struct, frozen=True):
    """What a project belongs to."""

    id: int
    kind: Literal["user", "group"]
    name: str
    path: str
    full_path: str
    parent_id: int | None
    visibility: Visibility = "public"
    user_id: int | None = None
    full_name: str = ""
    """Names from the top group down, ``Docs / Guides``; where it was asked for."""


class Statistics(Struct, frozen=True):
    """What a project takes on disk, in bytes, and its commits."""

    commit_count: int = 0
    repository_size: int = 0
    wiki_size: int = 0
    uploads_size: int = 0

    @property
    def storage_size(self) -> int:
        """Everything together."""
        return self.repository_size + self.wiki_size + self.uploads_size


class Import(Struct, frozen=True):
    """Where a project's repository came from, and how far that is."""

    status: str
    type: str | None
    url: str | None
    branch: str | None
    error: str | None

    @property
    def is_under_way(self) -> bool:
        """Whether the repository is still to come."""
        return self.status in {"scheduled", "started"}


class Project(Struct, frozen=True):
    """A project, and what the asking user is to it."""

    kind: ClassVar[OwnerKind] = "project"
    id: int
    path: str
    full_path: str
    name: str
    description: str | None
    visibility: Visibility
    wiki_access_level: FeatureLevel
    is_archived: bool
    creator_id: int
    created_at: str
    updated_at: str
    last_activity_at: str
    namespace: Namespace
    owner_id: int | None
    """The user whose namespace it is in; None in a group."""
    project_level: int
    group_level: int
    shared_level: int
    """By way of a group that the project is shared with."""
    issues_access_level: FeatureLevel
    merge_requests_access_level: FeatureLevel
    is_going: bool
    """Whether it is being removed."""
    marked_on: str | None
    """The day it was marked for deletion."""
    forked_from: int | None
    repository_storage: str
    default_branch: str | None
    """None while the repository is empty."""
    readme: str | None
    license: str | None
    license_key: str | None
    avatar: str | None
    origin: Import
    runners_token: str
    statistics: Statistics
    star_count: int
    forks_count: int
    topics: tuple[str, ...]
    attributes: Mapping[str, object]
    """Attributes of ``contract.parameters`` that were ever set and have no field."""

    @property
    def door(self) -> WikiDoor:
        """What it says about access to its wiki."""
        return WikiDoor(self.visibility, self.wiki_access_level, self.is_archived)

    def membership(self, user: User | None) -> Membership:
        """What the user that asked for this record is to it."""
        if user is None:
            return Membership()
        level = max(self.project_level, self.group_level, self.shared_level)
        if self.owner_id == user.id:
            level = AccessLevel.OWNER
        return Membership(is_signed_in=True, is_admin=user.is_admin, level=level)


class Group(Struct, frozen=True):
    """A group, and what the asking user is to it."""

    kind: ClassVar[OwnerKind] = "group"
    id: int
    path: str
    full_path: str
    name: str
    description: str
    visibility: Visibility
    wiki_access_level: FeatureLevel
    parent_id: int | None
    created_at: str
    level: int
    is_seen: bool
    full_name: str
    """Names from the top group down, ``Docs / Guides``."""

    @property
    def door(self) -> WikiDoor:
        """What it says about access to its wiki."""
        return WikiDoor(self.visibility, self.wiki_access_level)

    def membership(self, user: User | None) -> Membership:
        """What the user that asked for this record is to it."""
        if user is None:
            return Membership()
        return Membership(
            is_signed_in=True,
            is_admin=user.is_admin,
            level=self.level,
            sees_inside=self.is_seen,
        )


def from_row(row: sqlite3.Row, kind: type[T]) -> T:
    """A record, from a row with its fields as columns; other columns are left out."""
    return convert(_columns(row), kind, is_strict=False)


def token_from_row(row: sqlite3.Row) -> Token:
    """A token, from a row of its table."""
    return convert(
        _columns(row) | {"scopes": row["scopes"].split()}, Token, is_strict=False
    )


def project_from_row(row: sqlite3.Row) -> Project:
    """A project, from a row of the projects query."""
    columns = _columns(row)
    space = _part(columns, "namespace_") | {"user_id": columns["owner_id"]}
    parts = {
        "namespace": space,
        "origin": _part(columns, "import_"),
        "statistics": columns,
        "topics": _TOPICS.decode(columns["topics"]),
        "attributes": _ATTRIBUTES.decode(columns["attributes"]),
    }
    return convert(columns | parts, Project, is_strict=False)


def _columns(row: sqlite3.Row) -> dict[str, Any]:
    # access by name into such a wide row searches it from its beginning
    return dict(zip(row.keys(), row, strict=True))


def _part(columns: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): value
        for name, value in columns.items()
        if name.startswith(prefix)
    }
