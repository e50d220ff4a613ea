"""The base compared with both snapshots as wholes.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

from wikisync.model import Slug, Snapshot
from wikisync.sync.decide.plan import BasePage


def met_anew(
    base: Mapping[Slug, BasePage],
    here: Snapshot,
    there: Snapshot,
    *,
    is_other_folder: bool,
) -> frozenset[Slug]:
    """Pages to be met as new ones where both sides are taken as they are.

    What one of them lacks was not deleted; and in another folder what differs from
    what was agreed on is no edit of it.
    """
    seen_here = here.pages.keys() | here.unreadable
    seen_there = there.pages.keys() | there.unreadable
    missing = base.keys() - (seen_here & seen_there)
    if not is_other_folder:
        return frozenset(missing)
    pages = here.pages
    changed = {
        s for s, one in base.items() if s in pages and pages[s].digest != one.local
    }
    return frozenset(missing | changed)


def is_at_rest(base: Mapping[Slug, BasePage], here: Snapshot, there: Snapshot) -> bool:
    """Whether both sides hold the very pages, texts and names of the base.

    Then every row of the table says that there is nothing to do, and nothing new is
    known of any page.
    """
    if here.unreadable or there.unreadable:
        return False
    mine, theirs = here.pages, there.pages
    if not base.keys() == mine.keys() == theirs.keys():
        return False
    for slug, page in base.items():
        local, remote = mine[slug], theirs[slug]
        if local.digest != page.local or remote.digest != page.remote:
            return False
        if not local.format is remote.format is page.format:
            return False
        if local.identity not in {"", page.local_identity}:
            return False
        if remote.identity not in {"", page.remote_identity}:
            return False
    return True
