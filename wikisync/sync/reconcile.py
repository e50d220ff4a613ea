"""The decision: what base, local and remote together say must be done.

Pure.  Each side's page is first compared with the base alone and named by one
word (``Change``); the pair of words picks one row of the policy's table.  No
clock, no order of events and no guess enters.  The tables of one direction are
here, the one of both directions, with its renames, is ``two_way``.

Absence is not deletion: a page missing from an incomplete snapshot is *unseen*,
and a first sync (no base at all) removes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from wikisync.model import PageState, Slug, Snapshot
from wikisync.sync.capabilities import ANY_SERVICE, Capabilities
from wikisync.sync.change import Change, change_of, skip_unknown
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
    TWO_WAY = auto()
    """Edits go both ways; nothing that a person wrote is lost."""


def reconcile(
    base: Mapping[Slug, BasePage],
    local: Snapshot,
    remote: Snapshot,
    policy: Policy,
    service: Capabilities = ANY_SERVICE,
) -> Plan:
    """Decide one cycle.

    The same values always give the same plan, and a plan carried out in full leaves
    nothing to do but what waits for a person and, going both ways, the pushes of
    what was merged.
    """
    if policy is Policy.TWO_WAY:
        # loaded when it is asked for: an export only mirrors
        from wikisync.sync.two_way import two_way

        return Plan.from_actions(two_way(base, local, remote, service))
    slugs = {*base, *local.pages, *remote.pages, *local.unreadable, *remote.unreadable}
    actions: list[Action] = []
    for slug in slugs:
        action = _decide(slug, base.get(slug), local, remote, policy)
        if isinstance(action, DeleteLocal) and not base:
            action = Skip(slug, SkipReason.FIRST_SYNC)
        if action is not None:
            actions.append(action)
    return Plan.from_actions(actions)


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
    unknown = skip_unknown(slug, here, there)
    if unknown is not None:
        return unknown
    if policy is Policy.MIRROR:
        if here is there is Change.SAME:
            return None
        return _mirror(slug, mine, theirs)
    return _pull(slug, here, there, mine, theirs)


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
