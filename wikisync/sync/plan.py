"""What one cycle is going to do, as values: actions, and the plan that holds them.

Pure.  ``reconcile`` makes plans, ``safety`` looks at them, ``apply`` carries them
out, and the text of a plan is the dry run, word for word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from wikisync.model import Digest, Format, PageState, Slug


@dataclass(frozen=True, slots=True)
class BasePage:
    """What both sides held when they last agreed on a page.

    Two digests, because a side may store something else than it was given (line
    ends, a final newline) and must not look changed for it.
    """

    slug: Slug
    format: Format
    local: Digest
    remote: Digest

    @property
    def local_state(self) -> PageState:
        """The page as the local side looked then."""
        return PageState(self.slug, self.format, self.local)

    @property
    def remote_state(self) -> PageState:
        """The page as the remote side looked then."""
        return PageState(self.slug, self.format, self.remote)


class HoldReason(StrEnum):
    """Why a page waits for a person; the value is the sentence shown."""

    EDITED_BOTH = "edited here and on the wiki"
    CREATED_BOTH = "created here and on the wiki with different texts"
    EDITED_HERE_GONE_THERE = "edited here, deleted on the wiki"


class SkipReason(StrEnum):
    """Why nothing is done about a difference; the value is the sentence shown."""

    EDITED_HERE = "edited here; a pull writes nothing to the wiki"
    CREATED_HERE = "only here; a pull writes nothing to the wiki"
    DELETED_HERE = "deleted here; a pull writes nothing to the wiki"
    UNREADABLE_HERE = "the file here cannot be read"
    UNREADABLE_THERE = "the page on the wiki cannot be read"
    UNSEEN_HERE = "not seen here, but not every file could be seen"
    UNSEEN_THERE = "not on the wiki's list, but the list cannot be trusted"
    FIRST_SYNC = "only here; nothing is removed by a first sync"


@dataclass(frozen=True, slots=True)
class CreateLocal:
    """The wiki has a page that the folder lacks: write it."""

    slug: Slug
    format: Format
    remote: Digest


@dataclass(frozen=True, slots=True)
class Pull:
    """The wiki's text replaces the folder's."""

    slug: Slug
    format: Format
    local: Digest
    """What the folder must still hold when it is replaced."""
    remote: Digest


@dataclass(frozen=True, slots=True)
class Adopt:
    """Both sides hold the same already; only the base learns it."""

    slug: Slug
    format: Format
    local: Digest
    remote: Digest


@dataclass(frozen=True, slots=True)
class DropRecord:
    """The page is gone on both sides; only the base still knows it."""

    slug: Slug


@dataclass(frozen=True, slots=True)
class DeleteLocal:
    """The page is gone from the wiki: remove the folder's copy."""

    slug: Slug
    local: Digest
    """What the folder must still hold when it is removed."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Neither side is touched until a person decides."""

    slug: Slug
    reason: HoldReason


@dataclass(frozen=True, slots=True)
class Skip:
    """A difference that this cycle leaves alone, and why."""

    slug: Slug
    reason: SkipReason


Action: TypeAlias = CreateLocal | Pull | Adopt | DropRecord | DeleteLocal | Hold | Skip
Write: TypeAlias = CreateLocal | Pull


@dataclass(frozen=True, slots=True)
class Plan:
    """Every action of one cycle, in the order in which they are carried out.

    One action per page at most: creates (parents first), updates, records, what
    waits, and removals last.  ``str`` gives one line per action.
    """

    actions: tuple[Action, ...] = ()

    @classmethod
    def from_actions(cls, actions: list[Action]) -> Plan:
        """A plan of these actions in their order of execution."""
        return cls(tuple(sorted(actions, key=_order)))

    @property
    def writes(self) -> tuple[Write, ...]:
        """Actions that put a page's text into the folder."""
        return tuple(a for a in self.actions if isinstance(a, CreateLocal | Pull))

    @property
    def deletes(self) -> tuple[DeleteLocal, ...]:
        """Actions that remove a page from the folder."""
        return tuple(a for a in self.actions if isinstance(a, DeleteLocal))

    @property
    def held(self) -> tuple[Hold, ...]:
        """Pages that wait for a person."""
        return tuple(a for a in self.actions if isinstance(a, Hold))

    @property
    def skipped(self) -> tuple[Skip, ...]:
        """Differences left alone, with their reasons."""
        return tuple(a for a in self.actions if isinstance(a, Skip))

    def without_deletes(self) -> Plan:
        """The same plan for a cycle that may not remove anything."""
        return Plan(tuple(a for a in self.actions if not isinstance(a, DeleteLocal)))

    def __str__(self) -> str:
        if not self.actions:
            return "nothing to do"
        return "\n".join(describe(action) for action in self.actions)


def describe(action: Action) -> str:
    """One line of the dry run: a verb, the slug, and why where it is not plain."""
    match action:
        case CreateLocal():
            return f"create  {action.slug}"
        case Pull():
            return f"update  {action.slug}"
        case Adopt():
            return f"adopt   {action.slug}"
        case DropRecord():
            return f"forget  {action.slug}"
        case DeleteLocal():
            return f"remove  {action.slug}"
        case Hold():
            return f"hold    {action.slug}: {action.reason}"
        case Skip():
            return f"skip    {action.slug}: {action.reason}"
    assert_never(action)


_RANK: dict[type[Action], int] = {
    CreateLocal: 0,
    Pull: 1,
    Adopt: 2,
    DropRecord: 3,
    Hold: 4,
    Skip: 5,
    DeleteLocal: 6,
}


def _order(action: Action) -> tuple[int, int, str]:
    # parents before children where files appear, children first where they go
    depth = action.slug.count("/")
    if isinstance(action, DeleteLocal):
        depth = -depth
    return _RANK[type(action)], depth, action.slug
