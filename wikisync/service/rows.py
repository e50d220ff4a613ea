"""Users, tokens, groups and projects as values, read from rows of the tables.

No SQL here and no connection; ``tables`` asks, these hold the answers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from wikisync.decoding import json_decoder
from wikisync.service.access import (
    AccessLevel,
    FeatureLevel,
    Membership,
    Visibility,
    WikiDoor,
)

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
    """Attributes of ``api.parameters`` that were ever set and have no field."""

    @property
    def door(self) -> WikiDoor:
        """What it says about access to its wiki."""
        return WikiDoor(self.visibility, self.wiki_access_level, self.is_archived)

    def standing(self, user: User | None) -> Membership:
        """What the user that asked for this record is to it."""
        if user is None:
            return Membership()
        level = max(self.project_level, self.group_level, self.shared_level)
        if self.owner_id == user.id:
            level = AccessLevel.OWNER
        return Membership(is_signed_in=True, is_admin=user.is_admin, level=level)


class Group(Struct, frozen=True):
    """A group, and what the asking user is to it."""

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

    def standing(self, user: User | None) -> Membership:
        """What the user that asked for this record is to it."""
        if user is None:
            return Membership()
        return Membership(
            is_signed_in=True,
            is_admin=user.is_admin,
            level=self.level,
            sees_inside=self.is_seen,
        )


def user_from_row(row: sqlite3.Row) -> User:
    """A user, from a row of its table."""
    return User(
        id=row["id"],
        username=row["username"],
        name=row["name"],
        email=row["email"],
        is_admin=bool(row["is_admin"]),
        is_blocked=bool(row["is_blocked"]),
        created_at=row["created_at"],
        has_private_profile=bool(row["has_private_profile"]),
        projects_limit=row["projects_limit"],
    )


def token_from_row(row: sqlite3.Row) -> Token:
    """A token, from a row of its table."""
    return Token(
        id=row["id"],
        user_id=row["user_id"],
        name=row["name"],
        scopes=frozenset(row["scopes"].split()),
        created_at=row["created_at"],
        expires_on=row["expires_on"],
        is_revoked=bool(row["is_revoked"]),
    )


def project_from_row(fields: sqlite3.Row) -> Project:
    """A project, from a row of the projects query."""
    # a look by name into such a wide row searches it from its beginning
    row = dict(zip(fields.keys(), fields, strict=True))
    return Project(
        id=row["id"],
        path=row["path"],
        full_path=row["full_path"],
        name=row["name"],
        description=row["description"],
        visibility=row["visibility"],
        wiki_access_level=row["wiki_access_level"],
        is_archived=bool(row["is_archived"]),
        creator_id=row["creator_id"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        last_activity_at=row["last_activity_at"],
        namespace=Namespace(
            id=row["namespace_id"],
            kind=row["namespace_kind"],
            name=row["namespace_name"],
            path=row["namespace_path"],
            full_path=row["namespace_full_path"],
            full_name=row["namespace_full_name"],
            parent_id=row["namespace_parent_id"],
            visibility=row["namespace_visibility"],
            user_id=row["owner_id"],
        ),
        owner_id=row["owner_id"],
        project_level=row["project_level"],
        group_level=row["group_level"],
        shared_level=row["shared_level"],
        issues_access_level=row["issues_access_level"],
        merge_requests_access_level=row["merge_requests_access_level"],
        is_going=bool(row["is_going"]),
        marked_on=row["marked_on"],
        forked_from=row["forked_from"],
        repository_storage=row["repository_storage"],
        default_branch=row["default_branch"],
        readme=row["readme"],
        license=row["license"],
        license_key=row["license_key"],
        avatar=row["avatar"],
        origin=Import(
            status=row["import_status"],
            type=row["import_type"],
            url=row["import_url"],
            branch=row["import_branch"],
            error=row["import_error"],
        ),
        runners_token=row["runners_token"],
        statistics=Statistics(
            commit_count=row["commit_count"],
            repository_size=row["repository_size"],
            wiki_size=row["wiki_size"],
            uploads_size=row["uploads_size"],
        ),
        star_count=row["star_count"],
        forks_count=row["forks_count"],
        topics=tuple(_TOPICS.decode(row["topics"])),
        attributes=_ATTRIBUTES.decode(row["attributes"]),
    )


def group_from_row(row: sqlite3.Row) -> Group:
    """A group, from a row of the groups query."""
    return Group(
        id=row["id"],
        path=row["path"],
        full_path=row["full_path"],
        name=row["name"],
        description=row["description"],
        visibility=row["visibility"],
        wiki_access_level=row["wiki_access_level"],
        parent_id=row["parent_id"],
        created_at=row["created_at"],
        level=row["level"],
        is_seen=bool(row["is_seen"]),
        full_name=row["full_name"],
    )
