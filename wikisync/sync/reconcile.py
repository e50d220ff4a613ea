"""The decision: what base, local and remote together say must be done.

Pure.  Each side's page is first compared with the base alone and named by one
word (``Change``); the pair of words picks one row of the policy's table.  No
clock, no order of events and no guess enters.  A two-way policy is one more table
over the same pairs.

Absence is not deletion: a page missing from an incomplete snapshot is *unseen*,
and a first sync (no base at all) removes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from wikisync.model import PageState, Slug, Snapshot
from wikisync.sync.plan import (
    Action,
    Adopt,
    BasePage,
    CreateLocal,
    DeleteLocal,
    DropRecord,
    Hold,
    HoldReason,
    Plan,
    Pull,
    Skip,
    SkipReason,
)


class Policy(Enum):
    """Who may be written, and whose text counts when both differ."""

    PULL = auto()
    """The wiki is never written; an edit made here is never overwritten."""
    MIRROR = auto()
    """The folder is private to us: it becomes equal to the wiki."""


class Change(Enum):
    """One side of a page, seen against the base."""

    ABSENT = auto()
    """Not here, and the base does not know it either."""
    CREATED = auto()
    SAME = auto()
    EDITED = auto()
    DELETED = auto()
    UNSEEN = auto()
    """Not seen, but the look was incomplete: nothing is known."""
    UNREADABLE = auto()


def reconcile(
    base: Mapping[Slug, BasePage], local: Snapshot, remote: Snapshot, policy: Policy
) -> Plan:
    """Decide one cycle.

    The same four values always give the same plan, and a plan carried out in full
    leaves nothing to do but what waits for a person.
    """
    slugs = {*base, *local.pages, *remote.pages, *local.unreadable, *remote.unreadable}
    actions: list[Action] = []
    for slug in slugs:
        action = _decide(slug, base.get(slug), local, remote, policy)
        if isinstance(action, DeleteLocal) and not base:
            action = Skip(slug, SkipReason.FIRST_SYNC)
        if action is not None:
            actions.append(action)
    return Plan.from_actions(actions)


def change_of(agreed: PageState | None, side: Snapshot, slug: Slug) -> Change:
    """Name what happened to a page on one side since both agreed on it."""
    if slug in side.unreadable:
        return Change.UNREADABLE
    seen = side.pages.get(slug)
    if seen is None:
        if not side.is_complete:
            return Change.UNSEEN
        return Change.ABSENT if agreed is None else Change.DELETED
    if agreed is None:
        return Change.CREATED
    return Change.SAME if seen == agreed else Change.EDITED


def _decide(
    slug: Slug,
    agreed: BasePage | None,
    local: Snapshot,
    remote: Snapshot,
    policy: Policy,
) -> Action | None:
    mine, theirs = local.pages.get(slug), remote.pages.get(slug)
    here = change_of(agreed.local_state if agreed else None, local, slug)
    there = change_of(agreed.remote_state if agreed else None, remote, slug)
    unknown = _unknown(slug, here, there)
    if unknown is not None:
        return unknown
    if policy is Policy.MIRROR:
        if here is there is Change.SAME:
            return None
        return _mirror(slug, mine, theirs)
    return _pull(slug, here, there, mine, theirs)


def _unknown(slug: Slug, here: Change, there: Change) -> Skip | None:
    """Leave a page alone while one side of it is not known."""
    match here, there:
        case Change.UNREADABLE, _:
            return Skip(slug, SkipReason.UNREADABLE_HERE)
        case _, Change.UNREADABLE:
            return Skip(slug, SkipReason.UNREADABLE_THERE)
        case Change.UNSEEN, _:
            return Skip(slug, SkipReason.UNSEEN_HERE)
        case _, Change.UNSEEN:
            return Skip(slug, SkipReason.UNSEEN_THERE)
        case _:
            return None


def _pull(
    slug: Slug,
    here: Change,
    there: Change,
    mine: PageState | None,
    theirs: PageState | None,
) -> Action | None:
    """The table of a pull: local against base, remote against base."""
    match here, there:
        case Change.SAME, Change.SAME:
            return None
        case Change.SAME, Change.EDITED:
            return _take(slug, mine, theirs)
        case Change.SAME, Change.DELETED:
            return _remove(slug, mine)
        case Change.EDITED, Change.SAME:
            return Skip(slug, SkipReason.EDITED_HERE)
        case Change.EDITED, Change.EDITED:
            return _adopt(mine, theirs) or Hold(slug, HoldReason.EDITED_BOTH)
        case Change.EDITED, Change.DELETED:
            return Hold(slug, HoldReason.EDITED_HERE_GONE_THERE)
        case Change.DELETED, Change.SAME:
            return Skip(slug, SkipReason.DELETED_HERE)
        case Change.DELETED, Change.EDITED:
            # an edit beats a deletion: the page comes back
            return _take(slug, mine, theirs)
        case Change.DELETED, Change.DELETED:
            return DropRecord(slug)
        case Change.ABSENT, Change.CREATED:
            return _take(slug, mine, theirs)
        case Change.CREATED, Change.ABSENT:
            return Skip(slug, SkipReason.CREATED_HERE)
        case Change.CREATED, Change.CREATED:
            return _adopt(mine, theirs) or Hold(slug, HoldReason.CREATED_BOTH)
        case _:
            raise AssertionError(f"{here} and {there} cannot meet at {slug}")


def _mirror(slug: Slug, mine: PageState | None, theirs: PageState | None) -> Action:
    """The table of a mirror: the base only says whether anything moved."""
    if theirs is not None:
        return _adopt(mine, theirs) or _take(slug, mine, theirs)
    if mine is not None:
        return _remove(slug, mine)
    return DropRecord(slug)


def _adopt(mine: PageState | None, theirs: PageState | None) -> Adopt | None:
    if mine is None or theirs is None or mine != theirs:
        return None
    return Adopt(mine.slug, mine.format, mine.digest, theirs.digest)


def _take(
    slug: Slug, mine: PageState | None, theirs: PageState | None
) -> CreateLocal | Pull:
    assert theirs is not None
    if mine is None:
        return CreateLocal(slug, theirs.format, theirs.digest)
    return Pull(slug, theirs.format, mine.digest, theirs.digest)


def _remove(slug: Slug, mine: PageState | None) -> DeleteLocal:
    assert mine is not None
    return DeleteLocal(slug, mine.digest)
