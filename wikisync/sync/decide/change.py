"""One side of a page against the base, as one word.

Pure.  The words are the rows and columns of every table of ``reconcile`` and
``two_way``.
"""

from __future__ import annotations

from enum import Enum, auto

from wikisync.model import PageState, Slug, Snapshot
from wikisync.sync.decide.plan import Skip, SkipReason


class PageChange(Enum):
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


def change_of(agreed: PageState | None, side: Snapshot, slug: Slug) -> PageChange:
    """Name what happened to a page on one side since both agreed on it."""
    if slug in side.unreadable:
        return PageChange.UNREADABLE
    seen = side.pages.get(slug)
    if seen is None:
        if not side.is_complete:
            return PageChange.UNSEEN
        return PageChange.ABSENT if agreed is None else PageChange.DELETED
    if agreed is None:
        return PageChange.CREATED
    return PageChange.SAME if seen == agreed else PageChange.EDITED


def skip_unknown(slug: Slug, here: PageChange, there: PageChange) -> Skip | None:
    """Leave a page alone while one side of it is not known."""
    match here, there:
        case PageChange.UNREADABLE, _:
            return Skip(slug, SkipReason.UNREADABLE_HERE)
        case _, PageChange.UNREADABLE:
            return Skip(slug, SkipReason.UNREADABLE_THERE)
        case PageChange.UNSEEN, _:
            return Skip(slug, SkipReason.UNSEEN_HERE)
        case _, PageChange.UNSEEN:
            return Skip(slug, SkipReason.UNSEEN_THERE)
        case _:
            return None
