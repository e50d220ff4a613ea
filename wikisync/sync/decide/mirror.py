"""What a mirror's base is: a private folder that nobody edits.  Pure.

A mirror holds what the wiki holds, so no difference in it is an edit.  Its folder is
therefore taken as what was agreed on, and the table of ``reconcile`` decides as for any
folder whose files nobody touched.
"""

from __future__ import annotations

from collections.abc import Mapping

from wikisync.model import PageState, Slug, Snapshot
from wikisync.sync.decide.ledger import NO_DIGEST
from wikisync.sync.decide.plan import BasePage


def mirror_base(
    base: Mapping[Slug, BasePage], local: Snapshot, remote: Snapshot
) -> Mapping[Slug, BasePage]:
    """The base under which no file of the mirror counts as edited, new or deleted.

    - A file that differs from its record is taken as it is, with a text on the wiki
      that nothing equals: the table replaces it, or removes it with its page.
    - A file that is missing, or holds what the wiki holds, has no record: the table
      creates or adopts it.
    - A record without a file and without a page stays: the table forgets or renames it.

    Without any base a file that is not on the wiki may be what is left of a lost state.
    It gets no record, and stays: a first cycle removes nothing.
    """
    found = {
        slug: record
        for slug, mine in local.pages.items()
        if (record := _record(slug, mine, base, remote)) is not None
    }
    gone = base.keys() - local.pages.keys() - remote.pages.keys()
    return found | {slug: base[slug] for slug in gone}


def _record(
    slug: Slug, mine: PageState, base: Mapping[Slug, BasePage], remote: Snapshot
) -> BasePage | None:
    known, theirs = base.get(slug), remote.pages.get(slug)
    if known is not None and mine == known.local_state:
        return known
    if theirs is not None and mine.has_same_text(theirs):
        return None
    if theirs is None and not base:
        return None
    return BasePage(slug, mine.format, mine.digest, NO_DIGEST)
