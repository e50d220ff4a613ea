"""Who may do what: visibility, role, feature level and scope to one verdict.

Pure.  The table is ``docs/service.md`` "Rights"; rights are decided here and nowhere
else.  What a caller may not see does not exist (404); what it may
see but not do is refused (403); a credential is asked for (401) only where the
operation itself needs a person.
"""

from enum import Enum
from typing import Literal, assert_never

from msgspec import Struct

from wikisync.contract.project_schema import AccessLevel

Visibility = Literal["public", "internal", "private"]
FeatureLevel = Literal["enabled", "private", "disabled"]


class Operation(Enum):
    """What a caller wants of a wiki."""

    READ = "read"
    WRITE = "write"
    """Create, edit and upload."""
    DELETE = "delete"


class Act(Enum):
    """What a caller wants of a project other than its wiki: the least access level."""

    STAR = 0
    UPLOAD = 10
    EDIT = 40
    RELEASE = 50
    """Archive, delete, restore, change the visibility: what owners decide."""


class Verdict(Enum):
    """The answer, each with one status code."""

    ALLOWED = 200
    UNAUTHENTICATED = 401
    FORBIDDEN = 403
    HIDDEN = 404


class Membership(Struct, frozen=True):
    """What a caller is to one project or group."""

    is_signed_in: bool = False
    is_admin: bool = False
    level: int = AccessLevel.NONE
    """The highest of the caller's memberships, inherited ones included."""
    sees_inside: bool = False
    """Member of something below a group: enough to know that the group exists."""

    @property
    def is_member(self) -> bool:
        """Whether private things are open to the caller."""
        return self.has(AccessLevel.GUEST)

    def has(self, level: int) -> bool:
        """Whether the caller may do what takes this level."""
        return self.is_admin or self.level >= level


class WikiDoor(Struct, frozen=True):
    """What a project or group says about access to its wiki."""

    visibility: Visibility = "private"
    wiki: FeatureLevel = "enabled"
    is_archived: bool = False


def judge_container(visibility: Visibility, membership: Membership) -> Verdict:
    """Whether the caller may know of a project or group."""
    match visibility:
        case "public":
            is_seen = True
        case "internal":
            is_seen = membership.is_signed_in
        case "private":
            is_seen = False
        case _:
            assert_never(visibility)
    if is_seen or membership.is_member or membership.sees_inside:
        return Verdict.ALLOWED
    return Verdict.HIDDEN


def judge_wiki(
    door: WikiDoor,
    membership: Membership,
    operation: Operation,
    *,
    delete_level: int = AccessLevel.MAINTAINER,
) -> Verdict:
    """Whether the caller may do the operation; a disabled wiki is closed to all."""
    if judge_container(door.visibility, membership) is Verdict.HIDDEN:
        return Verdict.HIDDEN
    if not _may_read(door, membership):
        return Verdict.FORBIDDEN
    match operation:
        case Operation.READ:
            return Verdict.ALLOWED
        case Operation.WRITE:
            is_allowed = _has(membership, AccessLevel.DEVELOPER)
        case Operation.DELETE:
            is_allowed = _has(membership, delete_level)
        case _:
            assert_never(operation)
    if is_allowed and not door.is_archived:
        return Verdict.ALLOWED
    return Verdict.FORBIDDEN


def judge_clone(door: WikiDoor, membership: Membership) -> Verdict:
    """Whether the caller may have the wiki's repository; no guest of a private one."""
    verdict = judge_wiki(door, membership, Operation.READ)
    is_open = door.visibility != "private" and door.wiki == "enabled"
    may_clone = is_open or _has(membership, AccessLevel.REPORTER)
    if verdict is Verdict.ALLOWED and not may_clone:
        return Verdict.FORBIDDEN
    return verdict


def judge_project(
    door: WikiDoor, membership: Membership, act: Act, *, is_archived_too: bool = False
) -> Verdict:
    """Whether the caller may do something to a project."""
    if not membership.is_signed_in:
        return Verdict.UNAUTHENTICATED
    if judge_container(door.visibility, membership) is Verdict.HIDDEN:
        return Verdict.HIDDEN
    if door.is_archived and not is_archived_too:
        return Verdict.FORBIDDEN
    if membership.has(act.value):
        return Verdict.ALLOWED
    return Verdict.FORBIDDEN


def may_read_code(
    visibility: Visibility, repository: FeatureLevel, membership: Membership
) -> bool:
    """Whether the caller may see a project's files; guests of a private one not."""
    if repository == "disabled":
        return False
    if membership.has(AccessLevel.REPORTER):
        return True
    if repository == "private" or visibility == "private":
        return False
    return judge_container(visibility, membership) is Verdict.ALLOWED


def judge_code(
    door: WikiDoor, repository: FeatureLevel, membership: Membership, *, is_push: bool
) -> Verdict:
    """Whether the caller may have a project's repository, or write to it."""
    if judge_container(door.visibility, membership) is Verdict.HIDDEN:
        return Verdict.HIDDEN
    if not may_read_code(door.visibility, repository, membership):
        return Verdict.FORBIDDEN
    may_write = membership.has(AccessLevel.DEVELOPER)
    if is_push and (door.is_archived or not may_write):
        return Verdict.FORBIDDEN
    return Verdict.ALLOWED


def scope_allows(scopes: frozenset[str], *, is_reading: bool) -> bool:
    """Whether a token's scopes reach to this API; ``read_api`` for GET and HEAD."""
    return "api" in scopes or (is_reading and "read_api" in scopes)


def _may_read(door: WikiDoor, membership: Membership) -> bool:
    match door.wiki:
        case "disabled":
            return False
        case "private":
            return membership.is_member
        case "enabled":
            # someone who only belongs to a subgroup knows the private group
            # above it, but has no part in its wiki
            return door.visibility != "private" or membership.is_member
        case _:
            assert_never(door.wiki)


def _has(membership: Membership, level: int) -> bool:
    # Planner is below Reporter in number yet writes wikis, and may delete
    return membership.has(level) or membership.level == AccessLevel.PLANNER
